"""Compare the weights that the proofs speak of with those that `unmask compile` writes, entry by entry.

    python proofs/shipped.py

For each problem and length below, a folder is compiled and read by the format page alone; what its config says must be
what the theorem is about. The monoid and its coding
are read off its weights. Rocq checks that they are a monoid, a coding of it, and that it recognises the language of an
automaton that stands here, written by hand; it computes the weights of the formal construction, applies the theorem to
them, and the two sets of weights are compared. So what was read need not be trusted: had it been read wrongly, the
weights would differ.
"""

import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
from check import CLOSED, HERE, coqc
from safetensors.numpy import load_file


@dataclass(frozen=True)
class Language:
    """A problem, and its automaton: state → {symbol: state}; the first state is the start."""

    problem: str
    moves: dict[str, dict[str, str]]
    final: set[str]


ENDS_IN_ABB = Language(
    "(a|b)*abb",
    {
        "": {"a": "a", "b": "", "[^ab]": "no"},
        "a": {"a": "a", "b": "ab", "[^ab]": "no"},
        "ab": {"a": "a", "b": "abb", "[^ab]": "no"},
        "abb": {"a": "a", "b": "", "[^ab]": "no"},
        "no": {"a": "no", "b": "no", "[^ab]": "no"},
    },
    {"abb"},
)
EVEN_NUMBER_OF_A = Language(
    "(b*ab*a)*b*",
    {
        "even": {"a": "odd", "b": "even", "[^ab]": "no"},
        "odd": {"a": "even", "b": "odd", "[^ab]": "no"},
        "no": {"a": "no", "b": "no", "[^ab]": "no"},
    },
    {"even"},
)
A_BEFORE_B = Language(  # small, and yet coded by points
    "a*b*",
    {
        "a": {"a": "a", "b": "b", "[^ab]": "no"},
        "b": {"a": "no", "b": "b", "[^ab]": "no"},
        "no": {"a": "no", "b": "no", "[^ab]": "no"},
    },
    {"a", "b"},
)


def cycles(permutation: tuple[int, ...]) -> str:
    """A permutation of 0, 1, … in the notation of a folder: (13)(24), and e for the identity."""
    text, seen = "", set()
    for first in range(len(permutation)):
        cycle, x = "", first
        while x not in seen:
            seen.add(x)
            cycle, x = cycle + str(x + 1), permutation[x]
        text += f"({cycle})" if len(cycle) > 1 else ""
    return text or "e"


def word_problem(problem: str, points: int, *, even: bool) -> Language:
    """Do these permutations, one after the other, give the identity? A state is the permutation so far."""
    group = [g for g in permutations(range(points)) if not even or sum(x > y for x, y in combinations(g, 2)) % 2 == 0]
    moves = {cycles(f): {cycles(g): cycles(tuple(g[x] for x in f)) for g in group} for f in group}
    return Language(problem, moves, {"e"})


CASES = [
    (ENDS_IN_ABB, 2, [1, 2, 3, 5, 8]),
    (ENDS_IN_ABB, 3, [6]),
    (EVEN_NUMBER_OF_A, 2, [1, 4, 7]),
    (EVEN_NUMBER_OF_A, 5, [3]),
    (A_BEFORE_B, 2, [1, 5, 6]),
    (word_problem("group:S3", 3, even=False), 2, [2, 9]),
    (word_problem("group:A4", 4, even=True), 2, [4]),  # coded by points, and a verdict by what is lacking
]


TRANSFORMERS = ("planner", "predictor")


@dataclass
class Folder:
    """A model folder: its config, and the tensors of both transformers as dense arrays."""

    config: dict
    tensors: dict[str, dict[str, np.ndarray]]

    @classmethod
    def read(cls, path: Path) -> "Folder":
        config = json.loads((path / "config.json").read_text(encoding="utf-8"))
        parts = config["transformers"]
        return cls(config, {name: _dense(load_file(path / part["file"])) for name, part in parts.items()})


def _dense(stored: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    fractions = [name for name, array in stored.items() if array.dtype.kind not in "iu"]
    if fractions:
        sys.exit(f"the folder has weights that are not integers: {fractions}")
    tensors = dict(stored)
    for name in [name.removesuffix(".shape") for name in stored if name.endswith(".shape")]:
        row, column, value, shape = (tensors.pop(f"{name}.{part}") for part in ("row", "col", "val", "shape"))
        if len(set(zip(row.tolist(), column.tolist(), strict=True))) < len(value):
            sys.exit(f"the folder has an entry of {name} twice")
        if (row < 0).any() or (column < 0).any():
            sys.exit(f"the folder has an entry of {name} outside of it")
        tensors[name] = np.zeros(shape, dtype=np.int64)
        tensors[name][row, column] = value
    return {name: array.astype(np.int64) for name, array in tensors.items()}


def refuse_other_models(config: dict, length: int, precision: int) -> None:
    """What the theorem is about and no weight shows: unmasked attention, no loop, letters first in the vocabulary."""
    whole = {"format": "unmask-model/1", "reasoner": "mdm", "precision": precision, "length": length}
    whole |= {"block": None, "k": None, "begin": None, "aliases": {}}
    part = {"attention": "unmasked", "loop": None, "noise": None}
    letters = config["input_symbols"]
    claims = [("config", config, whole), *((name, config["transformers"][name], part) for name in TRANSFORMERS)]
    claims.append(("vocabulary", {"letters": config["vocabulary"][: len(letters)]}, {"letters": letters}))
    for where, found, expected in claims:
        for key, value in expected.items():
            if found[key] != value:
                sys.exit(f"{where}: {key} is {found[key]!r}, and the theorem is about {value!r}")


def refuse_other_letters(config: dict, language: Language) -> None:
    """A folder that reads fewer letters than the automaton would be right for fewer words."""
    letters = {letter for moves in language.moves.values() for letter in moves}
    if set(config["input_symbols"]) != letters:
        sys.exit(f"input_symbols: the folder reads {config['input_symbols']}, and the automaton {sorted(letters)}")


def names(tensors: dict[str, np.ndarray]) -> list[str]:
    """The names of a transformer's tensors, in the order of Export.v."""
    found, layer = ["embed", "pos", "out"], 0
    while f"layers.{layer}.mlp.w1" in tensors:
        head = 0
        while f"layers.{layer}.heads.{head}.wq" in tensors:
            found += [f"layers.{layer}.heads.{head}.{part}" for part in ("wq", "wk", "wv")]
            head += 1
        found += [f"layers.{layer}.mlp.{part}" for part in ("w1", "b1", "w2", "b2")]
        layer += 1
    if set(found) != set(tensors):
        sys.exit(f"the folder has tensors of other names: {set(tensors) ^ set(found)}")
    return found


@dataclass
class Reading:
    """What a predictor's weights say about its monoid: features, triples, disjuncts, and from them the table."""

    letters: list[int]
    left: list[list[int]]
    right: list[list[int]]
    result: list[list[int]]
    triples: list[tuple[int, int, int]]
    accept: list[tuple[list[int], int | None]]
    reject: list[tuple[list[int], int | None]]
    sizes: tuple[int, int]

    def holds(self, element: int, disjunct: tuple[list[int], int | None]) -> bool:
        present, lacking = disjunct
        return set(present) <= set(self.result[element]) and lacking not in self.result[element]

    @property
    def accepting(self) -> list[int]:
        return [a for a in range(len(self.left)) if any(self.holds(a, d) for d in self.accept)]

    def multiply(self, a: int, b: int) -> int:
        features = sorted({g for f, h, g in self.triples if f in self.left[a] and h in self.right[b]})
        return self.result.index(features)

    @property
    def table(self) -> list[list[int]]:
        every = range(len(self.left))
        return [[self.multiply(a, b) for b in every] for a in every]


def read_monoid(folder: Folder) -> Reading:
    """The monoid of a compiled model, from its weights; the registers say where to look."""
    registers, first = {}, 0
    for name, labels in folder.config["registers"]["predictor"].items():
        registers[name] = range(first, first + len(labels))
        first += len(labels)
    tensors = folder.tensors["predictor"]
    embed, out = tensors["embed"], tensors["out"]
    w1, w2 = tensors["layers.0.mlp.w1"], tensors["layers.0.mlp.w2"]
    decide, write = tensors["layers.1.mlp.w1"], tensors["layers.1.mlp.w2"]

    def places(row: np.ndarray, register: str, sign: int = 1) -> list[int]:
        return [i for i, column in enumerate(registers[register]) if sign * row[column] > 0]

    symbol_of = [int(np.argmax(out[:, column])) for column in registers["product, copy 1"]]
    left = [places(embed[s], "as left") for s in symbol_of]
    units = [u for u in range(w1.shape[1]) if w2[u, registers["missing"]].any()]
    triples = [
        (places(w1[:, u], "left")[0], places(w1[:, u], "right")[0], places(w2[u], "missing", -1)[0]) for u in units
    ]

    def disjuncts(register: str) -> list[tuple[list[int], int | None]]:
        found = []
        for u in np.flatnonzero(write[:, registers[register][0]]):
            lacking = places(decide[:, u], "missing")
            found.append((places(decide[:, u], "missing", -1), lacking[0] if lacking else None))
        return found

    return Reading(
        letters=[left.index(places(embed[t], "as left")) for t in range(len(folder.config["input_symbols"]))],
        left=left,
        right=[places(embed[s], "as right") for s in symbol_of],
        result=[places(decide[:, a], "missing", -1) for a in range(len(symbol_of))],
        triples=triples,
        accept=disjuncts("accepted"),
        reject=disjuncts("rejected"),
        sizes=(len(registers["as left"]), len(registers["as right"])),
    )


def states_of(language: Language, symbols: list[str], reading: Reading) -> list[int]:
    """For every element, the state to which its words lead from the start."""
    order = list(language.moves)
    states, todo = {0: 0}, [0]
    for a in todo:
        for symbol, letter in zip(symbols, reading.letters, strict=True):
            b = reading.multiply(a, letter)
            if b not in states:
                states[b] = order.index(language.moves[order[states[a]]][symbol])
                todo.append(b)
    return [states.get(a, 0) for a in range(len(reading.left))]


def listed(x) -> str:
    """A Rocq list of lists, pairs and numbers."""
    if isinstance(x, (list, tuple)):
        inside = (", " if isinstance(x, tuple) else "; ").join(map(listed, x))
        return f"({inside})" if isinstance(x, tuple) else f"[{inside}]"
    return str(x)


def disjunct(d: tuple[list[int], int | None]) -> str:
    lacking = "None" if d[1] is None else f"Some {d[1]}"
    return f"{{| present := {listed(d[0])}; lacking := {lacking} |}}"


def formal(language: Language, folder: Folder, reading: Reading) -> str:
    """The Rocq file of one folder."""
    config = folder.config
    precision, length, symbols = config["precision"], config["length"], config["input_symbols"]
    order = list(language.moves)
    moves = [[order.index(language.moves[q][symbol]) for symbol in symbols] for q in order]
    final = [order.index(q) for q in order if q in language.final]

    def token(role: str) -> int:
        return config["vocabulary"].index(config[role])

    by_table = all(features == [a] for a, features in enumerate(reading.left))
    coding = "table_coding m"
    if not by_table:
        coding = f"""{{|
  left_features := {reading.sizes[0]}; right_features := {reading.sizes[1]};
  left_of a := nth a {listed(reading.left)} []; right_of a := nth a {listed(reading.right)} [];
  result_of a := nth a {listed(reading.result)} []; triples := {listed(reading.triples)};
  accept_when := [{"; ".join(map(disjunct, reading.accept))}];
  reject_when := [{"; ".join(map(disjunct, reading.reject))}] |}}"""
    return f"""From Coq Require Import ZArith List Arith.
From Unmask Require Import Exponential Monoid Coding Automaton Diffusion Model RegularLanguage Export.
Import ListNotations.
Open Scope nat_scope.
Set Printing Depth 1000000.
Set Printing Width 1000000.
Definition m : monoid := of_table {listed(reading.table)} {listed(reading.letters)} {listed(reading.accepting)}.
Definition c : coding := {coding}.
Definition by_hand : automaton := {{| start := 0; table := {listed(moves)}; final := {listed(final)} |}}.
Lemma m_is_lawful : lawful m. Proof. apply laws_hold_lawful. vm_compute. reflexivity. Qed.
Lemma c_codes_m : codes m c. Proof. apply coding_is_right_codes. vm_compute. reflexivity. Qed.
Definition states := {listed(states_of(language, symbols, reading))}.
Lemma m_follows : follows m by_hand states = true. Proof. vm_compute. reflexivity. Qed.
Definition formal := tree_model {precision}%Z m c {length}.
Theorem folder_is_right : forall (e : exponential {precision}) word, is_word m word -> length word = {length} ->
  exists canvas, run {precision} e formal word {config["steps"]} = Some canvas /\\ length canvas = {config["padding"]}
    /\\ last canvas {token("mask")} = if accepts by_hand word then {token("accept")} else {token("reject")}.
Proof.
  intros e word Hword Hlength.
  pose proof (automaton_is_decided {precision} e m c by_hand states word ltac:(discriminate) m_is_lawful c_codes_m
                m_follows Hword) as decided.
  rewrite Hlength in decided. apply decided. apply Nat.leb_le. reflexivity.
Qed.
Print Assumptions folder_is_right.
Open Scope Z_scope.
Eval vm_compute in (tensors (planner formal)).
Eval vm_compute in (tensors (predictor formal)).
"""


def computed(text: str) -> list[list[tuple[tuple[int, int], dict[tuple[int, int], int]]]]:
    """What Rocq printed: for each transformer its tensors, as shape and entries."""
    answers = []
    for answer in re.findall(r"= (\[.*?\])\s*: list tensor", text, re.S):
        tensors = []
        for rows, columns, entries in re.findall(r"\((\d+), (\d+),\s*\[([^\]]*)\]\)", answer):
            triples = re.findall(r"\((\d+), (\d+), (-?\d+)\)", entries)
            tensors.append(((int(rows), int(columns)), {(int(i), int(j)): int(a) for i, j, a in triples}))
        answers.append(tensors)
    return answers


def compare(folder: Folder, text: str) -> int:
    """The number of nonzero weights, all of which agree; exits with the first tensor that differs."""
    count = 0
    for transformer, tensors in zip(TRANSFORMERS, computed(text), strict=True):
        expected = folder.tensors[transformer]
        for name, (shape, entries) in zip(names(expected), tensors, strict=True):
            array = np.atleast_2d(expected[name])
            found = {(int(i), int(j)): int(array[i, j]) for i, j in zip(*np.nonzero(array), strict=True)}
            if shape != array.shape or entries != found:
                sys.exit(
                    f"{transformer} {name}: {shape} and {array.shape}, {set(entries.items()) ^ set(found.items())}"
                )
            count += len(found)
    return count


def compile_folder(problem: str, length: int, precision: int, path: Path) -> None:
    """What a user types."""
    options = {"--to": "mdm", "--length": length, "--precision": precision, "--out": path}
    words = ["compile", problem, "--quiet", *(str(word) for option in options.items() for word in option)]
    subprocess.run([sys.executable, "-m", "unmask", *words], check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    build = HERE / "build"
    build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for number, (language, precision, lengths) in enumerate(CASES):
            for length in lengths:
                path = Path(scratch) / f"{number}-{length}"
                compile_folder(language.problem, length, precision, path)
                folder = Folder.read(path)
                refuse_other_models(folder.config, length, precision)
                refuse_other_letters(folder.config, language)
                source = build / f"Shipped_{number}_{length}.v"
                source.write_text(formal(language, folder, read_monoid(folder)))
                answer = coqc(source)
                if CLOSED not in answer:
                    sys.exit(f"{source.name} rests on something that is not proved")
                count = compare(folder, answer)
                print(
                    f"{language.problem}, N = {length}, p = {precision}: right for every word, {count} weights agree",
                    flush=True,
                )


if __name__ == "__main__":
    main()
