"""Programs → Extent: counted register by register, where what is compiled is too varied for a formula of its own."""

from collections.abc import Iterable

from unmask.programs.language.declarations import SignedBits, TableBits
from unmask.programs.language.program import Program, bits_for
from unmask.weights.price import Extent


def extent_of(programs: Iterable[Program], symbols: int, places: int) -> Extent:
    """Registers that hold the address of one of `places` rows grow with them; all others are `fixed`."""
    bits = bits_for(places)
    counted = [(_addresses(program, bits), program) for program in programs]
    return Extent(
        layers=max(len(program.layers) for _, program in counted),
        symbols=symbols,
        fixed=max(program.width - bits * addresses for addresses, program in counted),
        per_bit=max(addresses for addresses, _ in counted),
        places=places,
    )


def _addresses(program: Program, bits: int) -> int:
    declared = ((program.positions.get(name), labels) for name, labels in program.registers.items())
    return sum(isinstance(d, SignedBits | TableBits) and len(labels) == bits for d, labels in declared)
