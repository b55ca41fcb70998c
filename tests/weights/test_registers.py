import pytest

from unmask.weights.registers import Registers

STATE = {"one": [""], "state": ["q0", "q1"]}


def test_columns_have_names():
    registers = Registers.of(STATE)
    assert registers.width == 3
    assert [registers.column_name(c) for c in range(3)] == ["one", "state:q0", "state:q1"]
    assert Registers.from_json(registers.to_json(), width=3) == registers


@pytest.mark.parametrize("data", [None, [], "x", {"a": "bc"}, {"a": [1, 2, 3]}, {"a": ["x"]}, {"a": {}}])
def test_a_comment_that_does_not_fit_is_no_error(data):
    assert Registers.from_json(data, width=3) is None
