"""Only the problems and the function that chooses a compiler check the class of a problem or compiler."""

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "unmask"
ALLOWED = ("problems/", "compilers/compiler.py")
TYPE_CHECKS = {"isinstance", "issubclass", "hasattr", "type", "getattr"}
A_PROBLEM = re.compile(r"\b[pP]roblem\b|\w+Problem\b|\b[cC]ompiler\b|\w+Compiler\b")


def isinstance_checks(root):
    """Yield every call, and every case of a `match`, that checks the class of a problem or of a compiler."""
    for path in sorted(root.rglob("*.py")):
        module = path.relative_to(root).as_posix()
        if module.startswith(ALLOWED):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in TYPE_CHECKS
            if (is_call or isinstance(node, ast.MatchClass)) and A_PROBLEM.search(ast.unparse(node)):
                yield f"{module}:{node.lineno if is_call else '?'}: {ast.unparse(node)}"


def test_no_module_checks_the_kind_of_a_problem():
    assert list(isinstance_checks(SOURCE)) == []


@pytest.mark.parametrize(
    "text",
    [
        "isinstance(against, FamilyProblem)",
        "hasattr(type(problem), 'automaton')",
        "getattr(subject.problem, 'shape', None)",
        "isinstance(self.compiler, RegularCompiler)",
        "hasattr(compiler, 'family')",
        "def f(x):\n    match x:\n        case ExpressionProblem():\n            pass",
    ],
)
def test_a_check_of_the_kind_is_reported(tmp_path, text):
    (tmp_path / "verification").mkdir()
    (tmp_path / "verification" / "x.py").write_text(text)
    assert len(list(isinstance_checks(tmp_path))) >= 1


def test_compiler_for_may_check_the_kind(tmp_path):
    for module in ("problems/x.py", "compilers/compiler.py"):
        (tmp_path / module).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / module).write_text("isinstance(problem, FamilyProblem)")
    assert list(isinstance_checks(tmp_path)) == []
