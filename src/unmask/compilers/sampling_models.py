"""Random circuit → Model that samples its outputs: `coins:PROBLEM`, where all inputs of a circuit are coins.

smdm    every slot is written once           T = depth, a slot per coin and gate
mdm     slots are rewritten                  T = depth, width + ⌈log2(T - 1)⌉ slots

Depth counts the coins as level 1. `coins:even-parity` is the two-pass sampler of strings of even parity, mdm only.
"""

from unmask.compilers.model_families import check_precision, model_of
from unmask.errors import ProblemError
from unmask.numerics.arithmetic import Precision
from unmask.problems.problem import LetteredCircuit, Problem
from unmask.problems.random_circuits import Layout, RandomCircuit, even_parity, with_random_inputs
from unmask.programs.sampling_programs import (
    LEAST_PRECISION,
    in_place_programs,
    sampling_vocabulary,
    with_counter,
    write_once_programs,
)
from unmask.weights.kinds import Kind
from unmask.weights.model import Model

PREFIX = "coins:"
EVEN_PARITY = "even-parity"


def random_circuit_of(problem: Problem, length: int | None) -> RandomCircuit:
    """The circuit that specifies a problem, with a coin for every input."""
    chosen = problem.length if problem.length is not None else length
    if chosen is None:
        raise ProblemError(f"coins:{problem.name} has circuits of many lengths; choose one with --length N")
    if length not in (None, chosen):
        raise ProblemError(f"{problem.name} has {chosen} inputs, not {length}; leave out --length")
    specification = problem.specification(chosen)
    if not isinstance(specification, LetteredCircuit):
        raise ProblemError(f"coins: needs a circuit, not {problem.name}; use coins:aiger:FILE or coins:family:NAME")
    return with_random_inputs(specification.circuit)


def compile_coins(problem: Problem | None, kind: Kind, *, length: int | None, precision: int) -> Model:
    """`coins:PROBLEM` → Model; None is `coins:even-parity`."""
    if problem is None:
        if kind != "mdm" or length is None:
            raise ProblemError("coins:even-parity rewrites slots; use --to mdm --length N, N the length of the strings")
        return sampling_model(even_parity(length), precision, f"{PREFIX}{EVEN_PARITY}")
    circuit = random_circuit_of(problem, length)
    if kind not in ("smdm", "mdm"):
        raise ProblemError(f"coins: compiles to smdm (each slot written once) or mdm (slots rewritten), not {kind}")
    return sampling_model(circuit if kind == "smdm" else circuit.in_place(), precision, PREFIX + problem.name)


def sampling_model(source: RandomCircuit | Layout, precision: int, name: str) -> Model:
    """A model that writes each node once, or one that rewrites the slots of a layout."""
    numbers = Precision(precision)
    check_precision(numbers, LEAST_PRECISION)
    if isinstance(source, RandomCircuit):
        kind: Kind = "smdm"
        nodes = source.once()
        programs, outputs = write_once_programs(nodes), len(source.outputs)
        steps, slots = source.passes, len(nodes)
    else:
        kind, programs = "mdm", in_place_programs(source)
        steps, slots, outputs = len(source.passes), len(with_counter(source)[0]), source.outputs
    return model_of(
        kind,
        programs,
        numbers,
        sampling_vocabulary(),
        steps=steps,
        length=0,
        padding=slots,
        outputs=outputs,
        provenance=[{"compiled": name}],
    )
