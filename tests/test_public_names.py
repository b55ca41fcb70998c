"""The names of `unmask`: each has an example that runs, with nothing but these names."""

import doctest
import importlib.util
import inspect
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import pytest

import unmask

FINDER = doctest.DocTestParser()
PAGE = Path(__file__).parents[1] / "docs" / "reference" / "api.md"


def failures(text, name="example"):
    """Return the wrong outputs of the examples in a text; None if it has no example."""
    names = {public: getattr(unmask, public) for public in unmask.__all__}
    test = FINDER.get_doctest(inspect.cleandoc(text), names, name, None, None)
    messages = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    runner.run(test, out=messages.append)
    return "".join(messages) if test.examples else None


@pytest.mark.parametrize("name", unmask.__all__)
def test_examples_of_public_names_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert failures(getattr(unmask, name).__doc__, name) == ""


def test_a_wrong_example_is_caught():
    assert "Expected" in failures('>>> compile_problem("(a|b)*abb", "mdm", length=9).steps\n5')
    assert "NameError" in failures(">>> Precision(2)\n2")
    assert failures("no example at all") is None


def test_the_reference_lists_these_names_and_no_others():
    listed = [line.removeprefix("::: unmask.") for line in PAGE.read_text("utf-8").splitlines() if line[:4] == "::: "]
    assert sorted(name for name in listed if "." not in name) == unmask.__all__


def short_signature(name, function):
    """Return name, parameters and defaults, without annotations."""
    parameters = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parameters:
            parameters.append("*")
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
        stars = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
        parameters.append(f"{stars}{parameter.name}{default}")
    return f"{name}({', '.join(parameters)})"


def test_the_reference_has_the_signature_of_every_function():
    functions = [(name, public) for name in unmask.__all__ if inspect.isfunction(public := getattr(unmask, name))]
    page = PAGE.read_text("utf-8")
    assert [short for function in functions if f"| `{(short := short_signature(*function))}` |" not in page] == []


def test_help_of_the_package_is_an_overview():
    text = pydoc.plain(pydoc.render_doc(unmask))
    assert failures(unmask.__doc__, "unmask") == ""
    for name in unmask.__all__:
        assert name in unmask.__doc__, name
    assert "unmask.samplers" in text


def test_importing_the_package_is_light():
    code = "import sys, unmask, unmask.samplers, unmask.lab; print([m for m in ('numpy', 'torch') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


EVIDENCE = (
    "checker",
    "paper",
    "testing",
    "theorems",
    "verification.circuits",
    "verification.conversions",
    "verification.lengths",
)


def test_compiling_imports_no_evidence():
    """Proofs, checks of the paper and conversions are outside of what `import unmask` and `compile` load."""
    code = (
        "import sys, unmask\n"
        "for problem in ('(a|b)*abb', 'group:S3', 'family:parity', 'expr:a+b'):\n"
        "    unmask.compile_problem(problem, 'mdm', length=None if problem.startswith('expr') else 4)\n"
        f"names = {EVIDENCE!r}\n"
        "print([m for m in sys.modules if m.startswith(tuple('unmask.' + name for name in names))])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"


# ------------------------------------------------------------------------------------------------- packages

PACKAGES = [
    "unmask.engines",
    "unmask.lab",
    "unmask.numerics",
    "unmask.problems",
    "unmask.programs",
    "unmask.recurrences",
    "unmask.samplers",
    "unmask.verification",
    "unmask.viewer",
    "unmask.weights",
]


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_of_packages_exist_and_are_listed(package):
    module = importlib.import_module(package)
    assert set(module.__all__) <= set(dir(module))
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("|") and f"`{package}`" in line]
    assert len(rows) == 1
    if package == "unmask.lab" and importlib.util.find_spec("torch") is None:
        return
    for name in module.__all__:
        getattr(module, name)
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        _ = module.nothing


DEEP = re.compile(r"(?:from|import) unmask\.[a-z_]+\.[a-z_.]+")
SHOWN = ("README.md", "CONTRIBUTING.md", "docs/**/*.md", "examples/**/*.py", "examples/**/*.ipynb")


def deep_imports(root):
    """Yield imports from deeper than `unmask.<package>`, by file and line."""
    files = [file for pattern in SHOWN for file in sorted(root.glob(pattern))]
    for file in files:
        for number, line in enumerate(file.read_text("utf-8").splitlines(), start=1):
            if DEEP.search(line):
                yield f"{file.relative_to(root)}:{number}: {line.strip()}"


def test_pages_examples_and_notebooks_import_public_names_alone():
    assert list(deep_imports(PAGE.parents[2])) == []


def test_a_deep_import_is_found(tmp_path):
    (tmp_path / "README.md").write_text("```python\nfrom unmask.samplers.problem_subject import Subject\n```\n")
    (tmp_path / "docs" / "how-to").mkdir(parents=True)
    (tmp_path / "docs" / "how-to" / "x.md").write_text(
        "import unmask.weights.model\nfrom unmask.samplers import sample\n"
    )
    assert len(list(deep_imports(tmp_path))) == 2


def test_types_are_shipped():
    assert (Path(unmask.__file__).parent / "py.typed").is_file()
    for name in unmask.__all__:
        if inspect.isfunction(public := getattr(unmask, name)):
            assert set(public.__annotations__) == {*inspect.signature(public).parameters, "return"}, name
