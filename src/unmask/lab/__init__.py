"""The lab: what is learned. The same tasks and frameworks as compiled models, trained (extra `lab`); floats, a leaf.

    Problem ──tasks/──▶ exact canvases ──training/──▶ a network ──evaluation/──▶ accuracy, passes
                                                           └── inside/ ──▶ what it attends to
    sweep/: many such runs as cells of a table, on Dask        report/: results.json ──▶ Markdown, SVG

`settings/` is what a run depends on. `tasks/` knows no torch: it says what every row holds after every step, from the
problem's algebra or from a program. `network/` is one readable transformer. A trained model is run by the loops of
`reasoners/` and the samplers of `samplers/`, as a compiled one is.
"""

from typing import TYPE_CHECKING

from unmask.lazy_names import lazy_names

if TYPE_CHECKING:
    from unmask.lab.inside.operands import operand_attention
    from unmask.lab.inside.page import view_of
    from unmask.lab.settings.config import Config
    from unmask.lab.settings.shape import Shape
    from unmask.lab.tasks.words import Stream, words
    from unmask.lab.training.train import train

__all__ = [
    "Config",
    "Shape",
    "Stream",
    "operand_attention",
    "train",
    "view_of",
    "words",
]

_MODULES = {
    "Config": "unmask.lab.settings.config",
    "Shape": "unmask.lab.settings.shape",
    "Stream": "unmask.lab.tasks.words",
    "operand_attention": "unmask.lab.inside.operands",
    "train": "unmask.lab.training.train",
    "view_of": "unmask.lab.inside.page",
    "words": "unmask.lab.tasks.words",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
