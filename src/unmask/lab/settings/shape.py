"""Shape: the switches of a network, as a config holds them."""

from typing import Annotated, Literal

import msgspec

from unmask.documents import said
from unmask.lab.tasks.layout import MOST_FETCHES

Encoding = Literal["bits", "positions", "learned", "none"]
Gate = Literal["bilinear", "gelu"]
Count = Annotated[int, msgspec.Meta(ge=1, le=4096), said("an integer from 1 to 4096")]


class Shape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One network.

    encoding   bits: own place and the places of the operands in binary; positions: own place in binary; learned: a
               vector per place; none
    beta       a learned bias on the scores of the operands' places, one operand per head, that starts at beta: it hands
               the wiring over. None: no such bias
    handed     of how many operands beta hands the wiring over; None: of all
    code_scale how large the map of codes is drawn, against torch's default
    aux        a second read-out is taught the symbol of every operand; it gives nothing away when the model is run
    """

    width: Count = 64
    hidden: Count = 128
    layers: Count = 2
    heads: Count = 4
    mlp: Annotated[Gate, said("bilinear or gelu")] = "bilinear"
    encoding: Annotated[Encoding, said("bits, positions, learned or none")] = "bits"
    beta: Annotated[
        Annotated[float, msgspec.Meta(ge=-1000, le=1000)] | None, said("a number from -1000 to 1000, or null")
    ] = None
    handed: Annotated[
        Annotated[int, msgspec.Meta(ge=0, le=MOST_FETCHES)] | None, said("an integer from 0 to 8, or null: all")
    ] = None
    code_scale: Annotated[float, msgspec.Meta(ge=0, le=100), said("a number from 0 on")] = 1.0
    aux: Annotated[bool, said("true or false")] = False
