"""Source tree → import graph of src/unmask, between modules and between packages.

A *package* is a top-level folder (`weights`) or a top-level module (`errors`). A few subpackages are listed separately
(`SEPARATE`), because they import packages that import the rest of their own package. Imports inside functions count.
Imports for type checkers do not count, and neither does the `__init__` that Python runs on the way to a module.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "unmask"
PACKAGE = "unmask"
SEPARATE = (
    "verification/circuits",  # imported by `theorems`
    "verification/conversions",  # import `theorems`
)
"""Subpackages that have a row of their own."""

STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)
"""What may contain an import. Expressions do not, and are most of a syntax tree."""

Graph = Mapping[str, set[str]]
"""Name → the names that it imports."""


@dataclass(frozen=True)
class Import:
    """An imported name, such as `unmask.weights.model.Model`; `lazy` inside a function, `typing` for type checkers."""

    name: str
    line: int
    lazy: bool = False
    typing: bool = False
    relative: bool = False

    @property
    def parts(self) -> list[str]:
        """Below the package; of the package itself, its `__init__`."""
        return self.name.split(".")[1:] or ["__init__"]


def files(root: Path = SOURCE) -> dict[str, Path]:
    """Module → file: `weights/model` → …/weights/model.py."""
    return {path.relative_to(root).with_suffix("").as_posix(): path for path in sorted(root.rglob("*.py"))}


def folder_of(module: str) -> str:
    """Return the folder of a module (`verification/words`), or the name of a top-level module."""
    return module.rpartition("/")[0] or module


def package_of(module: str) -> str:
    """Return the top-level package or module that contains a module, or its subpackage in `SEPARATE`."""
    separate = (name for name in SEPARATE if f"{module}/".startswith(f"{name}/"))
    return next(separate, module.partition("/")[0])


def imports(tree: ast.Module) -> Iterator[Import]:
    """Yield every import of this project in a file."""
    yield from _imports(tree.body, lazy=False, typing=False)


def _imports(body: Iterable[ast.AST], *, lazy: bool, typing: bool) -> Iterator[Import]:
    for node in body:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            yield from (Import(name, node.lineno, lazy, typing) for name in names if name.split(".")[0] == PACKAGE)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level or module.split(".")[0] == PACKAGE:
                relative = bool(node.level)
                yield from (
                    Import(f"{module}.{alias.name}", node.lineno, lazy, typing, relative) for alias in node.names
                )
        else:
            function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            checking = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            inside = (child for child in ast.iter_child_nodes(node) if isinstance(child, STATEMENTS))
            yield from _imports(inside, lazy=lazy or function, typing=typing or checking)


@lru_cache
def module_graph(root: Path = SOURCE) -> dict[str, set[str]]:
    """Module → the modules that it imports when it is loaded or run."""
    modules = files(root)
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        targets = (
            _module(imported.parts, modules) for imported in imports(tree) if not (imported.typing or imported.relative)
        )
        graph[module] = {target for target in targets if target not in (None, module)}
    return graph


def _module(parts: list[str], modules: Mapping[str, Path]) -> str | None:
    """Return the module that defines a dotted name."""
    for count in range(len(parts), -1, -1):
        for name in ("/".join(parts[:count]), "/".join([*parts[:count], "__init__"])):
            if name in modules:
                return name
    return None


def package_graph(graph: Graph) -> dict[str, set[str]]:
    """Return package → the other packages that its modules import."""
    packages: dict[str, set[str]] = {package_of(module): set() for module in graph}
    for module, targets in graph.items():
        package = package_of(module)
        packages[package] |= {package_of(target) for target in targets} - {package}
    return packages


def closure(graph: Graph, roots: Iterable[str]) -> set[str]:
    """Return the roots and everything that they import, directly or indirectly."""
    reached: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += graph[name]
    return reached


def cycles(graph: Graph) -> list[list[str]]:
    """Return the sets of names that import each other, directly or indirectly."""
    reach = {name: closure(graph, graph[name]) for name in graph}
    inside = sorted(name for name in graph if name in reach[name])
    together: dict[frozenset[str], list[str]] = {}
    for name in inside:
        together.setdefault(frozenset(other for other in inside if other in reach[name] and name in reach[other]), [])
    return [sorted(group) for group in together]


def levels(graph: Graph) -> list[list[str]]:
    """Return names by the length of their longest path of imports, shortest first. The graph must have no cycle."""
    level: dict[str, int] = {}
    waiting = dict(graph)
    while waiting:
        free = [name for name, targets in waiting.items() if targets <= level.keys()]
        if not free:
            raise ValueError(f"cycle among {sorted(waiting)}")
        for name in free:
            level[name] = max((level[target] + 1 for target in graph[name]), default=0)
            del waiting[name]
    return [sorted(n for n, at in level.items() if at == i) for i in range(max(level.values(), default=-1) + 1)]


def direct(graph: Graph) -> dict[str, set[str]]:
    """Return the transitive reduction: drop each arrow that follows from others."""
    return {
        name: {t for t in targets if not any(t in closure(graph, graph[other]) for other in targets - {t})}
        for name, targets in graph.items()
    }


def first_sentence(module: str, root: Path = SOURCE) -> str:
    """Return the first line of a module's docstring; for a folder, of its `__init__`."""
    path = root / module / "__init__.py" if (root / module).is_dir() else root / f"{module}.py"
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n\n")[0].replace("\n", " ")
