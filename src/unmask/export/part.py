"""Which transformer of a model is exported, and which forms a kind has."""

from typing import Literal, get_args

from unmask.errors import UnmaskError
from unmask.weights.model import Kind, Model

Form = Literal["bert", "gpt2", "albert", "torch", "onnx", "eurobert", "llama", "qwen2", "llada", "dream", "gguf"]
FORMS: tuple[Form, ...] = get_args(Form)
Part = Literal["planner", "predictor"]
KINDS_OF: dict[Form, tuple[Kind, ...]] = {
    "bert": ("mdm", "smdm", "topk"),
    "gpt2": ("cot",),
    "albert": ("plt",),
    "torch": ("mdm", "smdm", "topk", "plt", "cot", "pcot"),
    "onnx": ("mdm", "smdm", "topk", "plt", "cot", "pcot"),
    "eurobert": ("mdm", "smdm", "topk"),
    "llama": ("mdm", "smdm", "topk", "cot"),
    "qwen2": ("mdm", "smdm", "topk"),
    "llada": ("mdm", "smdm", "topk"),
    "dream": ("mdm", "smdm", "topk"),
    "gguf": ("mdm", "smdm", "topk", "cot"),
}


def chosen_part(model: Model, form: Form, part: Part | None, *, exact: bool) -> str:
    """The name of the transformer: `planner`, `predictor`, or `model` where there is one alone."""
    if model.kind not in KINDS_OF[form]:
        others = ", ".join(other for other in FORMS if model.kind in KINDS_OF[other])
        raise UnmaskError(
            f"{form} can store only {', '.join(KINDS_OF[form])}, and this model is a {model.kind}; use --to {others}"
        )
    if exact and form not in ("torch", "onnx"):
        raise UnmaskError(
            f"--exact is not possible for {form}, which computes with floats; use --to torch or --to onnx"
        )
    if part is not None and len(model.transformers) == 1:
        raise UnmaskError(f"a model of kind {model.kind} has a single transformer and no {part}; leave out --part")
    if part is not None and form == "torch":
        raise UnmaskError("the torch form always contains both planner and predictor; leave out --part")
    name = next(iter(model.transformers)) if len(model.transformers) == 1 else part or "predictor"
    if form not in ("torch", "onnx") and model.kind != "cot" and model.transformers[name].attention == "causal":
        raise UnmaskError(
            f"{form.upper()} attends in both directions, but the {name} is causal; use --to torch or --to onnx"
        )
    return name
