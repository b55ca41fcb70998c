"""Compiler × kind → the family that it instantiates, at every N but the shortest; None if each N has its program."""

from unmask.numerics.precision import Precision
from unmask.programs.compilers.circuits import FamilyCompiler
from unmask.programs.compilers.compiler import Compiler
from unmask.programs.compilers.family import Family
from unmask.programs.compilers.recurrences import SystemCompiler
from unmask.programs.compilers.regular import RegularCompiler
from unmask.weights.model import Kind


def family_of(compiler: Compiler, kind: Kind, precision: Precision) -> Family | None:
    """What `compile` writes the folders of."""
    if isinstance(compiler, RegularCompiler):
        return compiler.family(kind)
    if isinstance(compiler, FamilyCompiler):
        return compiler.family_of(kind, precision)
    return compiler.family(kind, precision) if isinstance(compiler, SystemCompiler) else None
