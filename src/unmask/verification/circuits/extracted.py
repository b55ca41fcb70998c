"""Model → Boolean circuit: the function that the weights compute at their N and p, as gates.

inputs    x3.1: bit 1 of the number of the input symbol at index 3 (x3 if there are two symbols); numbers
          beyond the last symbol mean the last symbol
outputs   answer0, answer1, …: one per slot that has an answer; `undecided` (an answer is neither accept nor
          reject); `undefined` (the run ends in an error: a row attends to nothing, or an smdm edits a written slot)
"""

from unmask.errors import UnmaskError
from unmask.problems.circuits.circuit import FALSE, Circuit, CircuitBuilder
from unmask.verification.words.deciders import Decider, Encoding, ModelDecider
from unmask.verification.words.extraction import ACCEPT, REJECT, extract
from unmask.weights.model import Model


def extracted_circuit(model: Model, *, outputs: int = 1) -> Circuit:
    """Return the circuit of the answers of the last `outputs` slots, in order."""
    slots = model.symbols_written
    if not 1 <= outputs <= slots:
        raise UnmaskError(f"the model has {slots} slots, so it cannot have {outputs} outputs; use 1 … {slots}")
    symbols = range(len(model.input_symbols))
    encoding = Encoding(len(symbols), model.length)
    return circuit_of(ModelDecider(extract(model), symbols, outputs), encoding)


def circuit_of(decider: Decider, encoding: Encoding) -> Circuit:
    """Return the circuit of one decider, with the outputs listed above."""
    builder = CircuitBuilder(encoding.names())
    decision = decider.decide(builder, encoding.literals(builder))
    accepted = [answer.get(ACCEPT, FALSE) for answer in decision.answers]
    decided = [builder.or_(answer.get(ACCEPT, FALSE), answer.get(REJECT, FALSE)) for answer in decision.answers]
    undecided = builder.and_(builder.and_(*decided) ^ 1, decision.fails ^ 1)
    named = [f"answer{i}" for i in range(len(accepted))]
    return builder.circuit([*accepted, undecided, decision.fails], [*named, "undecided", "undefined"])
