"""Public names of a package → the modules that define them, imported when a name is first used.

`import unmask` and `import unmask.samplers` stay fast, and `from unmask.samplers import sample` works.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package.

    `modules` maps a public name to its module, `unmask.samplers.sampling_loop`, or to module and name,
    `unmask.viewer.html_page:render`, where the two names differ.
    """

    def get_attribute(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, defined_as = modules[name].partition(":")
        value = getattr(import_module(module), defined_as or name)
        setattr(sys.modules[package], name, value)
        return value

    def directory() -> list[str]:
        return sorted({*modules, *vars(sys.modules[package])})

    return get_attribute, directory
