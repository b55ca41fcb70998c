"""Model → the files of a folder with RMSNorm, RoPE and SwiGLU, checked against F_p before anything is written."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from safetensors.numpy import save

from unmask.export.check.agreement import Disagreement
from unmask.export.files.folder import Files, as_json
from unmask.export.files.register_map import register_map
from unmask.export.rope.containers import CONTAINERS
from unmask.export.rope.forward import DTYPES, Dtype, RopeWeights, residual, rope_passes, rounding
from unmask.export.rope.weights import RopeChoice, RopeForm, rope_form
from unmask.export.stock.canvas import Canvas
from unmask.export.stock.folder import Task
from unmask.export.stock.gpt2 import generation_config
from unmask.weights.model import Model

LARGEST_POSITION_ERROR = 2.0**-16
WORK_IN_HALF_PRECISION = 1 << 31


@dataclass(frozen=True, eq=False)
class RopeTask:
    """A task whose weights have been built; `canvas` knows about shifted logits."""

    task: Task
    canvas: Canvas
    form: RopeForm

    @classmethod
    def of(
        cls, model: Model, part: str, words: np.ndarray, *, order: str | None, choice: RopeChoice, shifted: bool
    ) -> "RopeTask":
        task = Task.of(model, part, words, order=order, relative=True)
        canvas = replace(task.canvas, shifted=shifted)
        one = model.rows if "thresholds of 1/rows" in task.real.repairs else model.precision.one
        form = rope_form(
            task.real,
            canvas,
            task.outputs,
            scale=task.scale,
            begin=task.tokens.names.index(task.tokens.special["bos"]),
            grid=1 / one,
            choice=choice,
        )
        return cls(task, canvas, form)

    def check(
        self, name: str, written: RopeWeights, *, position_error: float = LARGEST_POSITION_ERROR
    ) -> dict[str, Any]:
        """Compare with F_p: all words in float32, a few in the half precisions; what differs in float32 is refused."""
        self.check_positions(name, written, position_error)
        size = parameters_of(written)
        agreed = self.task.check(name, rope_passes(written), self.canvas, parameters=size)
        margins: dict[Dtype, float | None] = {"float32": agreed.least_margin}
        for dtype in DTYPES[1:]:
            passes = rope_passes(written, dtype)
            try:
                checked = self.task.check(name, passes, self.canvas, parameters=size, work=WORK_IN_HALF_PRECISION)
                margins[dtype] = checked.least_margin
            except Disagreement:
                margins[dtype] = None
        return {
            **self.task.report(name, agreed, size),
            "margins": margins,
            "rope": self.form.report(),
            "shifted": self.canvas.shifted,
        }

    def check_positions(self, name: str, written: RopeWeights, largest: float) -> None:
        """Every row must have its row of the position table behind the position layers, and spare rows nothing."""
        table, layers = self.form.table, self.form.layout.position_layers
        canvas, bits = self.canvas, [i for i, n in enumerate(self.form.real.names) if n.startswith("code:")]
        tokens = np.full((1, canvas.max_rows), canvas.filler)
        tokens[0, 0] = self.task.tokens.id("bos")
        for rows in (canvas.before + canvas.rows - written.causal, canvas.max_rows):
            stream = residual(written, tokens[:, :rows], layers, rounding("float32"))[0]
            error = np.abs(stream - written.embed[tokens[0, :rows]] - table[:rows])
            error[:, bits] = 0
            if not error.max() <= largest:
                raise Disagreement(
                    f"the {name.upper()} form computes a wrong position in row {int(error.max(axis=1).argmax())} of "
                    f"{rows}: it is off by {error.max():.2g}; take other values for --rope-theta and --head-dim"
                )


def parameters_of(weights: RopeWeights) -> int:
    tables = (weights.embed, weights.norm, weights.head)
    return sum(t.size for t in tables) + sum(t.size for layer in weights.layers for t in layer.values())


def rope_folder(
    model: Model, name: str, part: str, words: np.ndarray, *, order: str | None, choice: RopeChoice
) -> tuple[Files, dict[str, Any]]:
    """The files of a EuroBERT, Llama, Qwen2, LLaDA or Dream folder, and what export.json says."""
    container = CONTAINERS[name]
    rope = RopeTask.of(model, part, words, order=order, choice=choice, shifted=container.shifted)
    task = rope.task
    tensors = container.tensors(rope.form.weights)
    config = container.config(rope.form.weights, task.tokens)
    report = rope.check(name, container.read_back(tensors, config))
    files = {
        "config.json": as_json(config),
        "model.safetensors": save(tensors, metadata={"format": "pt"}),
        "registers.json": as_json(register_map(rope.form.real)),
        **task.documents(report),
    }
    if model.kind == "cot":
        files["generation_config.json"] = as_json(
            {**generation_config(task.tokens, model.steps), "eos_token_id": task.canvas.eos}
        )
    elif name == "dream":  # its from_pretrained asks for the file
        files["generation_config.json"] = as_json({key: config[key] for key in config if key.endswith("_token_id")})
    return files, report
