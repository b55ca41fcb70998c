"""Every parameter of every sampler has a range: outside it is refused, and inside it nothing overflows."""

import warnings
from dataclasses import fields

import pytest

from unmask.samplers.passes.parameters import LARGEST, SMALLEST, SamplerError
from unmask.samplers.zoo import NOT_TYPED, RULES, parse_sampler

BAD = ["1e400", "inf", "-inf", "nan", "-1", "-1e400", "5e-324", "1e-320", "1e308", "1e-7", "1e7", "-0.1"]
BAD += ["", "x", "True", "None", "1_0e9", "0x10", "½", "1e", "9" * 30, "9" * 400, "\x1b[2J"]
PARAMETERS = [
    (name, field.name, "float" in str(field.type))
    for name, rule in RULES.items()
    for field in fields(rule)
    if field.name not in NOT_TYPED and "str" not in str(field.type)
]


def named(name, parameter, value):
    needed = "threshold=0.5," if name == "fast-dllm" and parameter not in ("threshold", "factor") else ""
    return f"{name}:{needed}{parameter}={value}"


@pytest.mark.parametrize(("name", "parameter", "is_float"), PARAMETERS)
@pytest.mark.parametrize("value", BAD)
def test_what_is_out_of_range_is_refused(name, parameter, is_float, value):
    del is_float
    with pytest.raises(SamplerError, match=f"^{parameter} of {name} must be"):
        parse_sampler(named(name, parameter, value))


@pytest.mark.parametrize("value", ["1e400", "inf", "5e-324"])
def test_the_command_says_so_once(value, unmask):
    code, out, err = unmask("samplers", "a*b", "--length", 3, "--sampler", f"llada:temperature={value}")
    assert (code, out) == (2, "")
    assert err.startswith("unmask: temperature of llada must be 0 or a number from 0.000001 to 1,000,000, not ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(("name", "parameter", "is_float"), PARAMETERS)
def test_the_ends_of_a_range_run_without_a_warning(name, parameter, is_float, unmask):
    least, most = (SMALLEST, LARGEST) if is_float else (1, 50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for value in (0, least, most) if is_float else (least, most):
            if (is_float and value == most and parameter in ("eps", "threshold")) or (name, parameter) == (
                "remdm",
                "eta",
            ):
                value = min(value, 0.5)
            if parameter == "gen_length":
                value = 2
            for more in ("", ",alg=entropy,temperature=1e6", ",alg=maskgit_plus,temperature=1e-6"):
                if (more and name != "dream") or f"{parameter}=" in more:
                    continue
                sampler = named(name, parameter, value) + more
                code, _, err = unmask("samplers", "a*b", "--length", 3, "--words", 2, "--sampler", sampler)
                assert (code, err) == (0, ""), sampler
