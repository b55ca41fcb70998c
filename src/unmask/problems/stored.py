"""Stored problem: the JSON object {"kind": …, fields} under `problem` in a model folder. It names no file."""

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from unmask.problems.problem import Problem


class Stored(msgspec.Struct, frozen=True, tag_field="kind", forbid_unknown_fields=True):
    """The fields of one kind of problem: exactly these, of these types."""

    def problem(self) -> "Problem":
        """The problem that was stored."""
        raise NotImplementedError
