"""The directions of the design, as data: who may import whom, and what no file may hold."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "unmask"

FOUNDATION = {"numerics", "weights", "engines", "traces", "reasoners", "errors"}
CORE = FOUNDATION | {"problems", "programs", "theorems", "testing", "verification"}
MAY_IMPORT = {
    "errors": set(),
    "numerics": set(),
    "problems": {"errors"},
    "weights": {"numerics", "errors"},
    "engines": {"weights", "numerics", "errors"},
    "traces": {"weights", "errors"},
    "reasoners": {"engines", "traces", "weights", "numerics", "errors"},
    "testing": FOUNDATION,
    "programs": {"problems", "weights", "numerics", "errors"},
    "theorems": {"programs", "problems", "reasoners", "engines", "traces", "weights", "numerics", "errors"},
    "verification": CORE - {"verification"},
    "pipeline": CORE,
    "terminal": set(),
    "installation": CORE | {"pipeline", "__init__"},
    "console": CORE | {"pipeline", "terminal", "installation"},
    "paper": CORE | {"pipeline", "console", "terminal"},
    "viewer": {"pipeline", "traces", "weights", "errors"},
    "lab": CORE | {"pipeline"},
    "playground": CORE | {"pipeline", "viewer"},
    "commands": CORE | {"pipeline", "terminal", "console", "installation", "paper", "viewer", "lab", "playground"},
    "cli": {"commands", "terminal", "errors", "__init__"},
    "__init__": {"errors", "pipeline", "traces", "weights"},
    "__main__": {"cli"},
}
LEAVES = {"viewer", "lab", "playground"}  # imported by the commands alone (the playground shows views), in a function
AGAINST_THE_FLOW = {("traces/notebook.py", "viewer")}  # a trace shows itself in a notebook; in a function, too
MAY_HOLD_FLOATS = {"viewer", "lab", "playground"}
VAGUE = {"utils", "util", "helpers", "common", "misc", "base", "core", "tools"}
LONGEST_FILE = 400


def modules(root):
    """(place, path, tree) of every file; the place is its folder, or its own name at the top."""
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        yield parts[0], path.relative_to(root), ast.parse(path.read_text(encoding="utf-8"))


def imports(tree):
    """(imported place, line, is it inside a function) of everything of ours that a file imports."""
    lazy = {
        id(inner)
        for outer in ast.walk(tree)
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef))
        for inner in ast.walk(outer)
    }
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                yield "a relative import", node.lineno, False
            names = [node.module or ""]
            if node.module == "unmask":
                names = [f"unmask.{alias.name}" for alias in node.names]
        for name in names:
            if name.split(".")[0] == "unmask":
                yield [*name.split("."), "__init__"][1], node.lineno, id(node) in lazy


def wrong_imports(root):
    for place, path, tree in modules(root):
        if place not in MAY_IMPORT:
            yield f"{path}: {place} has no row in MAY_IMPORT"
            continue
        for target, line, lazy in imports(tree):
            allowed = target in MAY_IMPORT[place] or (path.as_posix(), target) in AGAINST_THE_FLOW
            if target != place and not allowed:
                yield f"{path}:{line}: {place} may not import {target}"
            elif target in LEAVES and target != place and not lazy:
                yield f"{path}:{line}: {target} is a leaf, import it inside a function"


def long_files(root):
    for path in sorted(root.rglob("*.py")):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > LONGEST_FILE:
            yield f"{path.relative_to(root)} has {lines} lines"


def vague_names(root):
    for path in sorted(root.rglob("*")):
        if path.stem in VAGUE:
            yield f"{path.relative_to(root)} says nothing about what is in it"


def floats(root):
    """Literals, float(…) or f(float), and the float types of NumPy; a clock's seconds may be annotated."""
    for place, path, tree in modules(root):
        if place in MAY_HOLD_FLOATS:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, (float, complex)):
                yield f"{path}:{node.lineno}: the literal {node.value}"
            elif isinstance(node, ast.Call):
                used = [node.func, *node.args, *(keyword.value for keyword in node.keywords)]
                if any(isinstance(name, ast.Name) and name.id == "float" for name in used):
                    yield f"{path}:{node.lineno}: float in a call"
            elif isinstance(node, ast.Attribute) and node.attr in ("float16", "float32", "float64", "longdouble"):
                yield f"{path}:{node.lineno}: {node.attr}"


CHECKS = [wrong_imports, long_files, vague_names, floats]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_source_follows_the_design(check):
    assert list(check(SOURCE)) == []


def test_the_table_is_about_this_source():
    """Rows of folders that are still to come are the leaves' alone."""
    places = {place for place, _, _ in modules(SOURCE)}
    assert places >= {"numerics", "weights", "engines", "reasoners", "traces", "testing", "cli", "pipeline"}
    assert set(MAY_IMPORT) - places <= LEAVES
    assert all((SOURCE / path).is_file() for path, _ in AGAINST_THE_FLOW)


def test_the_arrows_have_no_circle():
    order, waiting = [], {place: set(targets) for place, targets in MAY_IMPORT.items()}
    while waiting:
        free = [place for place, targets in waiting.items() if targets <= set(order)]
        assert free, f"a circle among {sorted(waiting)}"
        order += free
        for place in free:
            del waiting[place]
    assert order.index("numerics") < order.index("weights") < order.index("engines") < order.index("reasoners")


VIOLATIONS = [
    ("numerics/x.py", "from unmask.weights.matrix import Matrix", wrong_imports, "numerics may not import weights"),
    ("weights/x.py", "import unmask.engines.reference", wrong_imports, "weights may not import engines"),
    ("traces/x.py", "from unmask import reasoners", wrong_imports, "traces may not import reasoners"),
    ("engines/x.py", "def f():\n    from unmask.cli import main", wrong_imports, "engines may not import cli"),
    ("reasoners/x.py", "from ..weights import model", wrong_imports, "may not import a relative import"),
    ("weights/x.py", "from unmask import Model", wrong_imports, "weights may not import Model"),
    ("commands/x.py", "from unmask.lab.train import train", wrong_imports, "lab is a leaf"),
    ("verification/x.py", "import unmask.viewer", wrong_imports, "verification may not import viewer"),
    ("traces/notebook.py", "import unmask.viewer.render", wrong_imports, "viewer is a leaf"),
    ("traces/x.py", "def f():\n    import unmask.viewer.render", wrong_imports, "traces may not import viewer"),
    ("frameworks/x.py", "", wrong_imports, "frameworks has no row"),
    ("weights/long.py", "x = 1\n" * 401, long_files, "weights/long.py has 401 lines"),
    ("weights/utils.py", "", vague_names, "weights/utils.py says nothing"),
    ("weights/helpers/x.py", "", vague_names, "weights/helpers says nothing"),
    ("numerics/x.py", "half = 0.5", floats, "the literal 0.5"),
    ("numerics/x.py", "x = 1e3", floats, "the literal 1000.0"),
    ("engines/x.py", "x = float(3)", floats, "x.py:1: float"),
    ("engines/x.py", "x = y.astype(dtype=float)", floats, "float in a call"),
    ("engines/x.py", "import numpy as np\nx = np.zeros(3, dtype=np.float64)", floats, "float64"),
]


@pytest.mark.parametrize(
    ("file", "text", "check", "sentence"), VIOLATIONS, ids=lambda v: v[:30] if isinstance(v, str) else v.__name__
)
def test_a_violation_is_caught(tmp_path, file, text, check, sentence):
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(text)
    found = list(check(tmp_path))
    assert any(sentence in line for line in found), found


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("weights/x.py", "from unmask.numerics.precision import Precision\nfrom unmask.weights.model import Model"),
        ("commands/view.py", "def view():\n    from unmask.viewer.render import render"),
        ("traces/notebook.py", "def framed():\n    from unmask.viewer.render import render"),
        ("lab/x.py", "rate = 0.5\nimport unmask.pipeline"),
        ("numerics/x.py", '"""0.5 in words."""\nimport numpy as np\nhalf = "0.5"'),
    ],
)
def test_what_is_allowed_is_not_caught(tmp_path, file, text):
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(text)
    assert [line for check in CHECKS for line in check(tmp_path)] == []


def test_the_front_door_is_small():
    import unmask

    assert unmask.__all__ == sorted(unmask.__all__)
    assert len(unmask.__all__) <= 12
    assert all(hasattr(unmask, name) for name in unmask.__all__)
