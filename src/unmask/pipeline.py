"""The whole story, one call per arrow.

Problem ──compile_problem──▶ Model ──run_word──▶ Trace
             save_model ─▶ folder ─▶ load_model
                            Model ──verify_model──▶ Verdict
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from unmask.engines.engine import Engine, Watch
from unmask.engines.fast import FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.errors import ProblemError, UnmaskError
from unmask.numerics.precision import Precision
from unmask.problems.problem import Problem, parse_problem, problem_from_json
from unmask.reasoners.planners import parse_planner
from unmask.reasoners.run import ROWS_AT_ONCE, run, run_batch
from unmask.reasoners.tape import Tape
from unmask.reasoners.words import read_word
from unmask.traces.compare import first_difference
from unmask.traces.trace import Trace
from unmask.verification.cases import (
    MOST_WORDS,
    check_words,
    every_word,
    letters_of,
    sampled_expressions,
    sampled_words,
    word_count,
)
from unmask.verification.compare import WORDS, Bound, Row, measure
from unmask.verification.oracles import oracle_of, what_is_right
from unmask.verification.outputs import compared_outputs, output_count
from unmask.verification.verdict import Verdict
from unmask.weights.model import KINDS, Kind, Model
from unmask.weights.storage import check_replaceable
from unmask.weights.storage import load as load_model
from unmask.weights.storage import save as save_model

if TYPE_CHECKING:  # the compilers and the theorems are imported by what uses them: running a model needs neither
    from unmask.programs.compiler import Compiler
    from unmask.theorems.theorem import Conversion, Theorem

__all__ = [
    "ENGINES",
    "check_replaceable",
    "compare_frameworks",
    "compile_problem",
    "convert_model",
    "generate",
    "load_model",
    "output_count",
    "result",
    "run_both",
    "run_word",
    "save_model",
    "verify_model",
]

ENGINES: dict[str, type[Engine]] = {"fast": FastEngine, "reference": ReferenceEngine}
METHODS = ("exhaustive", "sample", "prove")


def compile_problem(problem: str, kind: Kind, *, length: int | None = None, precision: int = 2) -> Model:
    """PROBLEM → Model, for words of one length; a circuit or an expression implies it.

    Examples:
        >>> compile_problem("(a|b)*abb", "mdm", length=9)
        Model(mdm, N = 9, P = 8, T = 4, F_2, regex:(a|b)*abb)
    """
    if kind not in KINDS:
        raise ProblemError(f"there is no kind {kind!r}; use one of {', '.join(KINDS)}")
    if length is not None and length < 0:
        raise ProblemError(f"the length must be 0 or more, not {length}")
    if not 1 <= precision <= 8:
        raise ProblemError(f"the precision must lie in 1 … 8, not {precision}")
    prefix, _, rest = problem.partition(":")
    if prefix == "random":
        return _random(problem, rest, kind, _given(length, problem), precision)
    compiler = compiler_of(problem)
    length = _given(length if length is not None else compiler.length, problem)
    model = compiler.compile(kind, length, Precision(precision))
    name = parse_problem(problem).name  # without the path of a file
    return replace(model, provenance=[{"compiled": name, "to": kind, "layout": compiler.layout_of(kind, length)}])


def compile_again(model: Model, kind: Kind) -> Model:
    """The problem that a folder names, compiled into another kind for the same words; a comment, so not a proof."""
    from unmask.programs.compiler import compiler_for

    compiler = compiler_for(problem_from_json(model.problem))
    if kind not in compiler.kinds:
        raise ProblemError(f"{problem_name(model)} is compiled into {', '.join(compiler.kinds)}, and not into {kind}")
    return compiler.compile(kind, model.length, model.precision)


def problem_name(model: Model) -> str | None:
    """The problem that a folder names, as a person writes it."""
    try:
        return problem_from_json(model.problem).name
    except ProblemError:
        return None


@lru_cache(maxsize=16)
def compiler_of(problem: str) -> "Compiler":
    """The compiler of a PROBLEM string."""
    from unmask.programs.compiler import compiler_for

    return compiler_for(parse_problem(problem))


def compare_frameworks(
    problem: str, lengths: Sequence[int] | None = None, *, precision: int = 2, engine: Engine | None = None
) -> Iterator[Row]:
    """Every framework at every length: measured resources beside the bounds, one row at a time.

    Examples:
        >>> {row.framework: row.steps for row in compare_frameworks("(a|b)*abb", [64])}
        {'mdm': 6, 'smdm': 6, 'topk': 6, 'plt': 6, 'pcot': 6, 'cot': 64}
    """
    compiler, oracle = compiler_of(problem), oracle_of(parse_problem(problem))
    if compiler.length is not None:
        lengths = [compiler.length]
    for length in lengths or ():

        def words(rng: random.Random, length: int = length) -> Iterator[str]:
            return islice(compiler.words(length, rng), WORDS)

        for kind in compiler.kinds:
            model = compile_problem(problem, kind, length=length, precision=precision)
            yield measure(model, Bound(*compiler.bound(kind, length)), words, oracle, engine or FastEngine())


def _given(length: int | None, problem: str) -> int:
    if length is None:
        raise ProblemError(f"{problem} has words of any length; say which with --length N")
    return length


def convert_model(model: Model, kind: Kind, *, by: str | None = None) -> Iterator["tuple[Theorem, Conversion]"]:
    """Model → Model of another kind, by one theorem or the shortest chain; every hop as it is made.

    Examples:
        >>> for theorem, made in convert_model(compile_problem("(a|b)*abb", "mdm", length=9), "plt"):
        ...     print(theorem.label, made.model)
        thm:lts-can-simulate-mdms Model(plt, N = 9, P = 8, T = 4, F_2, regex:(a|b)*abb → mdm_to_plt)
    """
    from unmask.theorems.route import convert

    return convert(model, kind, by=by)


def verify_model(
    model: Model,
    *,
    against: str | Model | None = None,
    method: str | None = None,
    cases: int = 1000,
    seed: int = 0,
    engine: Engine | None = None,
    certified: bool = False,
    progress: Callable[[Iterator[str], int], Iterator[str]] | None = None,
) -> Verdict:
    """Compare a model with its problem (as its folder names it), another problem, or another model.

    `exhaustive` runs every word of the model's length, `sample` some; by default all where they are few. `prove`
    decides for all words at once, from the weights; `certified` keeps a certificate of it. `progress` is given the
    words and how many there are, and passes them on.

    Examples:
        >>> model = compile_problem("(a|b)*abb", "mdm", length=64)
        >>> verify_model(model, method="prove").status
        'proved'
        >>> verify_model(model, method="prove", against="(a|b)*ab").counterexample[-5:]
        'aaaab'
    """
    engine = engine or FastEngine()
    compared = against if isinstance(against, Model) else _problem(model, against)
    outputs = compared_outputs(model, compared)
    oracle, automaton, expression = what_is_right(model, compared, engine, outputs)
    # one character may stand for others only if neither side tells them apart
    other = compared if isinstance(compared, Model) else automaton
    told_apart = (other.characters if other is not None else None) or ()
    count = word_count(model, told_apart) if expression is None else expression.word_count
    if method is None:
        method = "exhaustive" if count <= 1 << 14 else "sample"
    if method not in METHODS:
        raise UnmaskError(f"there is no method {method!r}; use {', '.join(METHODS)}")
    if method == "prove":
        from unmask.verification.equivalence import Question, prove

        letters = letters_of(model, told_apart)
        return prove(Question(model, compared, letters, oracle, engine, outputs, certified))
    if certified:
        raise UnmaskError(f"only a proof has a certificate, not the method {method}; use --method prove")
    if method == "exhaustive":
        if count > MOST_WORDS:
            reason = f"there are {count} words of length {model.length}, more than {MOST_WORDS}; use --method prove"
            return Verdict("unknown", method, 0, reason=reason)
        words = every_word(model, told_apart) if expression is None else expression.every_word()
    elif expression is not None:
        words = sampled_expressions(expression, cases, seed)
    else:
        words = sampled_words(model, automaton, cases, seed)
    if progress is not None:
        words = progress(words, count if method == "exhaustive" else cases)
    return check_words(model, words, oracle, engine=engine, method=method, outputs=outputs)


def _problem(model: Model, against: str | None) -> Problem:
    if against is None and not model.problem:
        raise ProblemError("the folder names no problem to compare with; give one with --against")
    return problem_from_json(model.problem) if against is None else parse_problem(against)


def run_word(
    model: Model,
    word: str | Sequence[str],
    *,
    engine: Engine | None = None,
    sample: bool = False,
    seed: int = 0,
    planner: str | None = None,
    record: bool = False,
    canvas: bool = True,
    watch: Watch | None = None,
) -> Trace:
    """Run a model on a word. `sample` draws from the tape of `seed`; `planner` replaces the model's own by name.

    `record` keeps attention and registers, or `watch` is shown them; `canvas=False` keeps only the last canvas.

    Examples:
        >>> run_word(compile_problem("(a|b)*abb", "mdm", length=9), "aababbabb")
        Trace(mdm, 'aababbabb', accepted after 4 steps)
    """
    tokens = read_word(model, word)
    tape = tape_of(seed)
    chosen = None if planner is None else parse_planner(planner, tape)
    return run(
        model,
        tokens,
        engine=engine or FastEngine(),
        tape=tape if sample else None,
        planner=chosen,
        record=record,
        canvas=canvas,
        watch=watch,
    )


def run_words(
    model: Model,
    words: Sequence[str],
    *,
    engine: Engine | None = None,
    sample: bool = False,
    seed: int = 0,
    canvas: bool = True,
) -> list[Trace | UnmaskError]:
    """Run a model on many words at once: for each its trace, or what is wrong with it."""
    engine, tape = engine or FastEngine(), tape_of(seed) if sample else None
    results: list[Trace | UnmaskError | None] = [None] * len(words)
    readable: dict[int, list[int]] = {}
    for i, word in enumerate(words):
        try:
            readable[i] = read_word(model, word)
        except UnmaskError as error:
            results[i] = error
    tokens = np.array(list(readable.values()), dtype=np.int64).reshape(len(readable), model.length)
    try:
        traces = run_batch(model, tokens, engine=engine, tape=tape, canvas=canvas) if readable else []
        results = [result if result is not None else traces.pop(0) for result in results]
    except UnmaskError:  # one of them fails: find out which
        for i, word in readable.items():
            try:
                results[i] = run(model, word, engine=engine, tape=tape, canvas=canvas)
            except UnmaskError as error:
                results[i] = error
    return [result for result in results if result is not None]


def batch_size(model: Model) -> int:
    """How many words to run at once, so that memory stays bounded."""
    return max(1, ROWS_AT_ONCE // model.rows)


def run_both(model: Model, word: str | Sequence[str], **options: Any) -> Trace:
    """Run the fast engine and the reference, compare all that they computed, and return the run of the fast one."""
    fast, reference = (
        run_word(model, word, engine=engine, record=True, **options) for engine in (FastEngine(), ReferenceEngine())
    )
    difference = first_difference(fast, reference)
    if difference is not None:
        raise UnmaskError(f"the fast engine and the reference differ at {difference}; please report this model")
    return fast


def generate(model: Model, *, seed: int, engine: Engine | None = None) -> Trace:
    """One string drawn from a model that reads the empty input: a language model.

    Examples:
        >>> generate(compile_problem("random:1", "cot", length=0), seed=1).output
        ['b', 'b', 'b']
    """
    if model.length:
        raise UnmaskError(
            f"sampling starts from the empty input, but this model reads words of length {model.length}; "
            "compile it with --length 0, or use `run --sample`"
        )
    return run_word(model, [], engine=engine, sample=True, seed=seed)


def result(trace: Trace, *, canvas: bool = True, outputs: int = 1) -> dict[str, Any]:
    """What `run --json` prints of a trace; the last slots are the `outputs` of a circuit that has several."""
    document: dict[str, Any] = {
        "accepted": trace.accepted,
        "steps": trace.steps_taken,
        "length": trace.length,
        "padding": trace.padding,
        "output": trace.output,
    }
    if 1 < outputs <= len(trace.output):
        bits = {trace.reject: 0, trace.accept: 1}
        document["outputs"] = [bits.get(symbol) for symbol in trace.output[-outputs:]]
    if canvas:
        document["canvas"] = trace.canvas_symbols
    return document


def tape_of(seed: int) -> Tape:
    try:
        return Tape(seed)
    except ValueError as error:
        raise UnmaskError(str(error)) from None


def _random(problem: str, seed: str, kind: Kind, length: int, precision: int) -> Model:
    from unmask.testing import random_model

    if not (seed.isascii() and seed.isdigit()) or len(seed) > 20:
        raise ProblemError(f"random:SEED needs a seed from 0 to 2^64 - 1, not {seed!r}")
    model = random_model(int(seed), kind, length, precision=precision)
    return replace(model, provenance=[{"compiled": problem, "to": kind}])
