"""Parameters of samplers, checked when one is made."""

from unmask.errors import UnmaskError, shortened

MOST = 100_000  # steps, slots of a block, slots: what a plan of all passes may have to hold
SMALLEST, LARGEST = 1e-6, 1e6
"""The range of temperatures and factors."""


class SamplerError(UnmaskError):
    """A sampler that is unknown, or a parameter that it cannot have."""


def check_count(sampler: str, name: str, value: int | None, least: int = 1) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MOST):
        given = shortened(repr(value))
        raise SamplerError(f"{name} of {sampler} must be an integer from {least} to {MOST:,}, not {given}")


def check_number(sampler: str, name: str, value: float | None, most: float = LARGEST) -> None:
    """Refuse what is neither 0 nor a number from SMALLEST to `most`, so that no division and no product overflows."""
    if value is None:
        return
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not (value == 0 or SMALLEST <= value <= most):  # nan is not in any range
        raise SamplerError(
            f"{name} of {sampler} must be 0 or a number from {SMALLEST:f} to {most:,.10g}, not {shortened(repr(value))}"
        )


def check_choice(sampler: str, name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise SamplerError(f"{name} of {sampler} must be one of {', '.join(choices)}, not {shortened(repr(value))}")
