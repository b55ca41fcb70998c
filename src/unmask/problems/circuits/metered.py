"""Metered functions: Python functions that a machine with logarithmic space can run.

    statement   register = e | register += e | if e | while e | for register in range(e, …) | for register in machine(…)
                return e | yield e | yield from machine(…) | break | continue | pass
    e           a whole number | register | e + e | e - e | e · e | e // e | e % e | -e | not e | comparisons | and, or
                e if e else e | machine(…)

A register is a name that holds one whole number. `metered` reads the source of a function and refuses everything else:
lists, strings, attributes, global variables other than numbers, inner functions, default values. A function may call
only metered functions that exist when it is defined, so there is no recursion, and constantly many registers are alive
at any time. The machine prints a number by `yield`.

The size of the registers is enforced while the function runs: every number that is stored in a register, returned or
printed is compared with the first argument, `limit`. For |registers| <= c·(N + 2)^d
(`RegisterBound`) this is O(log N) bits each. An expression between two registers has constantly many operators, so
its intermediate values have O(log N) bits, too. Hence a metered function within a bound computes its output in
logarithmic space from 1^N, at every N at which it does not raise `RegisterOverflow`.

A parameter annotated `Machine` is a metered function, or an `Oracle`: a function that is given by its values.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any, NoReturn

from unmask.errors import ProblemError

ALLOWED = (
    *(ast.Module, ast.FunctionDef, ast.arguments, ast.arg, ast.Load, ast.Store),
    *(ast.Assign, ast.AugAssign, ast.If, ast.While, ast.For, ast.Break, ast.Continue, ast.Pass, ast.Return, ast.Expr),
    *(ast.Yield, ast.YieldFrom, ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp),
    *(ast.Call, ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.USub, ast.Not, ast.And, ast.Or),
    *(ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE),
)
"""The syntax of metered functions; everything else is refused."""
LIMIT, PRINTED = "limit", "printed"


class NotMetered(ProblemError):
    """The error for a function that is not of this form: it may need more than constantly many registers."""


class RegisterOverflow(ProblemError):
    """The error for a number that is too large for a register."""


@dataclass(frozen=True)
class RegisterBound:
    """Registers hold numbers of absolute value up to coefficient · (N + 2)^degree."""

    degree: int
    coefficient: int = 1

    def at(self, length: int) -> int:
        return self.coefficient * (length + 2) ** self.degree


class Machine:
    """A callable for metered functions. Its arguments are the limit, then numbers."""

    name: str

    def __call__(self, *arguments: Any) -> Any:
        raise NotImplementedError


class Oracle(Machine):
    """A function of whole numbers that is given by its values, such as the weights of a family of models."""

    def __init__(self, name: str, function: Callable[..., int]) -> None:
        self.name, self._function = name, function

    def __call__(self, *arguments: int) -> int:
        limit, *values = arguments
        value = self._function(*values)
        return _bounded(int(value), limit, f"the value of {self.name}")


class Metered(Machine):
    """A metered function. `registers` is the largest number alive at once, without those of machines passed to it."""

    def __init__(self, function: FunctionType) -> None:
        self.name = function.__name__
        module = ast.parse(textwrap.dedent(inspect.getsource(function)))
        (definition,) = module.body
        assert isinstance(definition, ast.FunctionDef)
        definition.decorator_list, definition.returns = [], None
        if ast.get_docstring(definition) is not None:
            definition.body = definition.body[1:] or [ast.Pass()]
        names = dict(function.__globals__)
        names |= inspect.getclosurevars(function).nonlocals
        form = _CheckedDefinition(self.name, definition, names)
        self.prints, self.registers = form.prints, form.registers
        namespace: dict[str, Any] = {**form.used_globals, "range": range, "_bounded": _bounded}
        code = ast.fix_missing_locations(ast.Module([_LimitChecks(form).visit(definition)], []))
        exec(compile(code, inspect.getfile(function), "exec"), namespace)
        self._run = namespace[self.name]

    def __call__(self, *arguments: Any) -> Any:
        return self._run(*arguments)


def metered(function: Any) -> Metered:
    """Return the metered function; raise NotMetered if it is not of the form above."""
    return Metered(function)


@dataclass(frozen=True, eq=False)
class MachineCall:
    """A metered function of numbers, N first, with the callables passed to it and the bound of all registers."""

    function: Metered
    machines: tuple[Machine, ...]
    bound: RegisterBound

    def __call__(self, length: int, *arguments: int) -> int:
        return self.function(self.bound.at(length), *self.machines, length, *arguments)

    def __str__(self) -> str:
        return f"{self.function.name} of {' '.join(machine.name for machine in self.machines)}"


def _bounded(value: int, limit: int, subject: str) -> int:
    if not -limit <= value <= limit:
        raise RegisterOverflow(
            f"{subject} is {value.bit_length()} bits long, beyond the {limit.bit_length()} of a register"
        )
    return value


class _CheckedDefinition:
    """The parts of a definition; raise NotMetered if it does not have the required form."""

    def __init__(self, name: str, definition: ast.FunctionDef, names: dict[str, Any]) -> None:
        self.name = name
        arguments = definition.args
        if arguments.defaults or arguments.kw_defaults or arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
            self._refuse(definition, "it has arguments other than plain registers")
        self.machines = {a.arg for a in arguments.args if _text(a.annotation) == "Machine"}
        self.numbers = [a.arg for a in arguments.args if a.arg not in self.machines]
        for argument in arguments.args:
            argument.annotation = None
        nodes = list(ast.walk(definition))
        stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        self.local = stored | set(self.numbers)
        self.used_globals: dict[str, Any] = {}
        self.registers = len(self.local)
        self.prints = any(isinstance(node, ast.Yield | ast.YieldFrom) for node in nodes)
        self._iterated = [n.iter for n in nodes if isinstance(n, ast.For)]
        self._iterated += [n.value for n in nodes if isinstance(n, ast.YieldFrom)]
        self._callables: list[ast.AST] = []
        self._statements = [n.value for n in nodes if isinstance(n, ast.Expr)]
        for node in nodes:
            self._check(node, names)
        if reserved := self.local & {LIMIT, PRINTED, "range"} or stored & self.machines:
            self._refuse(definition, f"{', '.join(sorted(reserved))} cannot be a register")

    def _check(self, node: ast.AST, names: dict[str, Any]) -> None:
        if not isinstance(node, ALLOWED):
            self._refuse(node, "this is not an operation on registers")
        if isinstance(node, ast.Constant) and not isinstance(node.value, int):
            self._refuse(node, "this is not a whole number")
        if isinstance(node, ast.Assign) and not (len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)):
            self._refuse(node, "this does not assign to one register")
        if isinstance(node, ast.For) and (node.orelse or not isinstance(node.target, ast.Name)):
            self._refuse(node, "this loop does not run over one register")
        if isinstance(node, ast.Yield | ast.YieldFrom) and (node not in self._statements or node.value is None):
            self._refuse(node, "a yield must be a separate statement with a value")
        if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Yield | ast.YieldFrom):
            self._refuse(node, "this statement does nothing with a register")
        if isinstance(node, ast.For | ast.YieldFrom):
            over = node.iter if isinstance(node, ast.For) else node.value
            if not isinstance(over, ast.Call) or (_text(over.func) == "range" and isinstance(node, ast.YieldFrom)):
                self._refuse(node, "this does not run over a range or a machine")
        if isinstance(node, ast.Call):
            self._check_call(node, names)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node not in self._callables:
            self._check_name(node, names)

    def _check_call(self, node: ast.Call, names: dict[str, Any]) -> None:
        called = _text(node.func)
        self._callables.append(node.func)
        self._callables += [a for a in node.args if _text(a) in self.machines]
        iterated = node in self._iterated
        if node.keywords:
            self._refuse(node, "the arguments of a machine must be positional")
        if called == "range" and iterated:
            self.registers += 2
            return
        if called in self.machines:
            return
        machine = names.get(called)
        if not isinstance(machine, Metered):
            self._refuse(node, f"{called} is not a metered function that is defined before {self.name}")
        if machine.prints != iterated:
            self._refuse(node, f"{called} {'prints numbers' if machine.prints else 'returns a number'}")
        self.used_globals[called] = machine
        self.registers += machine.registers

    def _check_name(self, node: ast.Name, names: dict[str, Any]) -> None:
        if node.id in self.local:
            return
        value = names.get(node.id)
        if not isinstance(value, int):
            self._refuse(node, f"{node.id} is neither a register nor a number")
        self.used_globals[node.id] = value

    def _refuse(self, node: ast.AST, why: str) -> NoReturn:
        line = (ast.unparse(node) or f"operator {type(node).__name__}").splitlines()[0]
        raise NotMetered(f"{self.name} cannot be metered: `{line}`: {why}")


class _LimitChecks(ast.NodeTransformer):
    """The definition with its limit, which is passed to every machine and checked at every assignment to a register."""

    def __init__(self, form: _CheckedDefinition) -> None:
        self._form = form

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.args.args.insert(0, ast.arg(LIMIT))
        node.body = [self._bound_check(name) for name in self._form.numbers] + node.body
        return node

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        self.generic_visit(node)
        return [node, self._bound_check(_text(node.targets[0]))]

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        self.generic_visit(node)
        return [node, self._bound_check(_text(node.target))]

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.body.insert(0, self._bound_check(_text(node.target)))
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        self.generic_visit(node)
        if node.value is not None:
            arguments = [node.value, ast.Name(LIMIT, ast.Load()), ast.Constant(f"what {self._form.name} returns")]
            node.value = ast.Call(ast.Name("_bounded", ast.Load()), arguments, [])
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if isinstance(node.value, ast.YieldFrom):
            return node
        assert isinstance(node.value, ast.Yield)
        assert node.value.value is not None
        assignment = ast.Assign([ast.Name(PRINTED, ast.Store())], node.value.value)
        return [assignment, self._bound_check(PRINTED), ast.Expr(ast.Yield(ast.Name(PRINTED, ast.Load())))]

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if _text(node.func) != "range":
            node.args.insert(0, ast.Name(LIMIT, ast.Load()))
        return node

    def _bound_check(self, register: str) -> ast.stmt:
        subject = f"{register} of {self._form.name}"
        return ast.parse(f"if not -{LIMIT} <= {register} <= {LIMIT}: _bounded({register}, {LIMIT}, {subject!r})").body[
            0
        ]


def _text(node: ast.AST | None) -> str:
    return "" if node is None else ast.unparse(node)
