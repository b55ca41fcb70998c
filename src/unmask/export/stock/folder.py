"""Model → the files of a stock BERT, GPT-2 or ALBERT folder, checked against F_p before anything is written."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from safetensors.numpy import save

from unmask.export.check.agreement import Agreement, compare, logit_scale, mask_of
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
from unmask.export.stock.architecture import most_rows, with_eos_in_spare_rows, with_spare_rows
from unmask.export.stock.bert import Written, bert, bert_passes
from unmask.export.stock.canvas import Canvas, slot_order
from unmask.export.stock.gpt2 import generation_config, gpt2, gpt2_passes
from unmask.export.stock.tokenizer import tokenizer_files
from unmask.weights.model import DIFFUSION, Model

TIE = 2.0**-12  # bias per index, larger than the noise of float32: in a tie of F_p the lowest symbol wins
FEW_WORDS = 4
WORK = 1 << 34  # multiplications of a check


@dataclass(frozen=True, eq=False)
class Task:
    """One transformer of a model on its way into a stock architecture.

    `real` has the columns for spare rows and one output per entry of `outputs`, which are token ids; [EOS] is the last.
    `predicted` has the token of every output of the model, the mask included.
    """

    model: Model
    part: str
    words: np.ndarray
    tokens: TokenNames
    passes: list[Pass]
    real: RealTransformer
    outputs: np.ndarray
    predicted: np.ndarray
    canvas: Canvas
    scale: float

    @classmethod
    def of(
        cls, model: Model, part: str, words: np.ndarray, *, order: str | None = None, relative: bool = False
    ) -> "Task":
        """Repair the weights, and find the power of two for the logits with which a decision of F_p is certain.

        `relative`: positions are computed from the distance to a begin symbol, so there must be one.
        """
        slots = slot_order(model, order)
        passes = observe(model, part, words)
        real = repaired(real_weights(model.transformers[part]), model.precision)
        scale = logit_scale(passes, model, part)
        more = ("keep", "take") if part == "planner" else ()
        tokens = token_names(model, (*more, "bos") if relative else more)
        ids = {role: tokens.names.index(name) for role, name in tokens.special.items()}
        predicted = np.arange(len(model.vocabulary)) if part != "planner" else np.array([ids["keep"], ids["take"]])
        kept = predicted != mask_of(model, part)
        begin = ids["bos"] if relative and model.begin is None else None
        canvas = Canvas(
            rows=model.rows,
            max_rows=most_rows(model.rows + (begin is not None)),
            first_slot=model.rows - model.padding,
            order=slots,
            begin=begin,
            filler=ids["mask"] if model.kind in DIFFUSION else ids["pad"],
            eos=None if model.kind == "plt" else ids["eos"],
        )
        spare = with_spare_rows(replace(real, bias=-TIE / scale * np.arange(len(real.out))), len(tokens.names))
        arranged = replace(spare, positions=spare.positions[canvas.permutation])
        chosen = replace(arranged, out=arranged.out[kept], bias=arranged.bias[kept])
        ready = with_eos_in_spare_rows(chosen, scale)
        outputs = np.append(predicted[kept], ids["eos"])
        return cls(model, part, words, tokens, passes, ready, outputs, predicted, canvas, scale)

    def check(
        self, form: str, whole: Passes, canvas: Canvas | None = None, *, parameters: int = 0, work: int = WORK
    ) -> Agreement:
        """Compare what was written with F_p, on the model's own canvas and on the longest; raise where they differ.

        `work` bounds the multiplications: a large form is checked on fewer words, and on some of the passes.
        """
        canvas, name = canvas or self.canvas, form.upper()
        passes = affordable(self.passes, work // max(1, parameters * canvas.rows))
        agreed = compare(
            self.model, self.part, passes, canvas.exported(whole, self.predicted), scale=self.scale, form=name
        )
        first = passes[-1] if self.model.kind == "cot" else passes[0]
        if first.tokens.shape[1] == canvas.rows:
            few = Pass(first.tokens[:FEW_WORDS], first.rows, first.logits[:FEW_WORDS])
            longest = canvas.exported_longest(whole, self.predicted, name)
            compare(self.model, self.part, [few], longest, scale=self.scale, form=name)
        return agreed

    def report(self, form: str, agreement: Agreement, parameters: int) -> dict[str, Any]:
        """What export.json says."""
        model, tokens, canvas = self.model, self.tokens, self.canvas
        return {
            **summary(model, form, self.part),
            "agreement": agreement.to_json(),
            "logit_scale": self.scale,
            "tie_bias": TIE,
            "repairs": list(self.real.repairs),
            "order": canvas.slots(planned_order(model, self.words)),
            "slots": list(canvas.order) if model.kind in DIFFUSION else None,
            "answer_slot": canvas.answer_slot if model.kind in DIFFUSION else None,
            "max_rows": canvas.max_rows,
            "accept": tokens.names[model.token[model.accept]],
            "reject": tokens.names[model.token[model.reject]],
            "parameters": parameters,
        }

    def files(self, form: str, written: Written, whole: Passes) -> tuple[Files, dict[str, Any]]:
        """The files, and what export.json says, if what was written decides as F_p does."""
        parameters = sum(tensor.size for tensor in written.tensors.values())
        report = self.report(form, self.check(form, whole, parameters=parameters), parameters)
        files = {
            "config.json": as_json(written.config),
            "model.safetensors": save(written.tensors, metadata={"format": "pt"}),
            "registers.json": as_json(register_map(written.stock.real)),
            **self.documents(report),
        }
        return files, report

    def documents(self, report: dict[str, Any]) -> Files:
        """Tokenizer, export.json and card."""
        card = stock_card(self.model, report, self.tokens, self.words)
        return {
            **{
                name: as_json(content)
                for name, content in tokenizer_files(self.model, self.tokens, self.canvas.max_rows).items()
            },
            "export.json": as_json(report),
            "README.md": card.encode("utf-8", "backslashreplace"),
        }


def affordable(passes: list[Pass], most: int) -> list[Pass]:
    """At most about this many passes of single words: fewer words, then fewer of the steps, the last among them."""
    words = max(FEW_WORDS, most // len(passes))
    every = max(1, FEW_WORDS * len(passes) // max(1, most)) if words == FEW_WORDS else 1
    kept = passes[::-1][::every][::-1]
    return [Pass(p.tokens[:words], p.rows, p.logits[:words]) for p in kept]


def bert_folder(
    model: Model, part: str, words: np.ndarray, *, order: str | None = None
) -> tuple[Files, dict[str, Any]]:
    """The predictor, whose mask is never predicted; a planner has its own tokens for what it decides."""
    task = Task.of(model, part, words, order=order)
    written = bert(task.real, task.tokens, scale=task.scale, outputs=task.outputs)
    return task.files("bert", written, bert_passes(written.tensors, written.config))


def gpt2_folder(model: Model, part: str, words: np.ndarray) -> tuple[Files, dict[str, Any]]:
    """A chain of thought, with a generation_config.json that takes its T steps."""
    task = Task.of(model, part, words)
    written = gpt2(task.real, task.tokens, scale=task.scale, outputs=task.outputs)
    files, report = task.files("gpt2", written, gpt2_passes(written.tensors, written.config))
    return {**files, "generation_config.json": as_json(generation_config(task.tokens, model.steps))}, report


def albert_folder(model: Model, part: str, words: np.ndarray) -> tuple[Files, dict[str, Any]]:
    """A looped model: the tensors of one round, which ALBERT runs T times."""
    task = Task.of(model, part, words)
    body, cleared = one_round(task.real, model.steps)
    written = bert(body, task.tokens, scale=task.scale, outputs=task.outputs, cleared=cleared)
    passes = bert_passes(written.tensors, written.config, model.steps)
    return task.files("albert", albert(written, model.steps), passes)
