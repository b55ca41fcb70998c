"""The directions of the design, as data: which place may import which, and what no file may hold.

A place is a folder (a room, or the files beside the rooms of a folder), or a file at the top: see
docs/generate/import_graph.py.
"""

import ast

import pytest
from import_graph import SOURCE, circles, files, imports, levels, module_graph, place_graph, place_of

# From the ground up. A name is one place, `problems/*` is that place and every room in it.
MAY_IMPORT = {
    "errors": "",
    "lazy_names": "",
    "escapes": "",
    "interrupts": "",
    "careful_console": "escapes",
    "terminal": "careful_console escapes",
    "files": "errors",
    "writing": "interrupts errors",
    "documents": "errors",
    "numerics": "",
    "weights": "numerics documents files writing errors budget",
    "budget": "errors",
    "engines/shared": "weights numerics",
    "engines/chains": "engines/shared weights numerics budget",
    "engines/classes": "engines/shared numerics budget",
    "engines": "engines/shared engines/chains engines/classes weights numerics budget errors",
    "traces": "weights documents errors",
    "reasoners": "engines traces weights numerics budget errors",
    # what to compute
    "recurrences": "budget errors",
    "problems/automata": "files documents errors budget",
    "problems/circuits": "files errors budget",
    "problems/expressions": "errors",
    "problems/grammars": "recurrences errors",
    "problems/regexes": "problems/automata budget errors",
    "problems": "problems/* recurrences documents files budget errors",
    # how a transformer computes it
    "programs/language": "weights numerics budget errors",
    "programs/gadgets": "programs/language weights",
    "programs/planners": "programs/gadgets programs/language weights",
    "programs/simulation": "programs/gadgets programs/language weights numerics",
    "programs/circuits": "problems/circuits recurrences",
    "programs/addition": "programs/planners programs/gadgets programs/language",
    "programs/reachability": "programs/planners programs/gadgets programs/language weights",
    "programs/recurrences": "recurrences programs/planners programs/gadgets programs/language weights numerics errors",
    "programs/regular": "programs/language weights",
    "programs/regular/products": (
        "problems/automata programs/regular programs/planners programs/gadgets programs/language weights errors"
    ),
    "programs/regular/states": (
        "problems/automata programs/regular programs/regular/products programs/planners programs/gadgets "
        "programs/language weights"
    ),
    "programs/expressions": (
        "problems/* programs/regular/products programs/planners programs/gadgets programs/language weights"
    ),
    "programs": "",
    "testing": "programs/language reasoners engines weights numerics errors",
    "programs/compilers": "testing problems/* recurrences programs/* weights numerics budget errors",
    # from one framework to another
    "theorems": (
        "programs/planners programs/gadgets programs/language programs/simulation traces weights numerics budget errors"
    ),
    "theorems/circuits": "verification/circuits problems/circuits weights errors",
    "theorems/checking": "theorems testing reasoners engines traces weights errors",
    # is it right?
    "checker": "weights numerics files escapes errors",
    "checker/families": "checker weights numerics files escapes errors",
    "verification/question": "problems/* reasoners engines weights budget errors",
    "verification/running": "verification/question problems/* reasoners engines weights budget errors",
    "verification/symbolic": "reasoners engines/shared weights numerics budget errors",
    "verification/proofs": (
        "verification/question verification/running verification/symbolic problems/* recurrences reasoners engines "
        "weights budget errors"
    ),
    "verification/circuits": (
        "verification/proofs verification/symbolic problems/circuits reasoners weights numerics budget errors"
    ),
    "verification/folds": (
        "programs/simulation programs/gadgets programs/language engines weights numerics budget errors"
    ),
    "verification/uniformity": (
        "verification/families verification/families/obligations recurrences theorems programs/compilers "
        "programs/language testing problems/* weights numerics"
    ),
    "verification/families/obligations": (
        "verification/folds programs/compilers programs/language problems/* engines/shared engines weights numerics "
        "budget errors"
    ),
    "verification/families/regular": (
        "verification/families/obligations programs/compilers programs/language problems/* engines/shared weights "
        "numerics budget errors"
    ),
    "verification/families/systems": (
        "verification/families/obligations verification/folds programs/* problems/* recurrences engines/shared engines "
        "weights numerics budget errors"
    ),
    "verification/families": (
        "verification/families/* verification/proofs verification/question programs/compilers "
        "programs/language problems/* engines weights numerics budget errors"
    ),
    "verification/conversions": (
        "verification/families verification/families/obligations theorems testing programs/language reasoners engines "
        "traces weights numerics errors"
    ),
    "verification": (
        "checker verification/question verification/running verification/proofs problems/* recurrences reasoners "
        "engines weights budget errors"
    ),
    "tables": "verification/symbolic reasoners engines weights numerics budget errors",
    # leaves, and what they share
    "viewer": "traces weights escapes errors budget",
    "samplers/passes": "numerics errors budget",
    "samplers/rules": "samplers/passes",
    "samplers/predictors": "samplers/passes reasoners engines weights numerics errors",
    "samplers": "samplers/rules samplers/passes errors",
    "samplers/report": "",
    "samplers/laws": "samplers samplers/passes samplers/report files documents errors budget",
    "export/real": "weights numerics errors",
    "export/check": "export/real pipeline reasoners engines weights numerics errors",
    "export/files": "export/real pipeline weights writing errors",
    "export/torch": "export/check export/files export/real reasoners engines weights numerics errors",
    "export/onnx": "export/torch export/check export/files export/real engines weights numerics errors",
    "export/stock": "export/check export/files export/real engines weights numerics errors",
    "export/rope": "export/stock export/check export/files export/real weights numerics errors",
    "export": "export/* pipeline weights budget errors",
    # front doors
    "__init__": "viewer traces",
    "named_problem": "programs/compilers problems/* weights errors",
    "running": "tables reasoners budget engines traces weights errors",
    "pipeline": (
        "running named_problem verification/* theorems programs/compilers problems/* recurrences reasoners engines "
        "traces weights"
    ),
    "views": "pipeline problems viewer reasoners engines weights budget errors",
    "samplers/exam": (
        "samplers samplers/passes samplers/predictors samplers/report pipeline verification/question problems/* "
        "reasoners weights budget errors"
    ),
    "lab/tasks": "problems/* recurrences programs/regular programs/regular/products weights budget errors",
    "lab/settings": "lab/tasks problems documents files errors",
    "lab/network": "lab/settings lab/tasks errors",
    "lab/evaluation": "lab/network lab/settings lab/tasks samplers samplers/passes reasoners weights budget errors",
    "lab/training": "lab/evaluation lab/network lab/settings lab/tasks problems weights budget files writing errors",
    "lab/inside": (
        "lab/training lab/evaluation lab/network lab/settings lab/tasks samplers samplers/passes budget "
        "viewer reasoners traces weights errors"
    ),
    "lab/sweep": (
        "lab/inside lab/training lab/evaluation lab/network lab/settings lab/tasks problems documents "
        "files writing errors"
    ),
    "lab/report": "lab/sweep lab/evaluation lab/settings lab/tasks writing",
    "lab": "",
    "playground/programs": "recurrences",
    "playground": (
        "playground/programs views viewer samplers/* pipeline verification/* programs/compilers problems/* "
        "traces weights numerics documents budget errors"
    ),
    "installation": "__init__ pipeline weights errors",
    "console": (
        "installation terminal escapes verification verification/question verification/families theorems reasoners "
        "traces weights"
    ),
    "paper/checks": (
        "checker/families pipeline recurrences theorems theorems/checking theorems/circuits verification/* testing "
        "programs/* problems/* reasoners engines traces weights numerics errors"
    ),
    "paper/items": "paper/checks numerics errors",
    "paper": "paper/items paper/checks terminal",
    "commands": (
        "console installation terminal paper/* pipeline views traces viewer playground export/* lab/* samplers/* "
        "verification/* theorems problems/* reasoners engines weights budget escapes interrupts files writing errors"
    ),
    "cli": "interrupts commands terminal errors __init__",
    "start": "cli escapes interrupts",
    "__main__": "start",
}
TO_COME: set[str] = set()
LEAVES = {"viewer", "views", "playground", "export", "lab"}  # others import them and their rooms inside functions alone
MAY_HOLD_FLOATS = {"viewer", "lab", "playground", "export", "samplers"}
VAGUE = {"utils", "util", "helpers", "common", "misc", "base", "core", "tools"}
LONGEST_FILE = 400


def allowed(place, table=MAY_IMPORT):
    """The places that a place may import, itself among them."""
    names = {"lazy_names", *table[place].split()}
    inside = {name.removesuffix("/*") for name in names if name.endswith("/*")}
    return {other for other in table if other in names or any(f"{other}/".startswith(f"{i}/") for i in inside)} | {
        place
    }


def target_of(found):
    """The place that an imported name stands in: the longest that the table knows."""
    if found.relative:
        return "a relative import"
    names = ("/".join(found.parts[:count]) for count in range(len(found.parts), 0, -1))
    return next((name for name in names if name in MAY_IMPORT), found.parts[0])


def trees(root):
    """(module, its place, its tree) of every file."""
    for module, path in files(root).items():
        yield module, place_of(module), ast.parse(path.read_text(encoding="utf-8"))


def wrong_imports(root):
    for module, place, tree in trees(root):
        if place not in MAY_IMPORT:
            yield f"{module}.py: {place} has no row in MAY_IMPORT"
            continue
        for found in imports(tree):
            target = target_of(found)
            public = found.typing and module.split("/")[-1] == "__init__"  # the public names of a package
            if target not in allowed(place) and not public:
                yield f"{module}.py:{found.line}: {place} may not import {target}"
            elif found.typing or found.lazy or place.split("/")[0] in LEAVES:
                continue
            elif target.split("/")[0] in LEAVES:
                yield f"{module}.py:{found.line}: {target} is a leaf, import it inside a function"


def circular_imports(root):
    """Of modules and of places, imports inside functions included."""
    graph = module_graph(root)
    for found in (*circles(graph), *circles(place_graph(graph))):
        yield f"a circle of imports: {' '.join(found)}"


def long_files(root):
    for module, path in files(root).items():
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > LONGEST_FILE:
            yield f"{module}.py has {lines} lines"


def vague_names(root):
    for path in sorted(root.rglob("*")):
        if path.stem in VAGUE:
            yield f"{path.relative_to(root)} says nothing about what is in it"


def silent_folders(root):
    """A newcomer reads the tree: every folder says what it holds."""
    for folder in sorted({path.parent for path in root.rglob("*.py")}):
        start = folder / "__init__.py"
        if not start.is_file() or not ast.get_docstring(ast.parse(start.read_text(encoding="utf-8"))):
            yield f"{folder.relative_to(root)} has no __init__ that says what lives there"


def unnamed_rooms(root):
    """… and every room in it."""
    for room in sorted(path.parent for path in root.rglob("*/*/__init__.py")):
        start = room.parent / "__init__.py"
        said = ast.get_docstring(ast.parse(start.read_text(encoding="utf-8"))) if start.is_file() else None
        if f"{room.name}/" not in (said or ""):
            yield f"{room.parent.relative_to(root)} does not say what its room {room.name} is"


def floats(root):
    """Literals, float(…) or f(float), and the float types of NumPy; a clock's seconds may be annotated."""
    for module, place, tree in trees(root):
        if place.split("/")[0] in MAY_HOLD_FLOATS:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, (float, complex)):
                yield f"{module}.py:{node.lineno}: the literal {node.value}"
            elif isinstance(node, ast.Call):
                used = [node.func, *node.args, *(keyword.value for keyword in node.keywords)]
                if any(isinstance(name, ast.Name) and name.id == "float" for name in used):
                    yield f"{module}.py:{node.lineno}: float in a call"
            elif isinstance(node, ast.Attribute) and node.attr in ("float16", "float32", "float64", "longdouble"):
                yield f"{module}.py:{node.lineno}: {node.attr}"


CHECKS = [wrong_imports, circular_imports, long_files, vague_names, floats]


@pytest.mark.parametrize("check", [*CHECKS, silent_folders, unnamed_rooms], ids=lambda check: check.__name__)
def test_the_source_follows_the_design(check):
    assert list(check(SOURCE)) == []


def test_the_table_is_about_this_source():
    """It names places that exist, and those that are still to come."""
    places = {place_of(module) for module in files()}
    assert places >= {"numerics", "weights", "engines/shared", "reasoners", "verification/symbolic", "cli", "pipeline"}
    assert set(MAY_IMPORT) - places <= TO_COME
    named = {name.removesuffix("/*") for row in MAY_IMPORT.values() for name in row.split()}
    assert named <= set(MAY_IMPORT)


def test_the_arrows_have_no_circle():
    order = [place for level in levels({p: allowed(p) - {p} for p in MAY_IMPORT}) for place in level]
    assert order.index("numerics") < order.index("weights") < order.index("engines") < order.index("reasoners")


def test_the_prover_rests_on_no_engine():
    """Symbolic execution shares the declared room with the fast engine, and nothing else of it."""
    assert {"engines", "engines/shared"} & allowed("verification/symbolic") == {"engines/shared"}


VIOLATIONS = [
    ("numerics/x.py", "from unmask.weights.matrix import Matrix", wrong_imports, "numerics may not import weights"),
    ("weights/x.py", "import unmask.engines.reference", wrong_imports, "weights may not import engines"),
    ("traces/x.py", "from unmask import reasoners", wrong_imports, "traces may not import reasoners"),
    ("engines/x.py", "def f():\n    from unmask.cli import main", wrong_imports, "engines may not import cli"),
    ("reasoners/x.py", "from ..weights import model", wrong_imports, "may not import a relative import"),
    ("weights/x.py", "from unmask import Model", wrong_imports, "weights may not import Model"),
    ("commands/x.py", "from unmask.lab.train import train", wrong_imports, "lab is a leaf"),
    ("verification/x.py", "import unmask.viewer", wrong_imports, "verification may not import viewer"),
    ("__init__.py", "import unmask.viewer.notebook", wrong_imports, "viewer is a leaf"),
    ("traces/x.py", "def f():\n    import unmask.viewer.render", wrong_imports, "traces may not import viewer"),
    (
        "viewer/x.py",
        "def f():\n    from unmask.pipeline import run_word",
        wrong_imports,
        "viewer may not import pipeline",
    ),
    (
        "verification/symbolic/x.py",
        "from unmask.engines.attention import HeadAttention",
        wrong_imports,
        "verification/symbolic may not import engines",
    ),
    (
        "engines/shared/x.py",
        "from unmask.engines import scores",
        wrong_imports,
        "engines/shared may not import engines",
    ),
    (
        "programs/gadgets/x.py",
        "import unmask.programs.simulation.transformer",
        wrong_imports,
        "programs/gadgets may not import programs/simulation",
    ),
    (
        "weights/x.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from unmask.traces.trace import Trace",
        wrong_imports,
        "weights may not import traces",
    ),
    ("frameworks/x.py", "", wrong_imports, "frameworks has no row"),
    ("verification/guesses/x.py", "", wrong_imports, "verification/guesses has no row"),
    ("weights/long.py", "x = 1\n" * 401, long_files, "weights/long.py has 401 lines"),
    ("weights/utils.py", "", vague_names, "weights/utils.py says nothing"),
    ("weights/helpers/x.py", "", vague_names, "weights/helpers says nothing"),
    ("weights/x.py", "", silent_folders, "weights has no __init__"),
    ("weights/__init__.py", "x = 1", silent_folders, "weights has no __init__ that says"),
    ("weights/x/__init__.py", '"""A room."""', unnamed_rooms, "weights does not say what its room x is"),
    ("numerics/x.py", "half = 0.5", floats, "the literal 0.5"),
    ("numerics/x.py", "x = 1e3", floats, "the literal 1000.0"),
    ("engines/x.py", "x = float(3)", floats, "x.py:1: float"),
    ("engines/x.py", "x = y.astype(dtype=float)", floats, "float in a call"),
    ("engines/shared/x.py", "import numpy as np\nx = np.zeros(3, dtype=np.float64)", floats, "float64"),
]


def write(root, file, text):
    (root / file).parent.mkdir(parents=True, exist_ok=True)
    (root / file).write_text(text)


@pytest.mark.parametrize(
    ("file", "text", "check", "sentence"), VIOLATIONS, ids=lambda v: v[:30] if isinstance(v, str) else v.__name__
)
def test_a_violation_is_caught(tmp_path, file, text, check, sentence):
    write(tmp_path, file, text)
    said = list(check(tmp_path))
    assert any(sentence in line for line in said), said


CIRCLES = [
    ({"weights/x.py": "import unmask.weights.y", "weights/y.py": "import unmask.weights.x"}, "weights/x weights/y"),
    (
        {"weights/x.py": "import unmask.weights.y", "weights/y.py": "def f():\n    from unmask.weights.x import z"},
        "weights/x weights/y",
    ),
    (  # no two modules import each other, but two rooms do
        {
            "engines/x.py": "import unmask.engines.shared.x",
            "engines/shared/y.py": "import unmask.engines.y",
            "engines/y.py": "",
            "engines/shared/x.py": "",
        },
        "engines engines/shared",
    ),
]


@pytest.mark.parametrize(("written", "sentence"), CIRCLES, ids=["modules", "in a function", "rooms"])
def test_a_circle_is_caught(tmp_path, written, sentence):
    for file, text in written.items():
        write(tmp_path, file, text)
    assert list(circular_imports(tmp_path)) == [f"a circle of imports: {sentence}"]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("weights/x.py", "from unmask.numerics.precision import Precision\nfrom unmask.weights.model import Model"),
        ("commands/view.py", "def view():\n    from unmask.viewer.render import render"),
        ("__init__.py", "def framed():\n    from unmask.viewer.notebook import framed"),
        ("verification/symbolic/x.py", "from unmask.engines.shared.prepared import PreparedHead"),
        ("views.py", "from unmask.pipeline import run_word\nfrom unmask.viewer.panel import Panel"),
        ("lab/tasks/x.py", "rate = 0.5\nimport unmask.problems.group"),
        ("numerics/x.py", '"""0.5 in words."""\nimport numpy as np\nhalf = "0.5"'),
    ],
)
def test_what_is_allowed_is_not_caught(tmp_path, file, text):
    write(tmp_path, file, text)
    assert [line for check in CHECKS for line in check(tmp_path)] == []


def test_the_front_door_is_small():
    import unmask

    assert unmask.__all__ == sorted(unmask.__all__)
    assert len(unmask.__all__) <= 17
    assert all(hasattr(unmask, name) for name in unmask.__all__)
