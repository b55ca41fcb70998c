"""Train networks on the tasks that unmask compiles models for (extra `lab`); floats are allowed, no package imports it.

    Problem ──tasks──▶ exact canvases ──training──▶ a network ──trained_model──▶ accuracy, passes
                                                        └── network_measures ──▶ what it attends to
    presets ──sweep──▶ results.json ──result_tables, result_plots──▶ Markdown, SVG

`settings` defines the config of a run. `task_sources`, `task_layouts` and `program_layout` say what every row holds
after every step; they do not import torch. `trained_network` is the transformer, `training_batches` has its examples
and loss, `checkpoints` its folder, and `memory_estimates` what it needs. A trained model runs in the loops of
`reasoners/`, under the samplers of `samplers/` (`trained_sampling`) and in the viewer (`trained_view`), as a compiled
model does. `result_rows` groups the cells of results.json that differ only in the seed.
"""

from typing import TYPE_CHECKING

from unmask.lazy_names import lazy_names

if TYPE_CHECKING:
    from unmask.lab.network_measures import operand_attention
    from unmask.lab.settings import Config, Shape
    from unmask.lab.task_sources import Stream, words
    from unmask.lab.trained_view import view_of
    from unmask.lab.training import train

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
    "Config": "unmask.lab.settings",
    "Shape": "unmask.lab.settings",
    "Stream": "unmask.lab.task_sources",
    "operand_attention": "unmask.lab.network_measures",
    "train": "unmask.lab.training",
    "view_of": "unmask.lab.trained_view",
    "words": "unmask.lab.task_sources",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
