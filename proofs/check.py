"""Compile the proofs, and print the assumptions of every theorem: each must be closed under the global context.

Whatever else the files define or prove is asked about all at once, so that what a theorem does not use is not left out.

    python proofs/check.py

Fails if a file does not compile or is not in _CoqProject, if it supposes something outside of a section, used or not,
or if a theorem rests on an axiom or on a proof that was left out.
"""

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
CLOSED = "Closed under the global context"
FORBIDDEN = re.compile(r"\b(?:Axiom|Axioms|Admitted|admit|Conjecture|Parameter|Parameters)\b")
THEOREM = re.compile(r"^\s*(?:Theorem|Corollary|Example) (\w+)", re.M)
# in a .glob, whatever the keyword was: the path of modules, <> if there is none, and the name
DEFINED = re.compile(r"^(?:def|prf|inst) \d+:\d+ (\S+ \S+)$", re.M)
SUPPOSED = re.compile(r"^ax \d+:\d+ (\S+ \S+)$", re.M)


def files() -> list[str]:
    """The stems of the files, in the order in which they are compiled."""
    return [line[:-2] for line in (HERE / "_CoqProject").read_text().splitlines() if line.endswith(".v")]


def names(kind: re.Pattern[str], ending: str) -> list[str]:
    """Every name of a kind, with its file and its module."""
    found = [(stem, name) for stem in files() for name in kind.findall((HERE / f"{stem}{ending}").read_text())]
    return [".".join([stem, *name.removeprefix("<> ").split()]) for stem, name in found]


def refuse_gaps() -> None:
    """No file that is not compiled, no axiom and no proof that was left out, used or not."""
    forgotten = sorted({path.stem for path in HERE.glob("*.v")} - set(files()))
    if forgotten:
        sys.exit(f"proofs/{forgotten[0]}.v is not in proofs/_CoqProject")
    for stem in files():
        found = FORBIDDEN.search((HERE / f"{stem}.v").read_text())
        if found:
            sys.exit(f"proofs/{stem}.v says {found[0]}")


def coqc(path: Path) -> str:
    """Compile one file; returns what it prints."""
    result = subprocess.run(["coqc", "-Q", HERE, "Unmask", path], capture_output=True, text=True)
    if result.returncode:
        sys.exit(result.stdout + result.stderr)
    return result.stdout


def compile_all() -> None:
    """Compile what is older than its source, and all that follows it."""
    newest = 0.0
    for stem in files():
        source, compiled = HERE / f"{stem}.v", HERE / f"{stem}.vo"
        newest = max(newest, source.stat().st_mtime)
        if not compiled.with_suffix(".glob").exists() or not compiled.exists() or compiled.stat().st_mtime < newest:
            print(f"coqc proofs/{stem}.v", flush=True)
            coqc(source)
            newest = compiled.stat().st_mtime


def assumptions(theorems: list[str], others: list[str]) -> dict[str, str]:
    """What `Print Assumptions` says of each theorem, and of all else together."""
    build = HERE / "build"
    build.mkdir(exist_ok=True)
    lines = ["From Coq Require Import String.", f"From Unmask Require {' '.join(files())}."]
    lines += [f"Definition all_else := ({', '.join(['tt', *(f'@{name}' for name in others)])})."]
    for name in ("all_else", *theorems):
        lines += [f'Eval compute in "{name}"%string.', f"Print Assumptions {name}."]
    source = build / "Assumptions.v"
    source.write_text("\n".join(lines) + "\n")
    answers = re.split(r'^ *= "([\w.]+)"(?:%string)?\s*: string$', coqc(source), flags=re.M)
    return dict(zip(answers[1::2], (answer.strip() for answer in answers[2::2]), strict=True))


def main() -> None:
    refuse_gaps()
    compile_all()
    supposed = names(SUPPOSED, ".glob")
    if supposed:
        sys.exit(f"supposed without a proof: {', '.join(supposed)}")
    theorems, defined = names(THEOREM, ".v"), names(DEFINED, ".glob")
    others = [name for name in defined if name not in theorems]
    answers = assumptions(theorems, others)
    if list(answers) != ["all_else", *theorems]:
        sys.exit("Print Assumptions did not answer for every statement")
    for name, answer in answers.items():
        print(f"{name}: {answer}")
    open_ones = [name for name, answer in answers.items() if answer != CLOSED]
    if open_ones:
        sys.exit(f"not closed under the global context: {', '.join(open_ones)}")
    print(f"{len(theorems)} theorems and {len(others)} lemmas and definitions, all closed under the global context")


if __name__ == "__main__":
    main()
