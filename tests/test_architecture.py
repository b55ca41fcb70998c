"""Check the import directions between the packages of src/unmask, and what no file may contain.

A package is a top-level folder or module: see docs/generate/import_graph.py. Inside a package, modules may import each
other freely as long as there is no cycle.
"""

import ast
import io
import keyword
import re
import tokenize

import pytest
from import_graph import SOURCE, cycles, files, imports, levels, module_graph, package_graph, package_of

# Package → the packages that it may import. Everybody may also import `errors` and `lazy_names`.
MAY_IMPORT = {
    "errors": "",
    "lazy_names": "",
    "limits": "",
    "files": "limits",
    "expressions": "",
    "numerics": "",
    "weights": "numerics files limits",
    "engines": "weights numerics limits",
    "traces": "weights files",
    "reasoners": "engines traces weights numerics limits",
    # what to compute
    "recurrences": "expressions limits",
    "problems": "recurrences expressions files limits",
    # how a transformer computes it
    "programs": "problems recurrences expressions weights numerics limits",
    "testing": "programs reasoners engines weights numerics",
    "compilers": "testing programs problems recurrences expressions weights numerics limits",
    # is it right?
    "checker": "weights numerics files",
    "verification": (
        "checker testing compilers programs problems recurrences expressions reasoners engines traces weights numerics "
        "files limits"
    ),
    "verification/circuits": (
        "verification programs problems recurrences expressions reasoners engines weights numerics limits"
    ),
    # from one framework to another
    "theorems": (
        "verification/circuits testing compilers programs problems expressions reasoners engines traces weights "
        "numerics limits"
    ),
    "verification/conversions": (
        "theorems verification testing compilers programs problems recurrences expressions reasoners engines traces "
        "weights numerics limits"
    ),
    # public functions
    "api": (
        "theorems verification verification/circuits verification/conversions compilers problems recurrences "
        "expressions reasoners engines traces weights numerics files limits"
    ),
    "__init__": "api viewer traces",
    # applications
    "viewer": "api problems reasoners engines traces weights limits",
    "samplers": "api verification problems reasoners engines weights numerics files limits",
    "export": "api reasoners engines weights numerics files limits",
    "bench": "samplers export recurrences limits",
    "lab": (
        "samplers viewer programs problems recurrences expressions reasoners engines traces weights numerics files "
        "limits"
    ),
    "playground": (
        "api samplers viewer verification compilers problems recurrences expressions reasoners engines traces weights "
        "numerics files limits"
    ),
    "paper": (
        "api checker verification verification/circuits verification/conversions theorems "
        "testing compilers programs problems recurrences expressions reasoners engines traces weights numerics files "
        "limits"
    ),
    "cli": (
        "__init__ api paper playground lab bench export samplers viewer verification verification/circuits theorems "
        "problems recurrences reasoners engines traces weights files limits"
    ),
    "__main__": "cli",
}
FOUNDATION = {"errors", "lazy_names"}
LEAVES = {"viewer", "playground", "export", "lab", "bench"}
"""Packages with many dependencies: others import them only inside functions."""
MAY_CONTAIN_FLOATS = {"viewer", "lab", "playground", "export", "samplers", "bench"}
VAGUE = {"utils", "util", "helpers", "common", "misc", "base", "core", "tools"}
LONGEST_FILE = 600


def allowed(package):
    """Return the packages that a package may import, including itself."""
    return {package, *MAY_IMPORT[package].split()} | (set() if package in FOUNDATION else FOUNDATION)


def target_of(imported):
    """Return the package that defines an imported name."""
    return "a relative import" if imported.relative else package_of("/".join(imported.parts))


def trees(root):
    """Yield (module, its package, its syntax tree) for every file."""
    for module, path in files(root).items():
        yield module, package_of(module), ast.parse(path.read_text(encoding="utf-8"))


def wrong_imports(root):
    for module, package, tree in trees(root):
        if package not in MAY_IMPORT:
            yield f"{module}.py: {package} has no row in MAY_IMPORT"
            continue
        for imported in imports(tree):
            target = target_of(imported)
            public = imported.typing and module.split("/")[-1] == "__init__"  # the public names of a package
            if target not in allowed(package) and not public:
                yield f"{module}.py:{imported.line}: {package} may not import {target}"
            elif not (imported.typing or imported.lazy or package in LEAVES) and target in LEAVES:
                yield f"{module}.py:{imported.line}: import {target} inside a function"


def import_cycles(root):
    """Report cycles between modules and between packages. Imports inside functions count."""
    graph = module_graph(root)
    for cycle in (*cycles(graph), *cycles(package_graph(graph))):
        yield f"cycle of imports: {' '.join(cycle)}"


def long_files(root):
    for module, path in files(root).items():
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > LONGEST_FILE:
            yield f"{module}.py has {lines} lines"


def vague_names(root):
    for path in sorted(root.rglob("*")):
        if path.stem in VAGUE:
            yield f"{path.relative_to(root)} does not say what it contains"


def folders_without_docstring(root):
    for folder in sorted({path.parent for path in root.rglob("*.py")}):
        start = folder / "__init__.py"
        if not start.is_file() or not ast.get_docstring(ast.parse(start.read_text(encoding="utf-8"))):
            yield f"{folder.relative_to(root)} has no __init__.py with a docstring"


OUTSIDE = {"check.py", "nim.py", "right_shift_logits", "x3"}
"""Names in backquotes that are not ours: files that users have or get, a function of another project, an example."""


def stale_names(root):
    """Report names in backquotes, in docstrings and comments, that occur nowhere in the code, such as old names."""
    names, texts = set(OUTSIDE), []
    for module, path in files(root).items():
        names |= {*module.split("/"), path.name}
        before = tokenize.NEWLINE
        for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
            is_docstring = token.type == tokenize.STRING and before in (tokenize.NEWLINE, tokenize.INDENT)
            if token.type == tokenize.COMMENT or is_docstring:
                texts.append((module, token.start[0], token.string))
            elif token.type in (tokenize.NAME, tokenize.STRING):
                names |= set(re.findall(r"[\w-]+", token.string))
            if token.type not in (tokenize.NL, tokenize.COMMENT):
                before = token.type
    for module, line, text in texts:
        for name in re.findall(r"`([a-z_]\w*(?:\.py)?)`", text):
            if name not in names and not keyword.iskeyword(name):
                yield f"{module}.py:{line}: {name} does not exist"


def floats(root):
    """Report float literals, float(…), f(float) and the float types of NumPy. Annotations are allowed, for seconds."""
    for module, package, tree in trees(root):
        if package in MAY_CONTAIN_FLOATS:
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


CHECKS = [wrong_imports, import_cycles, long_files, vague_names, stale_names, floats]


@pytest.mark.parametrize("check", [*CHECKS, folders_without_docstring], ids=lambda check: check.__name__)
def test_the_source_follows_the_rules(check):
    assert list(check(SOURCE)) == []


def test_the_table_names_packages_that_exist():
    packages = {package_of(module) for module in files()}
    assert packages >= {"numerics", "weights", "engines", "reasoners", "verification", "cli", "api"}
    assert {name for row in MAY_IMPORT.values() for name in row.split()} <= set(MAY_IMPORT)


def test_the_table_has_no_cycle():
    order = [name for level in levels({name: allowed(name) - {name} for name in MAY_IMPORT}) for name in level]
    assert order.index("numerics") < order.index("weights") < order.index("engines") < order.index("reasoners")


VIOLATIONS = [
    ("numerics/x.py", "from unmask.weights.matrices import Matrix", wrong_imports, "numerics may not import weights"),
    ("weights/x.py", "import unmask.engines.reference", wrong_imports, "weights may not import engines"),
    ("traces/x.py", "from unmask import reasoners", wrong_imports, "traces may not import reasoners"),
    ("engines/x.py", "def f():\n    from unmask.cli.commands import main", wrong_imports, "engines may not import cli"),
    ("reasoners/x.py", "from ..weights import model", wrong_imports, "may not import a relative import"),
    ("weights/x.py", "from unmask import Model", wrong_imports, "weights may not import Model"),
    ("cli/x.py", "from unmask.lab.train import train", wrong_imports, "import lab inside a function"),
    ("verification/x.py", "import unmask.viewer", wrong_imports, "verification may not import viewer"),
    ("verification/words/x.py", "import unmask.theorems.x", wrong_imports, "verification may not import theorems"),
    ("__init__.py", "import unmask.viewer.html_page", wrong_imports, "import viewer inside a function"),
    ("traces/x.py", "def f():\n    import unmask.viewer.html_page", wrong_imports, "traces may not import viewer"),
    ("viewer/x.py", "def f():\n    from unmask.lab import train", wrong_imports, "viewer may not import lab"),
    ("checker/x.py", "from unmask.reasoners import run", wrong_imports, "checker may not import reasoners"),
    ("problems/x.py", "import unmask.weights.model", wrong_imports, "problems may not import weights"),
    (
        "weights/x.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from unmask.traces.trace import Trace",
        wrong_imports,
        "weights may not import traces",
    ),
    ("frameworks/x.py", "", wrong_imports, "frameworks has no row"),
    ("weights/long.py", "x = 1\n" * 601, long_files, "weights/long.py has 601 lines"),
    ("weights/utils.py", "", vague_names, "weights/utils.py does not say"),
    ("weights/helpers/x.py", "", vague_names, "weights/helpers does not say"),
    ("weights/x.py", "", folders_without_docstring, "weights has no __init__.py"),
    ("weights/__init__.py", "x = 1", folders_without_docstring, "weights has no __init__.py with a docstring"),
    ("weights/x.py", '"""See `reading.py`."""', stale_names, "weights/x.py:1: reading.py does not exist"),
    ("weights/x.py", "x = 1  # as in `reading`", stale_names, "weights/x.py:1: reading does not exist"),
    ("numerics/x.py", "half = 0.5", floats, "the literal 0.5"),
    ("numerics/x.py", "x = 1e3", floats, "the literal 1000.0"),
    ("engines/x.py", "x = float(3)", floats, "x.py:1: float"),
    ("engines/x.py", "x = y.astype(dtype=float)", floats, "float in a call"),
    ("engines/x.py", "import numpy as np\nx = np.zeros(3, dtype=np.float64)", floats, "float64"),
]


def write(root, file, text):
    (root / file).parent.mkdir(parents=True, exist_ok=True)
    (root / file).write_text(text)


@pytest.mark.parametrize(
    ("file", "text", "check", "message"), VIOLATIONS, ids=lambda v: v[:30] if isinstance(v, str) else v.__name__
)
def test_a_violation_is_reported(tmp_path, file, text, check, message):
    write(tmp_path, file, text)
    violations = list(check(tmp_path))
    assert any(message in line for line in violations), violations


CYCLES = [
    ({"weights/x.py": "import unmask.weights.y", "weights/y.py": "import unmask.weights.x"}, "weights/x weights/y"),
    (
        {"weights/x.py": "import unmask.weights.y", "weights/y.py": "def f():\n    from unmask.weights.x import z"},
        "weights/x weights/y",
    ),
    (  # no two modules import each other, but two packages do
        {
            "engines/x.py": "import unmask.weights.x",
            "weights/y.py": "import unmask.engines.y",
            "engines/y.py": "",
            "weights/x.py": "",
        },
        "engines weights",
    ),
]


@pytest.mark.parametrize(("written", "message"), CYCLES, ids=["modules", "in a function", "packages"])
def test_a_cycle_is_reported(tmp_path, written, message):
    for file, text in written.items():
        write(tmp_path, file, text)
    assert list(import_cycles(tmp_path)) == [f"cycle of imports: {message}"]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("weights/x.py", "from unmask.numerics.arithmetic import Precision\nfrom unmask.weights.model import Model"),
        ("cli/view.py", "def view():\n    from unmask.viewer.html_page import render"),
        ("__init__.py", "def framed():\n    from unmask.viewer.html_page import framed"),
        ("verification/conversions/x.py", "from unmask.theorems.x import y"),
        ("engines/x.py", "from unmask.errors import UnmaskError\nfrom unmask.lazy_names import lazily"),
        ("lab/tasks/x.py", "rate = 0.5\nimport unmask.problems.regular_problems"),
        ("numerics/x.py", '"""0.5 in words."""\nimport numpy as np\nhalf = "0.5"'),
    ],
)
def test_an_allowed_file_is_not_reported(tmp_path, file, text):
    write(tmp_path, file, text)
    assert [line for check in CHECKS for line in check(tmp_path)] == []


def test_the_public_interface_is_small():
    import unmask

    assert unmask.__all__ == sorted(unmask.__all__)
    assert len(unmask.__all__) <= 17
    assert all(hasattr(unmask, name) for name in unmask.__all__)
