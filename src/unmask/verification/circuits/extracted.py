"""Model → Boolean circuit: the function that the weights compute at their N and p, as gates.

inputs    x3.1: bit 1 of the number of the input symbol at place 3 (x3 if there are two symbols); numbers
          beyond the last symbol mean the last symbol
outputs   the answers of the last slots, `undecided` (one of them is neither accept nor reject), `undefined` (the
          run ends in an error: a row attends to nothing, or an smdm edits a written slot)
"""

from unmask.errors import UnmaskError
from unmask.problems.circuits.circuit import Circuit
from unmask.verification.words.deciders import Encoding, ModelDecider, circuit_of
from unmask.verification.words.extraction import extract
from unmask.weights.model import Model


def extracted_circuit(model: Model, *, outputs: int = 1) -> Circuit:
    """The circuit of the last `outputs` slots; of several, the last is the answer."""
    slots = model.symbols_written
    if not 1 <= outputs <= slots:
        raise UnmaskError(f"the model has {slots} slots, so it cannot have {outputs} outputs; use 1 … {slots}")
    symbols = range(len(model.input_symbols))
    encoding = Encoding(len(symbols), model.length)
    return circuit_of(ModelDecider(extract(model), symbols, outputs), encoding)
