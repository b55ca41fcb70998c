"""The notebook in `examples/` trains what it says it trains."""

import contextlib
import io
import json
from pathlib import Path

NOTEBOOK = Path(__file__).parents[2] / "examples" / "train_a_tree.ipynb"


def test_the_notebook_trains_and_shows():
    """Numbers depend on the machine, so that only what comes out is compared, and what does not depend on training."""
    cells = [c for c in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if c["cell_type"] == "code"]
    space, outputs = {}, []
    for cell in cells:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("".join(cell["source"]), "cell", "exec"), space)
        outputs.append((printed.getvalue(), "".join("".join(output["text"]) for output in cell["outputs"])))
    assert [now for now, _ in outputs[:2]] == [shown for _, shown in outputs[:2]]
    assert space["run"].right > 0.98
    assert space["seen"].best > 4 * space["seen"].uniform
    assert "3 steps" in outputs[3][0]
    assert "3 steps" in outputs[3][1]
