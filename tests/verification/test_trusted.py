"""A proof trusts the modules that the prover imports: the declared list is compared with the code."""

from architecture import ROOT, computed_trust
from import_graph import closure, files, module_graph
from trusted_modules import PROVERS, TRUSTED


def test_the_list_is_what_the_prover_imports():
    assert computed_trust() == TRUSTED


def test_provers_are_those_that_prove():
    """Whatever calls `prove` comes in through these."""
    assert all((ROOT / "src" / "unmask" / f"{prover}.py").is_file() for prover in PROVERS)
    trusted = closure(module_graph(), PROVERS)
    not_proving = {"verification/words/__init__", "verification/words/function_reference"}
    assert {module for module in files() if module.startswith("verification/words/")} - not_proving <= trusted


def test_no_engine_no_compiler_and_no_page_is_trusted():
    """A model may come from anywhere and be run by anything: its proof does not care."""
    untrusted = (
        "engines/fast",
        "engines/reference",
        "engines/engine",
        "reasoners/run_words",
        "traces/",
        "programs/",
        "theorems/",
        "viewer/",
        "playground/",
        "paper/",
    )
    assert [module for module in closure(module_graph(), PROVERS) if module.startswith(untrusted)] == []


def test_an_import_inside_a_function_is_trusted_too(tmp_path):
    (tmp_path / "prover.py").write_text("def prove():\n    from unmask.luck import guess\n")
    (tmp_path / "luck.py").write_text("import unmask.dice\n")
    (tmp_path / "dice.py").write_text("")
    (tmp_path / "weather.py").write_text("import unmask.prover\n")
    assert closure(module_graph(tmp_path), ["prover"]) == {"prover", "luck", "dice"}
