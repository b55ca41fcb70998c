"""The names of `unmask`: each has an example that runs, with nothing but these names."""

import doctest
import inspect
from pathlib import Path

import pytest

import unmask

FINDER = doctest.DocTestParser()
PAGE = Path(__file__).parents[1] / "docs" / "reference" / "api.md"


def failures(text, name="example"):
    """What the examples of a text print instead of what it shows; None if it has no example."""
    names = {public: getattr(unmask, public) for public in unmask.__all__}
    test = FINDER.get_doctest(inspect.cleandoc(text), names, name, None, None)
    said = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
    runner.run(test, out=said.append)
    return "".join(said) if test.examples else None


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


def test_types_are_shipped():
    assert (Path(unmask.__file__).parent / "py.typed").is_file()
    for name in unmask.__all__:
        if inspect.isfunction(public := getattr(unmask, name)):
            assert set(public.__annotations__) == {*inspect.signature(public).parameters, "return"}, name
