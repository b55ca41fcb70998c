"""Model × transformer → ExportTask: weights, tokens and canvas of a stock form, and its comparison with F_p.

    row 0            the begin symbol, where positions are computed from the distance to it
    rows after it    the input, then the slots: slot j of the canvas is slot order[j] of the model
    spare rows       up to the largest length; invisible, and their prediction is [EOS]

The order of the slots is free, because the position table identifies each row. In the compiler's order every slot reads
to its left, so that a causal mask has no effect; in the reversed order it has one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from safetensors.numpy import save

from unmask.engines.fast import FastEngine
from unmask.errors import UnmaskError
from unmask.export.agreement import (
    Agreement,
    ExportDisagreement,
    ObservedPass,
    compare_passes,
    logit_scale,
    mask_of,
    observe_passes,
    planned_order,
    words_to_compare,
)
from unmask.export.folder_files import Files, as_json, as_text, register_map, stock_card, summary
from unmask.export.real_transformer import DTYPES, Dtype, Passes, RealTransformer, real_weights, repaired
from unmask.export.stock_architecture import most_rows, with_eos_in_spare_rows, with_spare_rows
from unmask.export.tokenizer import TokenNames, token_names, tokenizer_files
from unmask.reasoners.cached_run import CachePolicy, CanvasLayout, cached_run
from unmask.weights.kinds import DIFFUSION
from unmask.weights.model import Model

NAMED_ORDERS = ("heap", "reversed", "skip", "work")


@dataclass(frozen=True, eq=False)
class StockCanvas:
    """The content of each row; `begin` is the token before the model's rows, or None.

    `eos` is the token that spare rows predict; None in a loop, where they are invisible and their content may grow.
    """

    rows: int
    max_rows: int
    first_slot: int
    order: tuple[int, ...]
    begin: int | None
    filler: int
    eos: int | None
    shifted: bool = False
    work: int = 0
    """The number of first slots that are read-only: they hold `work_token`, which embeds as the mask."""
    work_token: int | None = None

    @property
    def before(self) -> int:
        """The number of rows before those of the model: 1 with a begin symbol, else 0."""
        return int(self.begin is not None)

    @property
    def permutation(self) -> np.ndarray:
        """The row of the model for each row of the canvas, without the begin symbol."""
        return np.append(np.arange(self.first_slot), self.first_slot + np.array(self.order, dtype=np.int64))

    def answer_slots(self, count: int) -> list[int]:
        """Return the slots of the canvas that hold the answers, in order: the last slots of the model."""
        return [self.order.index(slot) for slot in range(len(self.order) - count, len(self.order))]

    def slots(self, steps: list[list[int]] | None) -> list[list[int]] | None:
        """Convert slots of the model, step by step, to slots of the canvas."""
        return steps and [sorted(self.order.index(slot) for slot in step) for step in steps]

    def tokens(self, tokens: np.ndarray, *, spare: int = 0) -> np.ndarray:
        """Convert tokens of the model's rows to those of the canvas, with a number of spare rows."""
        if tokens.shape[1] == self.rows:
            tokens = tokens[:, self.permutation]
            if self.work_token is not None:
                read_only = tokens[:, self.first_slot : self.first_slot + self.work]
                read_only[read_only == self.filler] = self.work_token
        front = np.full((len(tokens), self.before), 0 if self.begin is None else self.begin)
        return np.hstack([front, tokens, np.full((len(tokens), spare), self.filler)])

    def logits(self, logits: np.ndarray, rows: int) -> np.ndarray:
        """Convert logits of the canvas to those of the model's rows; shifted logits are one row early."""
        if self.shifted:
            logits = np.concatenate([logits[:, :1], logits[:, :-1]], axis=1)
        logits = logits[:, self.before : self.before + rows]
        return logits[:, np.argsort(self.permutation)] if rows == self.rows else logits

    def exported(self, whole: Passes, outputs: np.ndarray) -> Passes:
        """Convert a pass over canvases to a pass over the model's rows, with the logits of these tokens."""
        return lambda tokens: self.logits(whole(self.tokens(tokens)), tokens.shape[1])[..., outputs]

    def exported_longest(self, whole: Passes, outputs: np.ndarray, form: str) -> Passes:
        """Return the same on the longest canvas; raise if a spare row does not predict [EOS]."""
        spare = self.max_rows - self.before - self.rows

        def passes(tokens: np.ndarray) -> np.ndarray:
            canvas = self.tokens(tokens, spare=spare)
            logits = whole(canvas)
            first = canvas.shape[1] - spare - self.shifted
            predicted = logits[:, first : canvas.shape[1] - self.shifted].argmax(axis=-1)
            if self.eos is not None and (predicted != self.eos).any():
                raise ExportDisagreement(
                    f"the {form} form predicts a symbol instead of [EOS] in an unused row; please report this model"
                )
            return self.logits(logits, tokens.shape[1])[..., outputs]

        return passes


def slot_order(model: Model, order: str | None) -> tuple[int, ...]:
    """Return the order of the model's slots: `heap` (the compiler's), `reversed`, `skip`, or a list such as 2,0,1.

    `skip`: first the levels 1, 3, 5 …, then 2, 4 …, so that a slot of level 3 reads slots behind it. `work`: first
    level 2, which belongs to the prompt (`StockCanvas.work`), then the others.

    >>> slot_order(compile_problem("(a|b)*abb", "mdm", length=5), "reversed")
    (3, 2, 1, 0)
    >>> slot_order(compile_problem("(a|b)*abb", "mdm", length=8), "skip")
    (0, 1, 2, 3, 6, 4, 5)
    """
    slots = tuple(range(model.padding))
    if order is None or order == "heap":
        return slots
    if model.kind not in DIFFUSION:
        raise UnmaskError(f"--order is for models with a canvas (mdm, smdm, topk), not for {model.kind}; leave it out")
    if order == "reversed":
        return slots[::-1]
    if order == "skip":
        levels = slot_levels(model)
        return tuple(slot for first in (0, 1) for level in levels[first::2] for slot in level)
    if order == "work":
        level = work_slots(model, order)
        return (*level, *(slot for slot in slots if slot not in level))
    try:
        chosen = tuple(int(entry) for entry in order.split(","))
    except ValueError:
        raise UnmaskError(
            f"--order {order!r} is neither {', '.join(NAMED_ORDERS)} nor a list of slots such as 2,0,1; "
            "give one of these"
        ) from None
    if sorted(chosen) != list(slots):
        raise UnmaskError(
            f"--order must name each of the slots 0 to {model.padding - 1} exactly once; "
            f"the list given has {len(chosen)} entries, {len(set(chosen) & set(slots))} of these slots"
        )
    return chosen


def work_slots(model: Model, order: str | None) -> tuple[int, ...]:
    """Return the slots in the prompt as [WORK] tokens, which embed as the mask and are never written: level 2.

    A model of one hop needs these slots to be written, because it computes nothing from an unwritten slot.
    """
    if order != "work":
        return ()
    levels = slot_levels(model)
    if len(levels) < 3 or not _order_with_work(model, words_to_compare(model, FEW_WORDS), levels[1]):
        raise UnmaskError(
            "--order work needs a model that computes level 2 of its slots without writing it, and a level above; "
            "compile a regular language with --hops 2 and at least 5 letters"
        )
    return tuple(levels[1])


def _order_with_work(model: Model, words: np.ndarray, work: Sequence[int]) -> list[list[int]] | None:
    """Return the slots written in each pass if those in `work` never are; None if a word ends without an answer."""
    layout, order = CanvasLayout.of(model, work=work), []
    for word in words[:FEW_WORDS].tolist():
        run = cached_run(model, word, CachePolicy("refresh", 1), layout)
        if run.accepted is None:
            return None
        empty = np.full(model.padding, model.token[model.mask or ""])
        order = [np.flatnonzero(a != b).tolist() for a, b in pairwise([empty, *run.canvas])]
    return order


def slot_levels(model: Model) -> list[list[int]]:
    """Return the slots of each level: of the product tree, or those that the planner first writes in each step.

    A predictor of several hops writes several levels of its tree in one step. Slots that are never written come last.
    """
    steps = planned_order(model, words_to_compare(model, FEW_WORDS))
    if steps is None:
        raise UnmaskError("--order skip needs levels, but here the word determines when a slot is written; give a list")
    written = {slot: number for number, step in reversed(list(enumerate(steps))) for slot in step}  # at first
    tree = _tree_levels(model.length, model.padding)
    if all(len({written.get(slot) for slot in level}) == 1 for level in tree):
        return tree
    levels: list[list[int]] = [[] for _ in range(len(steps) + 1)]
    for slot in range(model.padding):
        levels[written.get(slot, -1)].append(slot)
    return [level for level in levels if level]


def _tree_levels(length: int, slots: int) -> list[list[int]]:
    """Return the levels of the queue in which slot j multiplies entries 2j and 2j + 1: the letters, then the slots."""
    heights = [0] * length
    for j in range(slots):
        if 2 * j + 1 >= len(heights):
            return [list(range(slots))]
        heights.append(1 + max(heights[2 * j : 2 * j + 2]))
    slot_heights = heights[length:]
    return [
        [j for j, height in enumerate(slot_heights) if height == level]
        for level in range(1, max(slot_heights, default=0) + 1)
    ]


TIE = 2.0**-12  # bias per index, larger than the noise of float32: in a tie of F_p the lowest symbol wins
FEW_WORDS = 4
WORK = 1 << 34  # multiplications of a check
WORK_IN_HALF_PRECISION = 1 << 31


@dataclass(frozen=True, eq=False)
class ExportTask:
    """One transformer of a model on its way into a stock architecture.

    `real` has the columns for spare rows and one output per entry of `outputs`, which are token ids; [EOS] is the last.
    `predicted` has the token of every output of the model, the mask included.
    """

    model: Model
    transformer_name: str
    words: np.ndarray
    tokens: TokenNames
    passes: list[ObservedPass]
    real: RealTransformer
    outputs: np.ndarray
    predicted: np.ndarray
    canvas: StockCanvas
    scale: float

    @classmethod
    def of(
        cls, model: Model, transformer_name: str, words: np.ndarray, *, order: str | None = None, relative: bool = False
    ) -> "ExportTask":
        """Repair the weights, and find the power of two for the logits with which a decision of F_p is certain.

        `relative`: positions are computed from the distance to a begin symbol, so there must be one.
        """
        slots, work = slot_order(model, order), work_slots(model, order)
        passes = observe_passes(model, transformer_name, words)
        passes += [_with_masks(model, transformer_name, observed, work) for observed in passes] if work else []
        real = repaired(real_weights(model.transformers[transformer_name]), model.precision)
        scale = logit_scale(passes, model, transformer_name)
        more = (*(("keep", "take") if transformer_name == "planner" else ()), *(("work",) if work else ()))
        tokens = token_names(model, (*more, "bos") if relative else more)
        ids = {role: tokens.names.index(name) for role, name in tokens.special.items()}
        predicted = (
            np.arange(len(model.vocabulary)) if transformer_name != "planner" else np.array([ids["keep"], ids["take"]])
        )
        is_predicted = predicted != mask_of(model, transformer_name)
        begin = ids["bos"] if relative and model.begin is None else None
        canvas = StockCanvas(
            rows=model.rows,
            max_rows=most_rows(model.rows + (begin is not None)),
            first_slot=model.rows - model.padding,
            order=slots,
            begin=begin,
            filler=ids["mask"] if model.kind in DIFFUSION else ids["pad"],
            eos=None if model.kind == "plt" else ids["eos"],
            work=len(work),
            work_token=ids.get("work"),
        )
        spare = with_spare_rows(replace(real, bias=-TIE / scale * np.arange(len(real.out))), len(tokens.names))
        if canvas.work_token is not None:
            spare.embed[canvas.work_token] = spare.embed[ids["mask"]]
        arranged = replace(spare, positions=spare.positions[canvas.permutation])
        if real.causal:  # the model does not define the prediction of its last row, so it becomes a spare row
            arranged.positions[-1] = 0
        chosen = replace(arranged, out=arranged.out[is_predicted], bias=arranged.bias[is_predicted])
        final = with_eos_in_spare_rows(chosen, scale)
        outputs = np.append(predicted[is_predicted], ids["eos"])
        return cls(model, transformer_name, words, tokens, passes, final, outputs, predicted, canvas, scale)

    def check(
        self, form: str, whole: Passes, canvas: StockCanvas | None = None, *, parameters: int = 0, work: int = WORK
    ) -> Agreement:
        """Compare the written weights with F_p, on the model's own canvas and on the longest; raise if they differ.

        `work` bounds the multiplications: a large form is checked on fewer words and passes.
        """
        canvas, name = canvas or self.canvas, form.upper()
        passes = affordable_passes(self.passes, work // max(1, parameters * canvas.rows))
        agreed = compare_passes(
            self.model,
            self.transformer_name,
            passes,
            canvas.exported(whole, self.predicted),
            scale=self.scale,
            form=name,
        )
        first = passes[-1] if self.model.kind == "cot" else passes[0]
        if first.tokens.shape[1] == canvas.rows:
            few = ObservedPass(first.tokens[:FEW_WORDS], first.rows, first.logits[:FEW_WORDS])
            longest = canvas.exported_longest(whole, self.predicted, name)
            compare_passes(self.model, self.transformer_name, [few], longest, scale=self.scale, form=name)
        return agreed

    def checked(
        self,
        form: str,
        passes_in: Callable[[Dtype], Passes],
        canvas: StockCanvas | None = None,
        *,
        parameters: int,
    ) -> dict[str, Any]:
        """Compare all words in float32 and a few in the half precisions, and return the content of export.json.

        A difference in float32 is an error; a half precision in which a decision differs has the margin None.
        """
        agreed = self.check(form, passes_in("float32"), canvas, parameters=parameters)
        margins: dict[Dtype, float | None] = {"float32": agreed.least_margin}
        for dtype in DTYPES[1:]:
            few: dict[str, Any] = {"parameters": parameters, "work": WORK_IN_HALF_PRECISION}
            try:
                margins[dtype] = self.check(form, passes_in(dtype), canvas, **few).least_margin
            except ExportDisagreement:
                margins[dtype] = None
        return {**self.report(form, agreed, parameters), "margins": margins}

    def report(self, form: str, agreement: Agreement, parameters: int) -> dict[str, Any]:
        """Return the content of export.json for a form that was compared."""
        model, tokens, canvas = self.model, self.tokens, self.canvas
        steps = planned_order(model, self.words)
        answers = canvas.answer_slots(model.stated_answers) if model.kind in DIFFUSION else None
        work = {"token": tokens.special["work"], "slots": canvas.work} if canvas.work else None
        if work:
            steps = _order_with_work(model, self.words, canvas.order[: canvas.work])
        return {
            **summary(model, form, self.transformer_name),
            "agreement": agreement.to_json(),
            "logit_scale": self.scale,
            "tie_bias": TIE,
            "repairs": list(self.real.repairs),
            "order": canvas.slots(steps),
            **({"work": work} if work else {}),
            "slots": list(canvas.order) if model.kind in DIFFUSION else None,
            "answer_slot": answers[-1] if answers else None,
            "answer_slots": answers,
            "max_rows": canvas.max_rows,
            "accept": tokens.names[model.token[model.accept]],
            "reject": tokens.names[model.token[model.reject]],
            "parameters": parameters,
        }

    def tokenizer(self) -> Files:
        """Return the files of the tokenizer."""
        documents = tokenizer_files(self.model, self.tokens, self.canvas.max_rows)
        return {name: as_json(content) for name, content in documents.items()}

    def folder(
        self, tensors: dict[str, np.ndarray], config: dict[str, Any], real: RealTransformer, report: dict[str, Any]
    ) -> Files:
        """Return the files of a transformers folder; `real` has the columns of the tensors, for registers.json."""
        card = stock_card(self.model, report, self.tokens, self.words)
        return {
            "config.json": as_json(config),
            "model.safetensors": save(tensors, metadata={"format": "pt"}),
            "registers.json": as_json(register_map(real)),
            **self.tokenizer(),
            "export.json": as_json(report),
            "README.md": as_text(card),
        }


def _with_masks(model: Model, transformer_name: str, observed: ObservedPass, slots: Sequence[int]) -> ObservedPass:
    """Return the same pass, in F_p, with masks in these slots."""
    tokens = observed.tokens.copy()
    tokens[:, model.rows - model.padding + np.array(slots)] = model.token[model.mask or ""]
    session = FastEngine().session(model.transformers[transformer_name], name=transformer_name)
    return ObservedPass(tokens, observed.rows, session.read(tokens, observed.rows))


def affordable_passes(passes: list[ObservedPass], most: int) -> list[ObservedPass]:
    """Select passes of at most `most` single words: fewer words, then fewer steps, always including the last step."""
    words = max(FEW_WORDS, most // len(passes))
    every = max(1, FEW_WORDS * len(passes) // max(1, most)) if words == FEW_WORDS else 1
    selected = passes[::-1][::every][::-1]
    return [ObservedPass(p.tokens[:words], p.rows, p.logits[:words]) for p in selected]
