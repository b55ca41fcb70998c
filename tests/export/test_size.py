"""What would not fit is refused before it is built, with an estimate that is near what smaller models take."""

import tracemalloc

import pytest
from safetensors.numpy import load_file

from unmask.budget import Budget
from unmask.errors import TooLarge
from unmask.export import size
from unmask.export.export import export_files, word_count
from unmask.pipeline import compile_problem


@pytest.mark.parametrize(("kind", "form"), [("mdm", "bert"), ("cot", "gpt2"), ("mdm", "torch"), ("plt", "torch")])
def test_the_estimate(kind, form, exported):
    model, folder, _ = exported("group:S3", kind, form, length=8)
    taken = sum(tensor.size for file in folder.glob("*.safetensors") for tensor in load_file(file).values())
    parts = ["predictor"] if form == "bert" else list(model.transformers)
    count = size.dense_numbers if form == "torch" else size.stock_numbers
    assert 0.5 < sum(count(model.transformers[part]) for part in parts) / taken < 2


def test_a_model_that_does_not_fit():
    model = compile_problem("group:S3", "mdm", length=8)
    with (
        Budget(memory=1 << 10),
        pytest.raises(
            TooLarge, match=r"the bert form would take about .* MB of memory, .* raise the limit with --limit"
        ),
    ):
        export_files(model, "bert")


@pytest.mark.parametrize(
    ("kind", "form", "exact"),
    [
        ("mdm", "bert", False),
        ("mdm", "torch", False),
        ("mdm", "onnx", True),
        ("plt", "onnx", False),
        ("cot", "gpt2", False),
    ],
)
def test_memory_stays_below_the_estimate(kind, form, exact):
    """Of what NumPy and Python allocate, which is all of an export."""
    model = compile_problem("group:S3", kind, length=8)
    export_files(model, form, exact=exact)  # what is imported and cached is not counted
    parts = ["predictor"] if kind == "mdm" and form != "torch" else list(model.transformers)
    tracemalloc.start()
    try:
        export_files(model, form, exact=exact)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < size.memory_of(model, form, parts, word_count(model))
