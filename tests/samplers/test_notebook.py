"""The notebooks about samplers in `examples/`: their cells are run in order, and print what they show."""

import contextlib
import io
import json
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
PREDICTORS = ("CompiledPredictor", "HuggingFacePredictor")  # which one depends on what is installed


@pytest.mark.parametrize("name", ["your_sampler_on_a_bert", "how_many_passes"])
def test_the_notebook_prints_what_it_shows(name):
    notebook = EXAMPLES / f"{name}.ipynb"
    cells = [c for c in json.loads(notebook.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "code"]
    space = {}
    for cell in cells:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("".join(cell["source"]), "cell", "exec"), space)
        stored_output = "".join("".join(output["text"]) for output in cell["outputs"])
        assert plain(printed.getvalue()) == plain(stored_output)
    assert sum(len(cell["outputs"]) for cell in cells) >= 5


def plain(text):
    for name in PREDICTORS:
        text = text.replace(name, "…")
    return text
