"""Model → Boolean circuit: what the weights compute at their N and p, as gates.

inputs    x3.1: bit 1 of the number of the input symbol at place 3 (x3 where there are two symbols); numbers
          beyond the last symbol stand for it
outputs   the answers of the last slots, `undecided` (one of them is neither accept nor reject), `undefined` (the
          run fails: a row attends to nothing, or an smdm edits a written slot)
"""

from unmask.errors import UnmaskError
from unmask.problems.circuits.circuit import Circuit
from unmask.verification.proofs.sides import Encoding, ModelSide, circuit_of
from unmask.verification.symbolic.extract import extract
from unmask.weights.model import Model


def extracted_circuit(model: Model, *, outputs: int = 1) -> Circuit:
    """The circuit of the last `outputs` slots; of several, the last is the answer."""
    slots = model.symbols_written
    if not 1 <= outputs <= slots:
        raise UnmaskError(f"the model has {slots} slots, so it cannot have {outputs} outputs; use 1 … {slots}")
    symbols = range(len(model.input_symbols))
    encoding = Encoding(len(symbols), model.length)
    return circuit_of(ModelSide(extract(model), symbols, outputs), encoding)
