"""Every compiler and every conversion is as uniform as claimed; exceptions are caught."""

from copy import copy
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest

from unmask import compilers
from unmask.expressions import N, constant, n
from unmask.numerics.arithmetic import Precision
from unmask.paper.lemmas import uniform_models
from unmask.paper.lemmas.uniform_models import (
    SOURCES,
    NotUniform,
    checked_results,
    compiler_result,
    entries_compared,
    require_expected_status,
    theorem_result,
    uniformity_table,
)
from unmask.programs.assembly import assemble, recorded_programs
from unmask.programs.declarations import Flag, TableBits
from unmask.programs.program import Program
from unmask.theorems.all_theorems import THEOREMS, TRANSFORMER_THEOREMS, VARIANTS
from unmask.weights.matrices import Matrix

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def results():
    return checked_results()


def test_everything_is_what_is_claimed_of_it(results):
    names = {result.name for result in results}
    assert {t.stem for t in (*THEOREMS, *VARIANTS, *TRANSFORMER_THEOREMS)} <= names
    assert {f"{s.name} → {kind}" for s in SOURCES for kind in s.kinds or s.compiler().kinds} <= names


def test_every_compiler_is_checked():
    """All except the random one, which is not a family."""
    modules = [import_module(f"unmask.compilers.{m.name}") for m in iter_modules(compilers.__path__)]
    classes = {
        name
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, type) and name.endswith("Compiler") and name != "Compiler"
    }
    assert {type(source.compiler()).__name__ for source in SOURCES} == classes - {"RandomCompiler"}


def test_what_cannot_be_claimed_says_so(results):
    sentences = {result.name: result.description for result in results}
    assert sentences["a circuit of a file → mdm"].startswith("not uniform: given as a table")
    assert "which is not shown here" in sentences["family:addition → plt"]
    for family in ("parity", "contains-aba", "addition"):
        assert sentences[f"family:{family} → mdm"].startswith("uniform:")
    assert sentences["mdm_to_plt"].startswith("uniform if its source is")
    assert sentences["group:S3 → mdm"].startswith("uniform:")


def test_weights_are_compared_where_one_program_is_that_of_every_length(results):
    weights = {result.name: result.weights for result in results}
    for name in ("group:S3 → cot", "family:addition → smdm", "family:formula → mdm", "program: a common walk → topk"):
        assert weights[name].startswith("one program for every N: ")
    for name in ("all maps of 5 states → mdm", "family:reachability → mdm", "program: palindromes → mdm", "mdm_to_plt"):
        assert weights[name] == "not checked"


def test_a_weight_that_is_not_the_family_s_is_caught(monkeypatch):
    source, compiler = _first_source()
    compile_ = type(compiler).compile

    def tampered(self, kind, length, precision):
        model = compile_(self, kind, length, precision)
        chain = model.transformers["model"]
        out = Matrix.of(chain.out.dense() // (1 + (length == 16)))
        return replace(model, transformers={"model": replace(chain, out=out)})

    monkeypatch.setattr(type(compiler), "compile", tampered)
    with pytest.raises(NotUniform, match="expected: one program for every N"):
        compiler_result(source, compiler, "cot")


def test_a_code_whose_bits_are_no_formula_is_caught():
    compiler = _first_source()[1]
    family = compiler.family("cot")
    (program,) = family.design.programs.values()
    power = 2**N
    changed = copy(program)
    changed.codes = dict.fromkeys(program.codes, power)
    broken = replace(family, design=replace(family.design, programs={"model": changed}))
    with pytest.raises(NotUniform, match=r"2\^\(N\) is not a formula"):
        entries_compared("abb", broken, [compiler.compile("cot", 5, Precision(2))])


def test_formulas_are_the_same_for_all_lengths_but_where_the_page_says_so(results):
    changing = {result.name: result.growth.changing for result in results if result.growth.changing}
    assert changing == {"pcot_to_mdm": ("for nobody",), "causal_to_unmasked": ("for nobody",)}


def test_the_page_is_generated(results):
    assert uniformity_table(results) in (ROOT / "docs" / "background" / "uniformity-table.md").read_text(
        encoding="utf-8"
    )


def _first_source():
    return SOURCES[0], SOURCES[0].compiler()


def _tampered(monkeypatch, declaration_of):
    """Every assembled program declares one more register."""
    original = uniform_models.recorded_programs

    class Recorded:
        def __enter__(self):
            self.inner = original()
            self.programs = self.inner.__enter__()
            return self.programs

        def __exit__(self, *error):
            for program in self.programs:
                program.register("added", 4, declaration_of(program))
            return self.inner.__exit__(*error)

    monkeypatch.setattr(uniform_models, "recorded_programs", Recorded)


def test_a_compiler_with_a_table_is_caught(monkeypatch):
    _tampered(monkeypatch, lambda program: TableBits(np.arange(program.rows), n))
    source, compiler = _first_source()
    with pytest.raises(NotUniform, match=r"abb → mdm: not uniform: given as a table; expected: uniform"):
        require_expected_status(compiler_result(source, compiler, "mdm"))


def test_a_compiler_with_an_exponential_number_is_caught(monkeypatch):
    _tampered(monkeypatch, lambda program: Flag(n < constant(2 ** (program.length // 3))))
    source, compiler = _first_source()
    with pytest.raises(NotUniform, match=r"not O\(log N\)"):
        require_expected_status(compiler_result(source, compiler, "mdm"))


def test_a_compiler_with_a_power_is_caught(monkeypatch):
    power = 2**n
    _tampered(monkeypatch, lambda program: Flag(power))  # noqa: ARG005
    source, compiler = _first_source()
    with pytest.raises(NotUniform, match=r"2\^\(n\) is not a formula"):
        require_expected_status(compiler_result(source, compiler, "cot"))


def test_a_conversion_with_a_table_of_its_own_is_caught(monkeypatch):
    _tampered(monkeypatch, lambda program: TableBits(np.arange(program.rows), n))
    with pytest.raises(NotUniform, match="mdm_to_plt: not uniform: given as a table"):
        require_expected_status(theorem_result(next(t for t in THEOREMS if t.stem == "mdm_to_plt")))


def test_programs_are_recorded_inside_the_block_alone():
    program = Program(("a",), 1, 1, 1)
    with recorded_programs() as programs:
        assemble(program, Precision(1))
    assemble(program, Precision(1))
    assert programs == [program]
