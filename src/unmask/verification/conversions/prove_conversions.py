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
from unmask.verification.conversions.converted_folders import (
    OtherFields,
    SourceSizes,
    check_converted_folder,
    find_refutation,
)
from unmask.verification.conversions.machine import ConversionClaim
from unmask.verification.conversions.unknown_source import LayerShape, SourceShape, TransformerShape
from unmask.verification.lengths.obligations import Ledger, ObligationFailed, internal_failure
from unmask.verification.lengths.prove_lengths import LengthCertificate, unknown_statement
from unmask.verification.verdict import ProofRecord, Status, Verdict
from unmask.weights.kinds import Kind
from unmask.weights.model import Model

LAYERS = (LayerShape((2, 1), 2), LayerShape((1,), 3))
TRIED_SEEDS = 60
LONGEST_TRIED = 40
SAMPLE = (
    SourceSizes(0, True, 1, 1),
    SourceSizes(1, False, 2, 2),
    SourceSizes(2, True, 3, 1),
    SourceSizes(5, False, 4, 3),
    SourceSizes(31, False, 2, 5),
    SourceSizes(100, True, 3, 7),
)
"""The sizes at which the conversion of a random source is compared in every proof."""

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
    """The proof of a theorem: its statement, obligations, the other fields of converted models, a default shape."""

    statement: Callable[[ConversionClaim], str]
    prove: Callable[[ConversionClaim], None]
    other_fields: OtherFields
    shape: SourceShape


CONVERSION_PROOFS: dict[str, ConversionProof] = {
    "cot_to_pcot": ConversionProof(
        cot_to_pcot.statement,
        cot_to_pcot.prove,
        cot_to_pcot.other_fields,
        SourceShape(5, (("model", TransformerShape(3, 5, LAYERS, "causal")),)),
    ),
    "mdm_to_smdm": ConversionProof(
        mdm_to_smdm.statement,
        mdm_to_smdm.prove,
        mdm_to_smdm.other_fields,
        SourceShape(
            6, (("planner", TransformerShape(2, 2, LAYERS[:1])), ("predictor", TransformerShape(3, 6, LAYERS))), 2
        ),
    ),
}


def prove_theorem(
    stem: str,
    precision: int,
    engine: Engine,
    *,
    to: Kind | None = None,
    like: Model | None = None,
    lengths: Sequence[int] = (),
) -> Verdict:
    """Prove a theorem, given by its stem, for every source of the shape of `like`, or of a small shape."""
    theorem = next((t for t in THEOREMS if t.stem == stem), None)
    if theorem is None:
        raise ProblemError(f"unknown theorem {stem!r}; use one of {', '.join(CONVERSION_PROOFS)}")
    if to not in (None, theorem.target):
        raise ProblemError(f"{stem} takes a {theorem.source} to a {theorem.target}, not to a {to}")
    if not 1 <= precision <= 8:
        raise ProblemError(f"the precision must lie in 1 … 8, not {precision}")
    if stem not in CONVERSION_PROOFS:
        subject = f"For every N, the {theorem.target} that `convert` writes by {stem} does what its source does."
        reason = f"no proof of {stem} for every source is implemented; implemented are {', '.join(CONVERSION_PROOFS)}"
        return unknown_statement(subject, reason, TRUSTED)
    if like is not None and like.kind != theorem.source:
        raise ProblemError(
            f"{stem} takes a {theorem.source}, but `like` is a {like.kind}; use a model of kind {theorem.source}"
        )
    shape = CONVERSION_PROOFS[stem].shape if like is None else SourceShape.of(like)
    sizes = (*SAMPLE, *(SourceSizes(length, False, 2, 2) for length in lengths))
    return prove_every_source(theorem, shape, Precision(precision), engine, sizes=sizes)


def prove_every_source(
    theorem: Theorem, shape: SourceShape, precision: Precision, engine: Engine, *, sizes: Sequence[SourceSizes] = SAMPLE
) -> Verdict:
    """Decide the statement for the programs that the theorem's construction makes.

    1. Settle the obligations of the theorem                        `cot_to_pcot`, `mdm_to_smdm`
    2. Compare the programs with converted folders                  `converted_folders.check_converted_folder`
    3. If an obligation is open, search for a counterexample        `converted_folders.find_refutation`
    """
    ledger = Ledger()
    claim, proof = ConversionClaim(theorem, shape, precision, ledger), CONVERSION_PROOFS[theorem.stem]
    statement = proof.statement(claim)

    def verdict(status: Status, reason: str | None = None, **wrong: Any) -> Verdict:
        record = ProofRecord(statement, tuple(ledger.obligations), trusted=TRUSTED)
        certificate = LengthCertificate(dict(ledger.questions))
        return Verdict.of_record(status, record, reason=reason, certificate=certificate, **wrong)

    suspects: tuple[int, ...] = ()
    try:
        try:
            proof.prove(claim)
            for seed, source_sizes in enumerate(_feasible_sizes(theorem, shape, sizes)):
                check_converted_folder(claim, proof.other_fields, source_sizes, seed)
            return verdict("proved")
        except ObligationFailed as reason:
            open_reason, suspects = str(reason), reason.lengths
        except (NotAFamily, WeightsError) as reason:
            open_reason = str(reason)
        except AssertionError as reason:
            open_reason = internal_failure(reason)
        wrong = find_refutation(claim, _sizes_to_try(theorem, shape, suspects), engine)
    except (OutOfTime, TooLarge) as end:
        return verdict("unknown", str(end))
    if wrong is None:
        name = next((f"{o.name}: " for o in ledger.obligations if o.verdict == "open"), "")
        return verdict("unknown", f"{name}{open_reason}")
    sizes_of_wrong = wrong.sizes
    return verdict(
        "refuted",
        open_reason,
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


def _sizes_to_try(theorem: Theorem, shape: SourceShape, suspects: tuple[int, ...]) -> Iterator[tuple[int, SourceSizes]]:
    """Yield (seed, small sizes); lengths that the solver named come first."""
    lengths = tuple(dict.fromkeys((*(s for s in suspects if 0 <= s <= LONGEST_TRIED), 1, 2, 3, 0, 5)))
    for seed in range(TRIED_SEEDS):
        length = lengths[seed % len(lengths)]
        sizes = SourceSizes(length, seed % 4 == 3, 1 + seed % 4, 1 + seed % 3)
        yield from ((seed, feasible) for feasible in _feasible_sizes(theorem, shape, (sizes,)))


def _feasible_sizes(theorem: Theorem, shape: SourceShape, sizes: Sequence[SourceSizes]) -> Iterator[SourceSizes]:
    """Yield the sizes that a source can have.

    A causal model of N = 0 needs a begin symbol. If no symbol is left for it, the size is skipped.
    """
    causal = any(transformer.attention == "causal" for _, transformer in shape.transformers)
    for source_sizes in sizes:
        needs_begin = causal and source_sizes.length == 0
        slots = source_sizes.steps if theorem.source == "cot" else source_sizes.slots
        has_symbol_left = shape.symbols - 2 - (shape.mask is not None) - (source_sizes.length > 0) >= 1
        if has_symbol_left or not needs_begin:
            yield SourceSizes(
                source_sizes.length, has_symbol_left and (source_sizes.begin or needs_begin), source_sizes.steps, slots
            )
