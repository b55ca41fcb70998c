"""Theorem × shape of sources → Verdict for every source, every N, T and P.

    programs       made by the construction of the theorem from a source whose weights and sizes are names
    obligations    one file per theorem
    folders        of random sources of the shape, compared with these programs entry by entry

If an obligation is open, random sources are converted by these programs and run. A converted model that writes another
symbol than its source, or divides by zero where the source does not, refutes the statement.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from unmask.engines.engine import Engine
from unmask.errors import OutOfTime, ProblemError, TooLarge, WeightsError
from unmask.numerics.arithmetic import Precision
from unmask.programs.instance import NotAFamily
from unmask.theorems.all_theorems import THEOREMS
from unmask.theorems.theorem import Theorem
from unmask.verification.conversions import cot_to_pcot, mdm_to_smdm
from unmask.verification.conversions.converted_folders import Frame, SourceSizes, check_folder, refutation
from unmask.verification.conversions.machine import ConversionClaim
from unmask.verification.conversions.unknown_source import LayerShape, SourceShape, TransformerShape
from unmask.verification.lengths.obligations import Ledger, ObligationFailed, internal_failure
from unmask.verification.lengths.prove_lengths import LengthCertificate, unknown_statement
from unmask.verification.verdict import ProofRecord, Status, Verdict
from unmask.weights.kinds import Kind
from unmask.weights.model import Model

LAYERS = (LayerShape((2, 1), 2), LayerShape((1,), 3))
SEEDS = 60
LONGEST_TRIED = 40
SAMPLE = (
    SourceSizes(0, True, 1, 1),
    SourceSizes(1, False, 2, 2),
    SourceSizes(2, True, 3, 1),
    SourceSizes(5, False, 4, 3),
    SourceSizes(31, False, 2, 5),
    SourceSizes(100, True, 3, 7),
)
"""At which sizes the folder of a random source is compared in every proof."""

TRUSTED = (
    "Python, NumPy, and the SMT solver's answers `unsat`; with a certificate these can be asked of another solver.",
    "`verification/conversions`: that its obligations imply the statement. The argument is at the top of the file "
    "of each theorem; that rows are run as the engines run them, in `machine.py`.",
    "That a construction, which moves weights that it cannot look at, moves those of every source of this shape alike. "
    "Entries that are 0 are not stored in a folder; for the sizes that were compared, the conversion of a random "
    "source, a third of it 0, was compared with the program entry by entry, by other code.",
    "`programs/instance.py`: that a program of every N becomes that of one N as it says.",
    "F_p in `numerics`; positions are computed in 64 bits.",
    "Sources of other shapes are not covered by this proof: name one of theirs with --like.",
)


@dataclass(frozen=True)
class ConversionProof:
    """What is shown of a theorem: the statement, the obligations, the frame of a folder, and a shape to begin with."""

    statement: Callable[[ConversionClaim], str]
    prove: Callable[[ConversionClaim], None]
    frame: Frame
    shape: SourceShape


PROVERS: dict[str, ConversionProof] = {
    "cot_to_pcot": ConversionProof(
        cot_to_pcot.statement,
        cot_to_pcot.prove,
        cot_to_pcot.frame,
        SourceShape(5, (("model", TransformerShape(3, 5, LAYERS, "causal")),)),
    ),
    "mdm_to_smdm": ConversionProof(
        mdm_to_smdm.statement,
        mdm_to_smdm.prove,
        mdm_to_smdm.frame,
        SourceShape(
            6, (("planner", TransformerShape(2, 2, LAYERS[:1])), ("predictor", TransformerShape(3, 6, LAYERS))), 2
        ),
    ),
}


def every_source(
    stem: str,
    precision: int,
    engine: Engine,
    *,
    to: Kind | None = None,
    like: Model | None = None,
    lengths: Sequence[int] = (),
) -> Verdict:
    """The front door: a theorem by its stem; sources have the shape of `like`, or a small one."""
    theorem = next((t for t in THEOREMS if t.stem == stem), None)
    if theorem is None:
        raise ProblemError(f"unknown theorem {stem!r}; use one of {', '.join(PROVERS)}")
    if to not in (None, theorem.target):
        raise ProblemError(f"{stem} takes a {theorem.source} to a {theorem.target}, not to a {to}")
    if not 1 <= precision <= 8:
        raise ProblemError(f"the precision must lie in 1 … 8, not {precision}")
    if stem not in PROVERS:
        subject = f"For every N, the {theorem.target} that `convert` writes by {stem} does what its source does."
        reason = f"no proof of {stem} for every source is implemented; implemented are {', '.join(PROVERS)}"
        return unknown_statement(subject, reason, TRUSTED)
    if like is not None and like.kind != theorem.source:
        raise ProblemError(f"{stem} takes a {theorem.source}, the folder that sources are like is a {like.kind}")
    shape = PROVERS[stem].shape if like is None else SourceShape.of(like)
    sizes = (*SAMPLE, *(SourceSizes(length, False, 2, 2) for length in lengths))
    return prove_every_source(theorem, shape, Precision(precision), engine, sizes=sizes)


def prove_every_source(
    theorem: Theorem, shape: SourceShape, precision: Precision, engine: Engine, *, sizes: Sequence[SourceSizes] = SAMPLE
) -> Verdict:
    """Of the programs that the theorem's construction makes, whichever they are."""
    ledger = Ledger()
    claim, proved = ConversionClaim(theorem, shape, precision, ledger), PROVERS[theorem.stem]
    statement = proved.statement(claim)

    def verdict(status: Status, reason: str | None = None, **wrong: Any) -> Verdict:
        record = ProofRecord(statement, tuple(ledger.obligations), trusted=TRUSTED)
        certificate = LengthCertificate(dict(ledger.questions))
        return Verdict.of_record(status, record, reason=reason, certificate=certificate, **wrong)

    suspects: tuple[int, ...] = ()
    try:
        try:
            proved.prove(claim)
            for seed, its in enumerate(_possible(theorem, shape, sizes)):
                check_folder(claim, proved.frame, its, seed)
            return verdict("proved")
        except ObligationFailed as reason:
            still_open, suspects = str(reason), reason.lengths
        except (NotAFamily, WeightsError) as reason:
            still_open = str(reason)
        except AssertionError as reason:
            still_open = internal_failure(reason)
        wrong = refutation(claim, _tried(theorem, shape, suspects), engine)
    except (OutOfTime, TooLarge) as end:
        return verdict("unknown", str(end))
    if wrong is None:
        name = next((f"{o.name}: " for o in ledger.obligations if o.verdict == "open"), "")
        return verdict("unknown", f"{name}{still_open}")
    sizes_of_wrong = wrong.sizes
    return verdict(
        "refuted",
        still_open,
        length=sizes_of_wrong.length,
        counterexample=wrong.word,
        expected=f"the source of seed {wrong.seed}, T = {sizes_of_wrong.steps}: {wrong.expected}",
        got=wrong.got,
        source={
            "T": sizes_of_wrong.steps,
            "P": sizes_of_wrong.slots,
            "begin": sizes_of_wrong.begin,
            "seed": wrong.seed,
        },
    )


def _tried(theorem: Theorem, shape: SourceShape, suspects: tuple[int, ...]) -> Iterator[tuple[int, SourceSizes]]:
    """Small sizes, those of the solver first."""
    lengths = tuple(dict.fromkeys((*(s for s in suspects if 0 <= s <= LONGEST_TRIED), 1, 2, 3, 0, 5)))
    for seed in range(SEEDS):
        length = lengths[seed % len(lengths)]
        its = SourceSizes(length, seed % 4 == 3, 1 + seed % 4, 1 + seed % 3)
        yield from ((seed, possible) for possible in _possible(theorem, shape, (its,)))


def _possible(theorem: Theorem, shape: SourceShape, sizes: Sequence[SourceSizes]) -> Iterator[SourceSizes]:
    """With a begin symbol where a causal model has nothing else to read; without one where it has no symbol left."""
    causal = any(its.attention == "causal" for _, its in shape.transformers)
    for its in sizes:
        nothing = causal and its.length == 0
        slots = its.steps if theorem.source == "cot" else its.slots
        room = shape.symbols - 2 - (shape.mask is not None) - (its.length > 0) >= 1
        if room or not nothing:
            yield SourceSizes(its.length, room and (its.begin or nothing), its.steps, slots)
