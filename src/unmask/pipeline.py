"""The whole story, one call per arrow.

Problem ──compile_problem──▶ Model ──run_word──▶ Trace                (`running.py`)
             save_model ─▶ folder ─▶ load_model                       (`weights/storage.py`)
                            Model ──convert_model──▶ Model
                            Model ──verify_model──▶ Verdict
Problem ──prove_family──▶ Verdict
Theorem ──prove_conversion──▶ Verdict
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from unmask.engines.engine import Engine
from unmask.engines.fast import FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.errors import UnmaskError
from unmask.named_problem import compile_again, problem_accepts, problem_name, problem_states
from unmask.problems.catalogue import parse_problem
from unmask.problems.program_problems import program_problem
from unmask.reasoners.run_words import words_at_once
from unmask.running import Decided, decide_words, generate, run_both, run_word, run_words, tape_of
from unmask.traces.trace import outputs_of, result
from unmask.verification.compare import Row, measure
from unmask.verification.question.standard import answer_count, output_count, with_stated_outputs
from unmask.weights.kinds import Kind
from unmask.weights.model import Model
from unmask.weights.storage import check_replaceable
from unmask.weights.storage import load as load_model
from unmask.weights.storage import save as save_model

if TYPE_CHECKING:  # compilers, theorems and proofs are imported by what uses them: running a model needs none of them
    from unmask.compilers.compiler import Compiler
    from unmask.recurrences.system import System
    from unmask.theorems.theorem import Conversion, Theorem
    from unmask.verification.question.verdict import Verdict
    from unmask.verification.verify import Against, Progress

__all__ = [
    "ENGINES",
    "Decided",
    "answer_count",
    "check_replaceable",
    "compare_frameworks",
    "compile_again",
    "compile_problem",
    "compile_program",
    "compiler_of",
    "convert_model",
    "decide_words",
    "generate",
    "load_model",
    "output_count",
    "outputs_of",
    "problem_accepts",
    "problem_name",
    "problem_states",
    "prove_conversion",
    "prove_family",
    "result",
    "run_both",
    "run_word",
    "run_words",
    "sample_law",
    "save_model",
    "tape_of",
    "verify_model",
    "words_at_once",
]

ENGINES: dict[str, type[Engine]] = {"fast": FastEngine, "reference": ReferenceEngine}

problem_of = lru_cache(maxsize=16)(parse_problem)


@lru_cache(maxsize=16)
def compiler_of(problem: str, hops: int = 1) -> "Compiler":
    """The compiler of a PROBLEM string, whose models compute so many levels of a product tree in one pass."""
    from unmask.compilers.compiler import compiler_for, compiler_with_hops

    parsed = problem_of(problem)
    if hops == 1:
        return compiler_for(parsed)
    return compiler_with_hops(parsed, compiler_of(problem), hops)


def compile_problem(problem: str, kind: Kind, *, length: int | None = None, precision: int = 2, hops: int = 1) -> Model:
    """PROBLEM → Model, for words of one length; a circuit or an expression implies it.

    `hops` is the number of levels of the product tree that one pass computes, for regular languages. `coins:PROBLEM`
    replaces the inputs of a circuit by coins; the model then samples the outputs (`generate`).

    Examples:
        >>> compile_problem("(a|b)*abb", "mdm", length=9)
        Model(mdm, N = 9, P = 8, T = 4, F_2, regex:(a|b)*abb)
    """
    from unmask.compilers.compiler import compiled

    if problem.startswith("coins:"):
        from unmask.compilers.sampling_models import compile_coins

        circuit = problem.removeprefix("coins:")
        source = None if circuit == "even-parity" else problem_of(circuit)
        return compile_coins(source, kind, length=length, precision=precision)
    return compiled(problem_of(problem), compiler_of(problem, hops), problem, kind, length, precision)


def compile_program(system: "System", kind: Kind, *, length: int, precision: int = 2) -> Model:
    """System of recurrences → Model, for words of one length: the user's own program.

    Examples:
        >>> from unmask.recurrences import BOOLEAN, N, Slots, System, indices, letter
        >>> i, = indices("i")
        >>> odd = Slots("odd", i.range(N), BOOLEAN)
        >>> odd.rule((odd[i - 1].or_else(False), letter(i)), lambda before, x: before != (x == "b"))
        >>> parity = System("ab", odd, answer=odd[N - 1], name="parity")
        >>> compile_program(parity, "mdm", length=5)
        Model(mdm, N = 5, P = 5, T = 5, F_2, program:parity)
    """
    from unmask.compilers.compiler import compiled, compiler_for

    problem = program_problem(system)
    return compiled(problem, compiler_for(problem), problem.name, kind, length, precision)


def convert_model(model: Model, kind: Kind, *, by: str | None = None) -> Iterator["tuple[Theorem, Conversion]"]:
    """Model → Model of another kind, by one theorem or the shortest chain; every hop as it is made.

    Examples:
        >>> for theorem, made in convert_model(compile_problem("(a|b)*abb", "mdm", length=9), "plt"):
        ...     print(theorem.label, made.model)
        thm:lts-can-simulate-mdms Model(plt, N = 9, P = 8, T = 4, F_2, regex:(a|b)*abb → mdm_to_plt)
    """
    from unmask.theorems.catalogue import convert

    return convert(with_stated_outputs(model), kind, by=by)


def compare_frameworks(
    problem: str,
    lengths: Sequence[int] | None = None,
    *,
    precision: int = 2,
    hops: int = 1,
    engine: Engine | None = None,
) -> Iterator[Row]:
    """Every framework at every length: measured resources beside the bounds, one row at a time.

    Examples:
        >>> {row.framework: row.steps for row in compare_frameworks("(a|b)*abb", [64])}
        {'mdm': 6, 'smdm': 6, 'topk': 6, 'plt': 6, 'pcot': 6, 'cot': 64}
    """
    compiler = compiler_of(problem, hops)
    for length in lengths or () if compiler.length is None else [compiler.length]:
        for kind in compiler.kinds:
            model = compile_problem(problem, kind, length=length, precision=precision, hops=hops)
            bound, extent = compiler.bound(kind, length), compiler.extent(kind, length)
            yield measure(model, bound, extent, problem_of(problem), engine or FastEngine())


def verify_model(
    model: Model,
    *,
    against: "Against" = None,
    method: str | None = None,
    cases: int = 1000,
    seed: int = 0,
    engine: Engine | None = None,
    certified: bool = False,
    by: str | None = None,
    letters: str | None = None,
    progress: "Progress | None" = None,
) -> "Verdict":
    """Compare a model with its problem (as its folder names it), another problem, a function, or another model.

    `exhaustive` runs every word of the model's length, `sample` some; by default all where they are few. `prove`
    decides for all words at once, from the weights; `certified` keeps a certificate of it, `by` ("induction" or
    "sat") allows one way alone. Where another problem has other letters than the model, the two are not comparable:
    `letters` ("common", "model" or "problem") chooses over which letters words are compared.

    A function takes a word and returns True or False, or a list of all outputs. `progress` is given the words and how
    many there are, and passes them on.

    Examples:
        >>> model = compile_problem("(a|b)*abb", "mdm", length=64)
        >>> verify_model(model, method="prove").status
        'proved'
        >>> verify_model(model, method="prove", against="(a|b)*ab").counterexample[-5:]
        'aaaab'
        >>> parity = compile_problem("family:parity", "mdm", length=6)
        >>> verify_model(parity, method="prove", against=lambda word: word.count("1") % 2 == 1).status
        'proved'
    """
    from unmask.verification.verify import verify

    return verify(
        model,
        against=against,
        method=method,
        cases=cases,
        seed=seed,
        engine=engine or FastEngine(),
        certified=certified,
        by=by,
        letters=letters,
        progress=progress,
    )


def prove_family(
    problem: str, kind: Kind, *, precision: int = 2, lengths: Sequence[int] = (), engine: Engine | None = None
) -> "Verdict":
    """Does the model that `compile` writes decide the problem, for every N at once?

    For `lengths` the folder is also compared with the family, entry by entry. Needs the extra `prove`.

    Examples:
        >>> prove_family("(a|b)*abb", "cot").status
        'proved'
    """
    from unmask.verification.lengths.prove_lengths import every_length

    return every_length(problem_of(problem), compiler_of(problem), kind, precision, engine or FastEngine(), lengths)


def prove_conversion(
    stem: str,
    kind: Kind | None = None,
    *,
    like: Path | Model | None = None,
    precision: int = 2,
    lengths: Sequence[int] = (),
    engine: Engine | None = None,
) -> "Verdict":
    """Does what a theorem converts do what its source does, for every source of a shape and every N at once?

    The shape is that of the model `like`, or a small one; `kind`, if given, must be that of the theorem. For `lengths`
    the conversion of a random source is also compared, entry by entry. Needs the extra `prove`.

    Examples:
        >>> prove_conversion("cot_to_pcot").status
        'proved'
    """
    from unmask.verification.conversions.prove import every_source

    shaped = load_model(like) if isinstance(like, Path) else like
    return every_source(stem, precision, engine or FastEngine(), to=kind, like=shaped, lengths=lengths)


def sample_law(model: Model, *, engine: Engine | None = None) -> dict[str, Fraction]:
    """The exact probability of every sample of a model that reads no input (mdm or smdm).

    A sample is the symbols of the output slots: the last `outputs` ones if the model says how many, else all.

    Examples:
        >>> law = sample_law(compile_problem("coins:even-parity", "mdm", length=3))
        >>> sorted(law), sum(law.values())
        (['000', '011', '101', '110'], Fraction(1, 1))
    """
    from unmask.reasoners.sampled_law import sampled_law
    from unmask.reasoners.typed_words import written

    if model.length:
        raise UnmaskError(f"the law of samples is that of a model without input; this one reads {model.length} letters")
    law: dict[str, Fraction] = {}
    for tokens, chance in sampled_law(model, engine=engine or ENGINES["fast"]()).items():
        kept = tokens[-model.outputs :] if model.outputs else tokens
        text = written(model, [model.aliases.get(model.vocabulary[t], model.vocabulary[t]) for t in kept])
        law[text] = law.get(text, Fraction(0)) + chance
    return law
