"""Parameters of samplers, checked when one is made."""

from unmask.errors import UnmaskError, shortened

MOST = 100_000  # steps, slots of a block, slots: what a plan of all passes may have to hold


class SamplerError(UnmaskError):
    """A sampler that is unknown, or a parameter that it cannot have."""


def check_count(sampler: str, name: str, value: int | None, least: int = 1) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MOST):
        given = shortened(repr(value))
        raise SamplerError(f"{name} of {sampler} must be an integer from {least} to {MOST:,}, not {given}")


def check_number(sampler: str, name: str, value: float | None, least: float = 0, most: float = float("inf")) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most or value != value:
        upto = "" if most == float("inf") else f" and at most {most:g}"
        raise SamplerError(
            f"{name} of {sampler} must be a number of at least {least:g}{upto}, not {shortened(repr(value))}"
        )


def check_choice(sampler: str, name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise SamplerError(f"{name} of {sampler} must be one of {', '.join(choices)}, not {shortened(repr(value))}")
