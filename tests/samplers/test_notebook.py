"""The notebook in `examples/`: its cells are run in order, and print what it shows."""

import contextlib
import io
import json
from pathlib import Path

NOTEBOOK = Path(__file__).parents[2] / "examples" / "your_sampler_on_a_bert.ipynb"
PREDICTORS = ("CompiledPredictor", "HuggingFacePredictor")  # which one depends on what is installed


def test_the_notebook_prints_what_it_shows():
    cells = [c for c in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "code"]
    space = {}
    for cell in cells:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("".join(cell["source"]), "cell", "exec"), space)
        shown = "".join("".join(output["text"]) for output in cell["outputs"])
        assert plain(printed.getvalue()) == plain(shown)
    assert sum(len(cell["outputs"]) for cell in cells) >= 5


def plain(text):
    for name in PREDICTORS:
        text = text.replace(name, "…")
    return text
