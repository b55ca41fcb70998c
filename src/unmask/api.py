"""The public functions of unmask, one per arrow: an overview of the library.

    problem ──compile_problem──▶ model          compilers/     a program per framework, assembled into weights
    program ──compile_program──▶ model          recurrences/   the user's own system of recurrences
    model ──save_model──▶ folder ──load_model──▶ model         weights/storage.py
    model × word ──run_word──▶ trace            reasoners/, engines/   also run_words, run_both, generate
    model × words ──decide_words──▶ answers     verification/answer_tables.py, or an engine
    model ──convert_model──▶ model              theorems/      one file per theorem
    model × problem ──verify_model──▶ verdict   verification/  one model, every word of its length
    problem ──prove_family──▶ verdict           verification/lengths/      every length at once
    theorem ──prove_conversion──▶ verdict       verification/conversions/  every source model at once
    problem ──compare_frameworks──▶ rows        verification/resources.py
    model ──sample_law──▶ law of its samples    reasoners/sampled_law.py

Two arrows have packages of their own, which use this module: `export.export_model` (model → checkpoint, GGUF, torch
or ONNX) and `samplers.sample` (predictor × sampler → string).

Compilers, theorems and proofs are imported by the functions that need them, so that running a model loads none of
them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unmask.engines.engine import Engine, Watch
from unmask.engines.fast import FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.errors import ProblemError, UnmaskError
from unmask.limits import run_unless_long
from unmask.problems.catalogue import parse_problem, problem_from_json
from unmask.problems.program_problems import program_problem
from unmask.reasoners.decoding import Tape
from unmask.reasoners.planners import parse_planner
from unmask.reasoners.run_words import Answers, run, run_each
from unmask.reasoners.typed_words import read_word, read_words
from unmask.traces.trace import Trace
from unmask.traces.trace_differences import first_difference
from unmask.verification.resources import ResourceRow, measure_resources
from unmask.verification.words.references import with_stated_outputs
from unmask.weights.kinds import Kind
from unmask.weights.model import Model
from unmask.weights.storage import check_replaceable
from unmask.weights.storage import load as load_model
from unmask.weights.storage import save as save_model

if TYPE_CHECKING:
    from unmask.compilers.compiler import Compiler
    from unmask.recurrences.system import System
    from unmask.theorems.theorem import Conversion, Theorem
    from unmask.verification.verdict import Verdict
    from unmask.verification.verify import Against, Progress

__all__ = [
    "ENGINES",
    "Decided",
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
    "problem_accepts",
    "problem_name",
    "problem_states",
    "prove_conversion",
    "prove_family",
    "run_both",
    "run_word",
    "run_words",
    "sample_law",
    "save_model",
    "tape_of",
    "verify_model",
]

ENGINES: dict[str, type[Engine]] = {"fast": FastEngine, "reference": ReferenceEngine}

problem_of = lru_cache(maxsize=16)(parse_problem)


@lru_cache(maxsize=16)
def compiler_of(problem: str, hops: int = 1) -> "Compiler":
    """Return the compiler of a PROBLEM string. One pass of its models computes `hops` levels of a product tree."""
    from unmask.compilers.compiler import compiler_for, compiler_with_hops

    parsed = problem_of(problem)
    if hops == 1:
        return compiler_for(parsed)
    return compiler_with_hops(parsed, compiler_of(problem), hops)


def compile_problem(problem: str, kind: Kind, *, length: int | None = None, precision: int = 2, hops: int = 1) -> Model:
    """PROBLEM → Model, for words of one length. A circuit or an expression determines the length itself.

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
    """System of recurrences → Model, for words of one length.

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
    """Run a model on a word. `sample` draws from the tape of `seed`; `planner` names a planner to use instead.

    `record` keeps attention and registers, or `watch` is shown them; `canvas=False` keeps only the last canvas.

    Examples:
        >>> run_word(compile_problem("(a|b)*abb", "mdm", length=9), "aababbabb")
        Trace(mdm, 'aababbabb', accepted after 4 steps)
    """
    tokens = read_word(model, word)
    tape = tape_of(seed)
    return run(
        model,
        tokens,
        engine=engine or FastEngine(),
        tape=tape if sample else None,
        planner=None if planner is None else parse_planner(planner, tape),
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
    """Run a model on many words at once. Return a trace or an error for each."""
    return run_each(model, words, engine=engine or FastEngine(), tape=tape_of(seed) if sample else None, canvas=canvas)


@dataclass(frozen=True, eq=False)
class Decided:
    """The answers to many words, as token ids [words, slots] of the last symbols, and the errors of words that failed.

    `by` says how they were computed: "tables" (extracted from the weights once) or "engine".
    """

    model: Model
    slots: np.ndarray
    errors: dict[int, UnmaskError]
    by: str

    @property
    def accepted(self) -> list[bool | None]:
        """Whether each word is accepted; None if it has an error or its last symbol is neither accept nor reject."""
        meaning = {1: True, 0: False}
        verdicts = [meaning.get(verdict) for verdict in Answers(self.model, self.slots).accepted.tolist()]
        for i in self.errors:
            verdicts[i] = None
        return verdicts


def decide_words(
    model: Model,
    words: Sequence[str],
    *,
    engine: Engine | None = None,
    tables: bool | None = None,
    expected: int = 0,
) -> Decided:
    """Return only the answers of a model to many words. Tables are extracted if there are enough words to justify it.

    `tables` True or False requires or forbids tables. `expected` is the number of words of all calls together.

    Examples:
        >>> model = compile_problem("(a|b)*abb", "mdm", length=4)
        >>> decide_words(model, ["aabb", "abab"]).accepted
        [True, False]
    """
    from unmask.verification.answer_tables import answer_many_words

    tokens, which, unreadable = read_words(model, words)
    answered = answer_many_words(model, tokens, engine=engine or FastEngine(), tables=tables, expected=expected)
    slots = np.zeros((len(words), answered.answers.slots.shape[1]), dtype=np.int64)
    slots[which] = answered.answers.slots
    errors: dict[int, UnmaskError] = {int(which[i]): error for i, error in answered.failed.items()}
    return Decided(model, slots, {**unreadable, **errors}, answered.by)


def run_both(model: Model, word: str | Sequence[str], **options: Any) -> Trace:
    """Run the fast engine and the reference, compare all that they computed, and return the trace of the former."""
    fast, reference = (
        run_unless_long(
            partial(run_word, model, word, engine=engine, record=True, **options), f"a run of the {name} engine"
        )
        for name, engine in (("fast", FastEngine()), ("reference", ReferenceEngine()))
    )
    difference = first_difference(fast, reference)
    if difference is not None:
        raise UnmaskError(f"the fast engine and the reference differ at {difference}; please report this model")
    return fast


def generate(model: Model, *, seed: int, engine: Engine | None = None) -> Trace:
    """Draw one string from a model that reads the empty input: a language model.

    Examples:
        >>> generate(compile_problem("random:1", "cot", length=0), seed=1).output
        ['b', 'b', 'b']
    """
    if model.length:
        raise UnmaskError(
            f"sampling needs a model that reads no input, but this one reads words of length {model.length}; "
            "compile it with --length 0, or use `run --sample`"
        )
    return run_word(model, [], engine=engine, sample=True, seed=seed)


def sample_in(model: Model, symbols: list[str]) -> list[str]:
    """The symbols of the output slots: the last `outputs` symbols if the model gives this number, else all."""
    return symbols[-model.outputs :] if model.outputs else symbols


def tape_of(seed: int) -> Tape:
    """Return the random tape of a seed."""
    try:
        return Tape(seed)
    except ValueError as error:
        raise UnmaskError(str(error)) from None


def convert_model(model: Model, kind: Kind, *, by: str | None = None) -> Iterator["tuple[Theorem, Conversion]"]:
    """Model → Model of another kind, by the theorem `by` or the shortest chain of theorems. Yield every conversion.

    Examples:
        >>> for theorem, made in convert_model(compile_problem("(a|b)*abb", "mdm", length=9), "plt"):
        ...     print(theorem.label, made.model)
        thm:lts-can-simulate-mdms Model(plt, N = 9, P = 8, T = 4, F_2, regex:(a|b)*abb → mdm_to_plt)
    """
    from unmask.theorems.all_theorems import convert

    return convert(with_stated_outputs(model), kind, by=by)


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

    The method `exhaustive` runs every word of the model's length, and `sample` runs some. The default is `exhaustive`
    if there are few words. `prove` decides for all words at once, from the weights; `certified` keeps the certificate,
    and `by` ("induction" or "sat") allows only one way of proving. If the other problem has other letters than the
    model, `letters` ("common", "model" or "problem") chooses the letters of the words that are compared.

    A function takes a word and returns True or False, or a list of all outputs. `progress` is called with the words
    and their number, and returns an iterator over the words.

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
    """Decide whether the compiled model is correct for every N at once.

    For `lengths` the compiled model is also compared with the family, entry by entry. Needs the extra `prove`.

    Examples:
        >>> prove_family("(a|b)*abb", "cot").status
        'proved'
    """
    from unmask.verification.lengths.prove_lengths import prove_problem

    return prove_problem(problem_of(problem), compiler_of(problem), kind, precision, engine or FastEngine(), lengths)


def prove_conversion(
    stem: str,
    kind: Kind | None = None,
    *,
    like: Path | Model | None = None,
    precision: int = 2,
    lengths: Sequence[int] = (),
    engine: Engine | None = None,
) -> "Verdict":
    """Decide whether the models that a theorem converts do what their sources do, for every source and every N at once.

    The shape of the models is that of the model `like`, or a small one; `kind`, if given, must be that of the theorem.
    For `lengths` the conversion of a random source is also compared, entry by entry. Needs the extra `prove`.

    Examples:
        >>> prove_conversion("cot_to_pcot").status
        'proved'
    """
    from unmask.verification.conversions.prove_conversions import prove_theorem

    shaped = load_model(like) if isinstance(like, Path) else like
    return prove_theorem(stem, precision, engine or FastEngine(), to=kind, like=shaped, lengths=lengths)


def compare_frameworks(
    problem: str,
    lengths: Sequence[int] | None = None,
    *,
    precision: int = 2,
    hops: int = 1,
    engine: Engine | None = None,
) -> Iterator[ResourceRow]:
    """Yield one row per framework and length, with the measured resources and their bounds.

    Examples:
        >>> {row.framework: row.steps for row in compare_frameworks("(a|b)*abb", [64])}
        {'mdm': 6, 'smdm': 6, 'topk': 6, 'plt': 6, 'pcot': 6, 'cot': 64}
    """
    compiler = compiler_of(problem, hops)
    for length in lengths or () if compiler.length is None else [compiler.length]:
        for kind in compiler.kinds:
            model = compile_problem(problem, kind, length=length, precision=precision, hops=hops)
            bound, extent = compiler.bound(kind, length), compiler.extent(kind, length)
            yield measure_resources(model, bound, extent, problem_of(problem), engine or FastEngine())


def problem_name(model: Model) -> str | None:
    """Return the PROBLEM string that a model folder names, or None. It is a claim of its author, not a proof."""
    try:
        return problem_from_json(model.problem).name
    except ProblemError:
        return None


def problem_accepts(model: Model) -> str | None:
    """Return a phrase that says which words the problem accepts, or None if its name says it."""
    try:
        return problem_from_json(model.problem).accepts
    except ProblemError:
        return None


def problem_states(model: Model) -> dict[str, str]:
    """Return a shortest word that leads to each state symbol of a chain of thought; {} for models without states."""
    from unmask.compilers.regular_compiler import state_names

    try:
        automaton = problem_from_json(model.problem).automaton
    except ProblemError:
        return {}
    if automaton is None or model.kind not in ("cot", "pcot"):
        return {}
    words: dict[int, list[int]] = {automaton.start: []}
    queue = [automaton.start]
    for state in queue:
        for letter, following in enumerate(automaton.delta[state].tolist()):
            if following not in words:
                words[following] = [*words[state], letter]
                queue.append(following)
    names = state_names(automaton)
    word_to_state = {names[state]: automaton.spelled(word) for state, word in sorted(words.items())}
    return word_to_state if set(word_to_state) <= set(model.vocabulary) else {}


def compile_again(model: Model, kind: Kind) -> Model:
    """Compile the problem that a model folder names into another kind, for words of the same length."""
    from unmask.compilers.compiler import compiler_for

    compiler = compiler_for(problem_from_json(model.problem))
    if kind not in compiler.kinds:
        raise ProblemError(f"{problem_name(model)} does not compile to {kind}; choose {', '.join(compiler.kinds)}")
    return compiler.compile(kind, model.length, model.precision)


def sample_law(model: Model, *, engine: Engine | None = None) -> dict[str, Fraction]:
    """The exact probability of every sample of a model that reads no input (mdm or smdm).

    A sample is the symbols of the output slots: the last `outputs` symbols if the model gives this number, else all.

    Examples:
        >>> law = sample_law(compile_problem("coins:even-parity", "mdm", length=3))
        >>> sorted(law), sum(law.values())
        (['000', '011', '101', '110'], Fraction(1, 1))
    """
    from unmask.reasoners.sampled_law import sampled_law
    from unmask.reasoners.typed_words import join_symbols

    if model.length:
        raise UnmaskError(f"the law of samples is that of a model without input; this one reads {model.length} letters")
    law: dict[str, Fraction] = {}
    for tokens, chance in sampled_law(model, engine=engine or ENGINES["fast"]()).items():
        symbols = [model.vocabulary[token] for token in tokens]
        text = join_symbols(model, [model.aliases.get(symbol, symbol) for symbol in sample_in(model, symbols)])
        law[text] = law.get(text, Fraction(0)) + chance
    return law
