"""Metered functions: their results, and the refusal of functions that need more than registers."""

import pytest

from unmask.problems.circuits.metered import Machine, NotMetered, Oracle, RegisterBound, RegisterOverflow, metered

STORE = [0]


@metered
def square(x):
    return x * x


@metered
def squares(N):
    for i in range(N):
        yield square(i)


@metered
def total(N):
    found = 0
    for x in squares(N):
        found += x
    return found


@metered
def power(N):
    x = 1
    for _ in range(N):
        x = 2 * x
    return x


def test_metered_functions_compute_what_python_computes():
    assert list(squares(100, 6)) == [0, 1, 4, 9, 16, 25]
    assert total(100, 6) == 55


def test_registers_are_counted_through_calls():
    assert (square.registers, squares.registers, total.registers) == (1, 5, 8)


@pytest.mark.parametrize(("machine", "limit"), [(total, 54), (squares, 24), (power, RegisterBound(1).at(6))])
def test_a_number_beyond_the_limit_ends_the_run(machine, limit):
    with pytest.raises(RegisterOverflow, match="beyond"):
        list(machine(limit, 6)) if machine.prints else machine(limit, 6)


def test_a_big_integer_is_refused_at_every_polynomial_limit():
    bound = RegisterBound(degree=4, coefficient=1000)
    assert power(bound.at(10), 10) == 1024
    with pytest.raises(RegisterOverflow, match="x of power is 38 bits long"):
        power(bound.at(100), 100)


def test_an_oracle_is_metered_as_well():
    large = Oracle("large", lambda x: 10**x)

    @metered
    def asks(oracle: Machine, N):
        return oracle(N) % 7

    assert asks(10**6, large, 6) == 10**6 % 7
    with pytest.raises(RegisterOverflow, match="the value of large"):
        asks(10**6, large, 7)


def keeps_a_list(N):
    kept = []
    for i in range(N):
        kept.append(i)
    return len(kept)


def reads_a_global_list(N):
    return STORE[N]


def names_a_global_list(N):
    return N + STORE


def calls_itself(N):
    return 0 if N == 0 else calls_itself(N - 1) + 1


def calls_python(N):
    return max(N, 1)


def has_a_default(N, kept=STORE):
    return N + len(kept)


def keeps_text(N):
    text = ""
    for _ in range(N):
        text = text + "1"
    return text


def keeps_a_tuple(N):
    a, b = N, 1
    return a + b


def makes_a_closure(N):
    return (lambda: N)()


def comprehends(N):
    return sum(i for i in range(N))


def shifts(N):
    return 1 << N


def powers(N):
    return 2**N


def keeps_a_generator(N):
    kept = squares(N)
    return kept


def runs_over_a_number(N):
    for i in N:
        yield i + 1


def keeps_what_is_sent(N):
    kept = yield N
    yield kept


def declares_a_global(N):
    global STORE
    STORE = N
    return N


CHEATING = [
    keeps_a_list,
    reads_a_global_list,
    names_a_global_list,
    calls_itself,
    calls_python,
    has_a_default,
    keeps_text,
    keeps_a_tuple,
    makes_a_closure,
    comprehends,
    shifts,
    powers,
    keeps_a_generator,
    runs_over_a_number,
    keeps_what_is_sent,
    declares_a_global,
]


@pytest.mark.parametrize("function", CHEATING, ids=lambda function: function.__name__)
def test_a_cheating_function_is_refused(function):
    with pytest.raises(NotMetered, match=f"{function.__name__} cannot be metered"):
        metered(function)


def test_a_list_in_a_closure_is_refused():
    kept = [1, 2]

    def reads_a_closure(N):
        return kept + N

    with pytest.raises(NotMetered, match="kept is neither a register nor a number"):
        metered(reads_a_closure)
