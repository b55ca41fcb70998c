"""Problem × kind → proved for every N, refuted at one N, or unknown with the obligation that is open.

    N below the least of the family   the prover of model folders proves each model; N = 0 in any case, and the first
                                      three lengths of a family of circuits
    every N from there on             obligations about the family: heads, rows, layout, language (one file per kind)
    an obligation stays open          the prover of model folders searches for a counterexample, at small N and at the
                                      N of the solver's example

A refutation is a word with a wrong answer, or a model beyond its bounds. An open obligation without one means unknown.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape

from unmask.compilers.circuit_compiler import AdditionFamily
from unmask.compilers.compiler import Compiler
from unmask.compilers.model_families import ForEveryLength, ModelFamily
from unmask.compilers.system_compiler import SystemFamily
from unmask.engines.engine import Engine
from unmask.errors import OutOfTime, ProblemError, TooLarge, UnmaskError, WeightsError
from unmask.numerics.arithmetic import Precision
from unmask.problems.automata.automaton import Automaton
from unmask.problems.problem import Problem
from unmask.programs.instance import NotAFamily
from unmask.verification.lengths.addition_proof import prove_addition
from unmask.verification.lengths.circuit_recurrences import require_family
from unmask.verification.lengths.compiled_lengths import (
    check_formulas,
    check_lengths,
    lengths_to_compare,
    require_formulas_alone,
)
from unmask.verification.lengths.family_certificate import certificate_of
from unmask.verification.lengths.obligations import (
    LEAST_SOLVER_LENGTH,
    Arithmetic,
    Ledger,
    ObligationFailed,
    internal_failure,
)
from unmask.verification.lengths.regular_loops import prove_chain, prove_looped
from unmask.verification.lengths.regular_trees import LanguageClaim, prove_diffusion, prove_parallel
from unmask.verification.lengths.system_proof import prove_system, system_statement
from unmask.verification.lengths.system_slots import SystemClaim
from unmask.verification.model_outcomes import outcomes
from unmask.verification.verdict import ProofRecord, Status, Verdict
from unmask.verification.words.equivalence import prove_comparison
from unmask.verification.words.references import Comparison, reference_of, symbol_numbers, token_numbers
from unmask.weights.kinds import KINDS, Kind
from unmask.weights.model import Model

PROVERS: dict[str, Callable[[LanguageClaim], None]] = {
    "mdm": prove_diffusion,
    "smdm": prove_diffusion,
    "topk": prove_diffusion,
    "plt": prove_looped,
    "pcot": prove_parallel,
    "cot": prove_chain,
}
SEARCHED_LENGTHS = 10
"""A counterexample is searched for at all lengths below this one."""
LONGEST_SEARCHED = 600
"""The largest length from an example of the solver at which a counterexample is searched for."""
COMPARED_LENGTHS = 3
"""The number of lengths at which the model of a circuit family is compared with the textbook circuit."""

TRUSTED = (
    "`compile` at the lengths that were not compared: the compilers' `compile`, `ModelFamily.model_at`, "
    "`program_at`, `model_of` and `assemble`. Tracing shows that the Python code from `ModelFamily.model_at` on, and "
    "the `compile` of regular languages, do not branch on N itself. Not excluded: a fault that depends on a value of a "
    "formula (rows, steps, slots, bits) or inside NumPy, and in the `compile` of programs and circuit families one at "
    "a single N.",
    "`Expression.evaluate`, which gives the positions of a compiled model. The proof uses the syntax trees. "
    "The two are compared at the lengths above and, formula by formula, beside powers of two up to N = 2^36; the tests "
    "compare every operator at random n and N below 2^39.",
    "`save` and `load`: that a model folder of a length that was not compared holds the model that was compiled.",
    "`verification/lengths`: that the obligations imply the statement. The argument is at the top of the file of each "
    "kind.",
    "Python, NumPy, and the answers `unsat` of the SMT solver. With --certificate another solver can be asked.",
    "`verification/words` for the shortest lengths, whose models are proved one by one.",
    "The products, sums and MLPs of `engines/prepared_weights` and the distinct columns of `engines/visible_keys`, "
    "which the enumerations use, and F_p in `numerics`.",
    "Of powers of two: those below K are the halves of those up to K; every u >= 2 lies in some (q, 2q]; ⌈log2 N⌉ = "
    "log2 K + [K < N] for K <= N < 2K; N <= 2^⌈log2 N⌉; K is 1 or even; ⌈log2(2m - 1)⌉ = ⌈log2 m⌉ + 1 for m >= 2. Of "
    "division: n = q·W + r in one way.",
    "Problem → automaton (`problems/`), which compiling and proving share. Of a program: that its rules are functions, "
    "and that `SystemPlan.fits` accepts only lengths that the family's plan describes.",
    "Positions are computed with 64 bits, for N < 2^40. Larger models are refused.",
)
"""The assumptions of a proof for every length."""


@dataclass(frozen=True, eq=False)
class LengthCertificate:
    """The questions to the SMT solver and, for a proved regular language, the claim that a checker can replay."""

    questions: dict[str, str]
    claim: LanguageClaim | None = None

    def files(self) -> dict[str, str]:
        """Return the content of the certificate's files, by suffix."""
        questions = [f"; {name}\n{text}(reset)\n" for name, text in self.questions.items()]
        replayed = {} if self.claim is None else {".family.json": json.dumps(certificate_of(self.claim)) + "\n"}
        return {".smt2": "".join(questions), **replayed}


@dataclass(frozen=True)
class WrongModel:
    """A word of length N that a model gets wrong, with the expected answer; or a model beyond its bounds."""

    length: int
    word: str | None
    expected: str | None
    actual: str | None


def unreached(name: str, kind: str, precision: int, reason: str) -> Verdict:
    """Return the verdict unknown for a problem; no proof was tried."""
    return unknown_statement(f"{_subject(name, kind, precision)} is correct for every word of length N.", reason)


def unknown_statement(statement: str, reason: str, trusted: tuple[str, ...] = TRUSTED) -> Verdict:
    """Return the verdict unknown for a statement; no proof was tried."""
    record = ProofRecord(statement, trusted=trusted)
    return Verdict.of_record("unknown", record, reason=reason, certificate=LengthCertificate({}))


def prove_problem(
    problem: Problem, compiler: Compiler, kind: Kind, precision: int, engine: Engine, lengths: Sequence[int] = ()
) -> Verdict:
    """Check the arguments of `unmask prove`, and prove that the models of the problem are correct for every N.

    At `lengths`, compiled models are compared with the family in any case.
    """
    if kind not in KINDS:
        raise ProblemError(f"unknown kind {kind!r}; use one of {', '.join(KINDS)}")
    if not 1 <= precision <= 8:
        raise ProblemError(f"the precision must lie in 1 … 8, not {precision}")
    p = Precision(precision)
    offered = compiler.for_every_length(kind, p)
    if offered is None:
        reason = "only regular languages, programs and families of circuits are compiled for every N at once"
        return unreached(problem.name, kind, precision, reason)
    return prove_every_length(problem, compiler, kind, p, engine, also=lengths)


def prove_every_length(
    problem: Problem,
    compiler: Compiler,
    kind: Kind,
    precision: Precision,
    engine: Engine,
    *,
    family: ModelFamily | None = None,
    lengths: tuple[int, ...] | None = None,
    also: Sequence[int] = (),
) -> Verdict:
    """Prove that every model of a family is correct; the family is by default the one that the compiler instantiates.

    At `lengths` (by default those of `lengths_to_compare`) and at those of `also`, the compiled models are compared
    with the family entry by entry.
    """
    offered = compiler.for_every_length(kind, precision)
    if offered is None:
        raise ValueError(f"{problem.name} is compiled separately for each length, so it has no family to prove")
    is_compiled_family = family in (None, offered.family)
    attempt = _Attempt(
        problem, compiler, offered, kind, precision, engine, family or offered.family, is_compiled_family
    )
    if attempt.family is not None:
        lengths, attempt.not_compared = (
            lengths_to_compare(problem, attempt.family, attempt.statement) if lengths is None else (lengths, ())
        )
        attempt.lengths = tuple(dict.fromkeys((*lengths, *also)))
    try:
        return attempt.answer()
    except (OutOfTime, TooLarge) as error:
        return attempt.unknown(str(error))


def _subject(name: str, kind: str, precision: int) -> str:
    return f"For every N >= 0, the {kind} that `compile` writes for {name} and N, in F_{precision},"


@dataclass
class _Attempt:
    """One attempt to prove the statement, with the obligations that are settled so far."""

    problem: Problem
    compiler: Compiler
    offered: ForEveryLength
    kind: Kind
    precision: Precision
    engine: Engine
    family: ModelFamily | None
    is_compiled_family: bool
    """Whether the family is the one that the compiler instantiates."""
    lengths: tuple[int, ...] = ()
    not_compared: tuple[int, ...] = ()
    ledger: Ledger = field(default_factory=Ledger)
    compared: list[int] = field(default_factory=list)

    @property
    def statement(self) -> str:
        subject = _subject(self.problem.name, self.kind, self.precision.p)
        if self.offered.circuits is not None:
            return system_statement(subject, "the outputs", self.family)
        if self.offered.system is not None:
            return system_statement(subject, "the answers of the program", self.family)
        steps, slots = {
            "plt": ("⌈log2 N⌉ loops", "one pad"),
            "cot": ("max(1, N) steps", "one symbol each"),
            "pcot": ("max(1, ⌈log2 N⌉) steps", "max(1, ⌈N/2⌉) symbols each"),
        }.get(self.kind, ("max(1, ⌈log2 N⌉) steps", "max(1, N - 1) slots"))
        return f"{subject} accepts exactly the words of length N that the problem accepts, in {steps} with {slots}."

    def unknown(self, reason: str) -> Verdict:
        """Return the verdict unknown for this reason, with the obligations that are settled so far."""
        return self._verdict("unknown", reason=reason)

    def _verdict(
        self,
        status: Status,
        *,
        wrong: WrongModel | None = None,
        reason: str | None = None,
        claim: LanguageClaim | None = None,
    ) -> Verdict:
        record = ProofRecord(
            self.statement,
            tuple(self.ledger.obligations),
            tuple(sorted(self.compared)),
            tuple(sorted(set(self.not_compared) - set(self.compared))),
            TRUSTED,
        )
        certificate = LengthCertificate(dict(self.ledger.questions), claim)
        if wrong is None:
            return Verdict.of_record(status, record, reason=reason, certificate=certificate)
        return Verdict.of_record(
            status,
            record,
            reason=reason,
            certificate=certificate,
            length=wrong.length,
            counterexample=wrong.word,
            expected=wrong.expected,
            got=wrong.actual,
        )

    def answer(self) -> Verdict:
        """Try the proof; if an obligation stays open, search for a counterexample."""
        if self.family is None:
            return self.unknown(self.offered.why_none)
        if self.kind not in PROVERS:
            return self.unknown(f"models of the kind {self.kind} have no proof for every length")
        arithmetic = Arithmetic(self.ledger, self.family.least)
        suspects: tuple[int, ...] = ()
        reason, claim = None, None
        try:
            for length in range(self._first_length):
                self._require_single_length(length)
            claim = self._prove(arithmetic)
            lengths = dict.fromkeys((*range(LEAST_SOLVER_LENGTH), *self.lengths))
            check_lengths(self.compiler, self.family, self.precision, lengths, self.ledger, self.compared)
            if self.is_compiled_family:
                check_formulas(self.family, self.ledger)
                regular = self.offered.system is None and self.offered.circuits is None
                traced_compiler = self.compiler if regular else None
                require_formulas_alone(traced_compiler, self.family, self.precision, self.ledger)
        except ObligationFailed as error:
            reason, suspects = str(error), error.lengths
        except (NotAFamily, WeightsError) as error:
            reason = str(error)
        except AssertionError as error:
            reason = internal_failure(error)
        if reason is None:
            return self._verdict("proved", claim=claim)
        wrong = self._refutation(suspects)
        if wrong is not None:
            return self._verdict("refuted", wrong=wrong, reason=reason)
        still_open = next((o for o in self.ledger.obligations if o.verdict == "open"), None)
        return self.unknown(reason if still_open is None else f"{still_open.name}: {reason}")

    @property
    def _first_length(self) -> int:
        """Models of smaller lengths are proved one by one.

        For a family of circuits these include the first lengths of the family: the proof for every length compares the
        family with definitions of its own, and these lengths are compared with the problem itself.
        """
        assert self.family is not None
        least = max(self.family.least, LEAST_SOLVER_LENGTH)
        return least if self.offered.circuits is None else least + COMPARED_LENGTHS

    def _prove(self, arithmetic: Arithmetic) -> LanguageClaim | None:
        """Settle all obligations of the family; for a regular language, return the proved claim."""
        if isinstance(self.family, AdditionFamily):
            prove_addition(self.family, self.precision, arithmetic)
            return None
        if isinstance(self.family, SystemFamily) and self.offered.system is not None:
            claim = SystemClaim(self.offered.system, self.family, self.precision, arithmetic)
            prove_system(claim)
            if self.offered.circuits is not None:
                require_family(claim, self.offered.circuits)
            return None
        claim = self._claim(arithmetic)
        PROVERS[self.kind](claim)
        return claim

    def _require_single_length(self, length: int) -> None:
        """Settle that the model of one length solves the problem."""

        def prove() -> str:
            try:
                model = self._model(length)
            except ProblemError as error:
                if self.offered.system is None or self.offered.circuits is not None:
                    raise  # an error that does not depend on the length, such as a wrong precision
                raise ObligationFailed(f"`compile` writes no model of this length: {error}") from error
            verdict = self._prove_model(model)
            if verdict.status != "proved":
                raise ObligationFailed(verdict.reason or f"refuted by {verdict.counterexample!r}", (length,))
            return "the folder"

        if self.problem.has_length(length):
            self.ledger.settle(f"N = {length}: the folder", "prover of folders", prove)
        else:
            self.ledger.settle(f"N = {length}: there are no words of this length", "enumeration", lambda: None)

    def _claim(self, arithmetic: Arithmetic) -> LanguageClaim:
        """Return the claim that the family decides the problem's language; settle that its letters are read."""
        assert self.family is not None
        family = self.family
        automaton = self.problem.specification(family.least)
        if not isinstance(automaton, Automaton) or automaton is not self.problem.automaton:
            raise ObligationFailed("the problem has no automaton that is the same for every length")

        def prove() -> tuple[LanguageClaim, str]:
            model = self._model(family.least)
            comparison = self._comparison(model)
            unread = comparison.unread("prove")
            if unread is not None:
                raise ObligationFailed(unread.reason or "a letter of the problem is not read", (model.length,))
            if model.aliases:
                raise ObligationFailed("the family has aliases")
            letters = comparison.letters
            tokens, numbers = symbol_numbers(model, letters), token_numbers(automaton, letters)
            return LanguageClaim(
                family, self.precision, automaton, tokens, numbers, arithmetic
            ), f"{len(letters)} letters"

        return self.ledger.compute("letters: every letter of the problem is read", "enumeration", prove)

    def _model(self, length: int) -> Model:
        """Return the compiled model of a length; for another family and from its least length on, its own model."""
        assert self.family is not None
        if self.is_compiled_family or length < self.family.least:
            return self.compiler.compile(self.kind, length, self.precision)
        return self.family.model_at(length, self.precision)

    def _comparison(self, model: Model) -> Comparison:
        run_words = partial(outcomes, engine=self.engine)
        return Comparison(model, reference_of(model, self.problem, run_words), run_words)

    def _prove_model(self, model: Model):
        return prove_comparison(self._comparison(model))

    def _refutation(self, suspects: tuple[int, ...]) -> WrongModel | None:
        """Return the first model that is wrong or beyond its bounds; None if there is none among the tried lengths."""
        for length in self._suspected_lengths(suspects):
            try:
                model = self._model(length)
                if (beyond := self._beyond_bounds(model)) is not None:
                    return beyond
                verdict = self._prove_model(model)
            except (AssertionError, UnmaskError):
                continue  # a length without a model refutes nothing
            if verdict.status == "refuted":
                return WrongModel(length, verdict.counterexample, verdict.expected, verdict.got)
        return None

    def _suspected_lengths(self, suspects: tuple[int, ...]) -> Iterator[int]:
        yield from dict.fromkeys((*(s for s in suspects if 0 <= s <= LONGEST_SEARCHED), *range(SEARCHED_LENGTHS)))

    def _beyond_bounds(self, model: Model) -> WrongModel | None:
        steps, padding = self.compiler.bound(self.kind, model.length)
        if model.steps <= steps and model.padding <= padding:
            return None
        return WrongModel(
            model.length,
            None,
            f"at most {steps} steps and {padding} slots",
            f"{model.steps} steps and {model.padding} slots",
        )


# Verdict about every N → a page: the statement, every obligation with its method and result, and the assumptions.


def proof_page(answer: Verdict, seconds: float, *, html: bool) -> str:
    """Return the page as HTML or Markdown."""
    assert answer.record is not None
    return "\n".join((_html if html else _markdown)(answer, answer.record, seconds)) + "\n"


def compared_lengths(record: ProofRecord) -> str:
    """Return the sentence with the lengths at which compiled models were compared with the proof."""
    if not record.compared:
        return "No compiled model was compared with this proof."
    listed = ", ".join(map(str, record.compared))
    omitted = f" Not at N = {', '.join(map(str, record.not_compared))}: too large." if record.not_compared else ""
    return f"The compiled models were compared with this proof, entry by entry, at N = {listed}.{omitted}"


def _verdict(answer: Verdict) -> str:
    return "Proved for every N" if answer.status == "proved" else answer.status.capitalize()


def _wrong(answer: Verdict) -> str | None:
    if answer.length is None:
        return answer.reason
    word = "" if answer.counterexample is None else f", word {answer.counterexample!r}"
    return f"Counterexample: N = {answer.length}{word}: {answer.expected}, but the model {answer.got}."


def _rows(record: ProofRecord) -> Iterator[tuple[str, ...]]:
    for obligation in record.obligations:
        milliseconds = f"{round(obligation.seconds * 1000)} ms"
        yield obligation.name, obligation.method, obligation.verdict, milliseconds, obligation.detail


def _markdown(answer: Verdict, record: ProofRecord, seconds: float) -> Iterator[str]:
    yield from (f"# {_verdict(answer)}", "", _plain(record.statement), "")
    if (wrong := _wrong(answer)) is not None:
        yield from (_plain(wrong), "")
    yield from (f"{len(record.obligations)} obligations, {seconds:.1f} s.", "")
    yield from ("| obligation | method | | time | |", "|---|---|---|---|---|")
    for row in _rows(record):
        yield f"| {' | '.join(_plain(cell) for cell in row)} |"
    yield from ("", "## Compared lengths", "", _plain(compared_lengths(record)), "", "## What is trusted", "")
    yield from (f"- {line}" for line in record.trusted)


def _plain(text: str) -> str:
    """Return the text with the special characters of Markdown escaped."""
    return "".join(f"\\{c}" if c in "\\|*_<>[]" else c for c in " ".join(text.split()))


def _html(answer: Verdict, record: ProofRecord, seconds: float) -> Iterator[str]:
    yield "<!doctype html><html lang=en><meta charset=utf-8><meta name=generator content=unmask>"
    yield f"<title>{escape(_verdict(answer))}</title>"
    yield "<style>body{font:16px/1.5 system-ui;max-width:70em;margin:2em auto;padding:0 1em}"
    yield "td,th{text-align:left;padding:.1em 1em .1em 0;vertical-align:top}.open{color:#b00}</style>"
    yield f"<h1>{escape(_verdict(answer))}</h1><p>{escape(record.statement)}</p>"
    if (wrong := _wrong(answer)) is not None:
        yield f"<p class=open>{escape(wrong)}</p>"
    yield f"<p>{len(record.obligations)} obligations, {seconds:.1f} s.</p>"
    yield "<table><tr><th>obligation<th>method<th><th>time<th></tr>"
    for row in _rows(record):
        cells = "".join(f"<td>{escape(cell)}" for cell in row)
        yield f"<tr class={'open' if row[2] == 'open' else 'proved'}>{cells}</tr>"
    yield f"</table><h2>Compared lengths</h2><p>{escape(compared_lengths(record))}</p>"
    yield "<h2>What is trusted</h2><ul>"
    yield from (f"<li>{escape(line)}</li>" for line in record.trusted)
    yield "</ul></html>"
