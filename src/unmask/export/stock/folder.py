"""Model → the files of a stock BERT, GPT-2 or ALBERT folder, checked against F_p before anything is written."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from safetensors.numpy import save

from unmask.export.check.agreement import compare, logit_scale, mask_of
from unmask.export.check.observed import Pass, observe
from unmask.export.check.order import planned_order
from unmask.export.files.card import stock_card
from unmask.export.files.folder import Files, as_json
from unmask.export.files.register_map import register_map
from unmask.export.files.summary import summary
from unmask.export.files.token_names import TokenNames, token_names
from unmask.export.real.forward import Passes
from unmask.export.real.repairs import repaired
from unmask.export.real.weights import RealTransformer, real_weights
from unmask.export.stock.albert import albert, one_round
from unmask.export.stock.bert import Written, bert, bert_passes
from unmask.export.stock.gpt2 import generation_config, gpt2, gpt2_passes
from unmask.export.stock.tokenizer import tokenizer_files
from unmask.weights.model import Model

TIE = 2.0**-12  # bias per index, larger than the noise of float32: in a tie of F_p the lowest symbol wins


@dataclass(frozen=True, eq=False)
class Task:
    """One transformer of a model on its way into a stock architecture."""

    model: Model
    part: str
    words: np.ndarray
    tokens: TokenNames
    passes: list[Pass]
    real: RealTransformer
    scale: float

    @classmethod
    def of(cls, model: Model, part: str, words: np.ndarray, more: tuple[str, ...] = ()) -> "Task":
        """The repaired weights, and the power of two for the logits with which a decision of F_p is certain."""
        passes = observe(model, part, words)
        real = repaired(real_weights(model.transformers[part]), model.precision)
        scale = logit_scale(passes, model, part)
        biased = replace(real, bias=-TIE / scale * np.arange(len(real.out)))
        return cls(model, part, words, token_names(model, more), passes, biased, scale)

    def files(self, form: str, written: Written, exported: Passes) -> tuple[Files, dict[str, Any]]:
        """The files, and what export.json says, if what was written decides as F_p does."""
        model, tokens = self.model, self.tokens
        agreement = compare(model, self.part, self.passes, exported, scale=self.scale, form=form.upper())
        report = {
            **summary(model, form, self.part),
            "agreement": agreement.to_json(),
            "logit_scale": self.scale,
            "tie_bias": TIE,
            "repairs": list(self.real.repairs),
            "order": planned_order(model, self.words),
            "accept": tokens.names[model.token[model.accept]],
            "reject": tokens.names[model.token[model.reject]],
            "parameters": sum(tensor.size for tensor in written.tensors.values()),
        }
        files = {
            "config.json": as_json(written.config),
            "model.safetensors": save(written.tensors, metadata={"format": "pt"}),
            **{name: as_json(content) for name, content in tokenizer_files(model, tokens).items()},
            "registers.json": as_json(register_map(written.stock.real)),
            "export.json": as_json(report),
            "README.md": stock_card(model, report, tokens, self.words).encode("utf-8", "backslashreplace"),
        }
        return files, report


def bert_folder(model: Model, part: str, words: np.ndarray) -> tuple[Files, dict[str, Any]]:
    """The predictor, whose mask is never predicted; a planner has tokens of its own for what it decides."""
    task = Task.of(model, part, words, ("keep", "take") if part == "planner" else ())
    outputs = np.arange(len(model.vocabulary))
    if part == "planner":
        outputs = np.array([task.tokens.id("keep"), task.tokens.id("take")])
    kept = outputs != mask_of(model, part)
    chosen = replace(task.real, out=task.real.out[kept], bias=task.real.bias[kept])
    written = bert(chosen, task.tokens, scale=task.scale, outputs=outputs[kept])
    whole = bert_passes(written.tensors, written.config)
    return task.files("bert", written, lambda ids: whole(ids)[..., outputs])


def gpt2_folder(model: Model, part: str, words: np.ndarray) -> tuple[Files, dict[str, Any]]:
    """A chain of thought, with a generation_config.json that takes its T steps."""
    task = Task.of(model, part, words)
    written = gpt2(task.real, task.tokens, scale=task.scale)
    files, report = task.files("gpt2", written, gpt2_passes(written.tensors, written.config))
    return {**files, "generation_config.json": as_json(generation_config(task.tokens, model.steps))}, report


def albert_folder(model: Model, part: str, words: np.ndarray) -> tuple[Files, dict[str, Any]]:
    """A looped model: the tensors of one round, which ALBERT runs T times."""
    task = Task.of(model, part, words)
    body, cleared = one_round(task.real, model.steps)
    outputs = np.arange(len(model.vocabulary))
    written = bert(body, task.tokens, scale=task.scale, outputs=outputs, cleared=cleared)
    passes = bert_passes(written.tensors, written.config, model.steps)
    return task.files("albert", albert(written, model.steps), passes)
