"""Programs whose values, errors and output are hostile: one message, without control characters."""

import subprocess
import sys

import pytest

HEAD = """import atexit, sys, warnings
from unmask.recurrences import N, Slots, System, indices, letter

(i,) = indices("i")


class Value:
    def __repr__(self):
        return self.text()

    def text(self):
        return "v"


"""
TAIL = """
cell = Slots("cell", i.range(N), VALUES)
cell.rule(letter(i), RULE)
program = System("ab", cell, answer=cell)
"""
FIRST = "RULE = lambda x: VALUES[x == 'a']\n"
ALERT = "\\x1b[2J\\x07\\x9b31m\\u202e"
RAISES = """
def text(self):
    raise ZeroDivisionError("\\x1b[2J")
Value.text = text
VALUES = (Value(), Value())
"""
VALUES = {
    "5,000 digits": "VALUES = (10**5000, 2)\n" + FIRST,
    "5,000 digits in a tuple": "VALUES = ((10**5000, 1), 2)\n" + FIRST,
    "5,000 digits in a set": "VALUES = (frozenset([10**5000]), frozenset())\n" + FIRST,
    "5,000 digits from a rule": "VALUES = (2, 3)\nRULE = lambda x: 10**5000\n",
    "repr raises": RAISES + FIRST,
    "repr exits": "Value.text = lambda self: sys.exit(0)\nVALUES = (Value(), Value())\n" + FIRST,
    "repr is a number": "Value.text = lambda self: 7\nVALUES = (Value(), Value())\n" + FIRST,
    "repr is nothing": "Value.text = lambda self: None\nVALUES = (Value(), Value())\n" + FIRST,
    "repr recurs": "Value.text = Value.__repr__\nVALUES = (Value(), Value())\n" + FIRST,
    "repr raises in a rule's value": RAISES + "VALUES = (2, 3)\nRULE = lambda x: Value()\n",
    "hash raises": "Value.__hash__ = lambda self: 1 // 0\nVALUES = (Value(), Value())\n" + FIRST,
    "eq raises": "Value.__hash__ = lambda self: 1\nValue.__eq__ = lambda self, other: 1 // 0\n"
    "VALUES = (Value(), Value())\n" + FIRST,
    "an error whose str raises": "class E(Exception):\n    __str__ = lambda self: 1 // 0\n"
    "def RULE(x): raise E\nVALUES = (2, 3)\n",
    "an error at the top whose str raises": "class E(Exception):\n    __str__ = lambda self: 1 // 0\nraise E\n",
    "an address of 5,000 digits": "VALUES = (2, 3)\nletter(i + 10**5000)\n" + FIRST,
    "an address that is hostile": RAISES + "letter(i + Value())\n" + FIRST,
    "no function": RAISES + "RULE = Value()\n",
}


def compiled(unmask, tmp_path, text, *options):
    (tmp_path / "p.py").write_text(HEAD + text + TAIL)
    file = f"program:{tmp_path / 'p.py'}"
    return unmask("compile", file, "--length", 2, "--to", "mdm", "--out", tmp_path / "m", *options)


@pytest.mark.parametrize("name", VALUES)
def test_a_hostile_value_is_one_message(name, unmask, tmp_path):
    code, out, err = compiled(unmask, tmp_path, VALUES[name])
    assert (code, out) == (2, "")
    assert err.startswith("unmask: ")
    assert err.count("\n") == 1
    assert "should not happen" not in err
    assert "\x1b" not in err
    assert not (tmp_path / "m").exists()


PRINTS = {
    "at the top": f"print('{ALERT}')\n",
    "to standard error": f"print('{ALERT}', file=sys.stderr)\n",
    "a warning": f"warnings.warn('{ALERT}')\n",
    "in a rule": f"def RULE(x):\n    print('{ALERT}')\n    return VALUES[x == 'a']\n",
    "in repr": f"def text(self):\n    print('{ALERT}')\n    return 'v'\n"
    "Value.text = text\nVALUES = (Value(), Value())\n",
    "at the end": f"atexit.register(lambda: print('{ALERT}'))\n",
    "an error": f"raise ValueError('{ALERT}')\n",
}


@pytest.mark.parametrize("options", [[], ["--json"]])
@pytest.mark.parametrize("name", PRINTS)
def test_what_a_program_prints_is_escaped(name, options, tmp_path):
    (tmp_path / "p.py").write_text(HEAD + "VALUES = (2, 3)\n" + FIRST + PRINTS[name] + TAIL)
    command = [sys.executable, "-m", "unmask", "compile", "program:p.py", "--length", "2", "--to", "mdm", "--out", "m"]
    completed = subprocess.run([*command, *options], cwd=tmp_path, capture_output=True, check=False)
    output = (completed.stdout + completed.stderr).decode()
    assert completed.returncode == (2 if name == "an error" else 0)
    assert "\\u{1b}[2J" in output or "\\u001b[2J" in output
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(output)


def test_lines_and_tabs_of_a_program_stay(unmask, tmp_path):
    code, out, _ = compiled(unmask, tmp_path, "print('one\\n\\ttwo')\nVALUES = (2, 3)\n" + FIRST)
    assert code == 0
    assert out.startswith("one\n\ttwo\n")
