"""Model → the files of a torch folder: one readable module, its weights, and the config that this module reads."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load, save

from unmask.export.agreement import (
    Agreement,
    ExportDisagreement,
    compare_passes,
    logit_scale,
    observe_passes,
    planned_order,
)
from unmask.export.folder_files import Files, as_json, as_text, plain_card, register_map, summary, written_word
from unmask.export.real_transformer import (
    FLOAT,
    RealTransformer,
    plain_passes,
    real_weights,
    repaired,
    value_map_factors,
)
from unmask.export.tokenizer import token_names
from unmask.weights.config_json import config_of
from unmask.weights.matrices import Matrix
from unmask.weights.model import Model
from unmask.weights.transformer import Transformer

EXACT_LOGIT_SCALE = (
    128  # integer logits have margins of at least 1, and 128 exceeds CERTAIN: a softmax is exactly 0 or 1
)
SOURCES = {"model.py": "torch_model.py", "exact_numbers.py": "torch_exact_numbers.py"}
"""File of the folder → the module of this package that it is a copy of."""

CODE = """```python
from model import Model

model = Model(".")
for canvas in model.run(model.encode({word!r})):
    print(" ".join(model.config["vocabulary"][token] for token in canvas[0].tolist()))
```

`python model.py WORD` does the same. `model.denoise`, `model.loop` and `model.chain` are the loops,
`model.transformers` the passes: token ids go in, logits come out.
"""


def torch_folder(model: Model, words: np.ndarray, *, exact: bool) -> tuple[Files, dict[str, Any]]:
    """Return the files, and the content of export.json."""
    report: dict[str, Any] = {**summary(model, "torch", "model", exact=exact), "order": planned_order(model, words)}
    config = _config(model, exact=exact)
    real_transformers = {name: real_weights(transformer) for name, transformer in model.transformers.items()}
    stored = {name: exact_tensors(transformer) for name, transformer in model.transformers.items()}
    if exact:
        config["chosen_above"] = -model.precision.bound
        report["logit_scale"] = config["logit_scale"] = EXACT_LOGIT_SCALE
    else:
        agreements = {}
        passes = {name: observe_passes(model, name, words) for name in real_transformers}
        scale = max(logit_scale(observed, model, name) for name, observed in passes.items())
        for name, transformer in real_transformers.items():
            repaired_weights = repaired(transformer, model.precision)
            real_transformers[name] = real = replace(repaired_weights, out=repaired_weights.out * scale)
            stored[name] = plain_tensors(real)
            exported = plain_passes(transformer_from_tensors(stored[name], model.transformers[name]), model.steps)
            agreements[name] = compare_passes(model, name, passes[name], exported, scale=scale)
        report |= {
            "agreement": merge_agreements(list(agreements.values())),
            "logit_scale": scale,
            "repairs": list(dict.fromkeys(repair for real in real_transformers.values() for repair in real.repairs)),
        }
        config["chosen_above"] = scaled_threshold(report)
    files = {
        **{name: _source(name) for name in SOURCES if exact or name == "model.py"},
        "config.json": as_json(config),
        **{f"{name}.safetensors": save(tensors) for name, tensors in stored.items()},
        "registers.json": as_json({name: register_map(real) for name, real in real_transformers.items()}),
        "export.json": as_json(report),
    }
    if exact:
        _check_integers(model, files)
    card = plain_card(model, report, CODE.format(word=written_word(model, token_names(model), words)))
    return {**files, "README.md": as_text(card)}, report


def _check_integers(model: Model, files: Files) -> None:
    """Check that the written tensors, read again, are the model's: with the arithmetic of F_p, this is sufficient."""
    for name, transformer in model.transformers.items():
        stored = load(files[f"{name}.safetensors"])
        for tensor, value in transformer.tensors(positions=True):
            if not np.array_equal(stored[tensor], value.dense() if isinstance(value, Matrix) else value):
                raise ExportDisagreement(
                    f"tensor {tensor} of the {name} was not written correctly; please report this model"
                )


def exact_tensors(transformer: Transformer) -> dict[str, np.ndarray]:
    """Return the integers of the model, dense, in the smallest type that holds them all."""
    bound = transformer.precision.bound
    kind = np.int8 if bound < 1 << 7 else np.int16 if bound < 1 << 15 else np.int32
    tensors = transformer.tensors(positions=True)
    return {name: (t.dense() if isinstance(t, Matrix) else t).astype(kind) for name, t in tensors}


def plain_tensors(transformer: RealTransformer) -> dict[str, np.ndarray]:
    """Return the repaired weights as floats."""
    tensors = {"embed": transformer.embed, "pos": transformer.positions, "out": transformer.out}
    for i, layer in enumerate(transformer.layers):
        for j, head in enumerate(layer.heads):
            at = f"layers.{i}.heads.{j}"
            tensors |= {f"{at}.wq": head.wq, f"{at}.wk": head.wk, f"{at}.wv": head.wv @ head.wo}
        tensors |= {f"layers.{i}.mlp.{field}": getattr(layer.mlp, field) for field in ("w1", "b1", "w2", "b2")}
    return {name: np.ascontiguousarray(tensor, dtype=FLOAT) for name, tensor in tensors.items()}


def transformer_from_tensors(tensors: dict[str, np.ndarray], transformer: Transformer) -> RealTransformer:
    """Return the transformer that the tensors of a folder store."""
    real = real_weights(transformer)
    layers = []
    for i, layer in enumerate(real.layers):
        count = sum(name.startswith(f"layers.{i}.heads.") and name.endswith(".wq") for name in tensors)
        heads = []
        for j in range(count):
            wq, wk, wv = (tensors[f"layers.{i}.heads.{j}.{field}"] for field in ("wq", "wk", "wv"))
            value, output = value_map_factors(wv)
            heads.append(replace(layer.heads[0], wq=wq, wk=wk, wv=value, wo=output))
        mlp = replace(layer.mlp, **{field: tensors[f"layers.{i}.mlp.{field}"] for field in ("w1", "b1", "w2", "b2")})
        layers.append(replace(layer, heads=tuple(heads), mlp=mlp))
    return replace(real, embed=tensors["embed"], positions=tensors["pos"], out=tensors["out"], layers=tuple(layers))


def merge_agreements(agreements: list[Agreement]) -> dict[str, Any]:
    """Return the results of planner and predictor together."""
    margins = [a.least_margin for a in agreements if a.least_margin is not None]
    return {
        "words": max(a.words for a in agreements),
        **{name: sum(getattr(a, name) for a in agreements) for name in ("passes", "decisions", "ties")},
        "least_margin": min(margins, default=None),
        "chosen_above": next((a.chosen_above for a in agreements if a.chosen_above is not None), None),
    }


def scaled_threshold(report: dict[str, Any]) -> float | None:
    """Return the level of the exported logits above which a topk model without k chooses a slot."""
    threshold = report["agreement"]["chosen_above"]
    return None if threshold is None else threshold * report["logit_scale"]


def _source(file: str) -> bytes:
    return (Path(__file__).parent / SOURCES[file]).read_bytes()


def _config(model: Model, *, exact: bool) -> dict[str, Any]:
    """Return the config that the module reads: the folder's config.json without comments."""
    config = {
        key: value for key, value in config_of(model).items() if key not in ("problem", "provenance", "registers")
    }
    config["format"], config["exact"] = "unmask-torch/1", exact
    for entry in config["transformers"].values():
        del entry["file"], entry["noise"]
    return config
