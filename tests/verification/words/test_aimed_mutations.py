"""Aimed mutations of folders: what is proved is right on every word of the problem, as an outside reader reads it.

refused    the folder cannot be loaded, or cannot be compared: nothing is claimed
refuted    the word differs, or cannot be read
proved     then no word differs; and the checker accepts an old certificate only then
"""

import json
import random
import re
from collections import Counter
from dataclasses import replace
from itertools import product

import pytest

from checker.certificates import certified, refusal
from outside_reader import Reselected, Undefined, Unreadable
from outside_reader import run as run_outside
from unmask.api import load_model, save_model, verify_model
from unmask.errors import UnmaskError
from unmask.weights.config_json import config_of
from unmask.weights.kinds import KINDS
from unmask.weights.storage import content_hash
from verification.aimed import COMMENTS, CONFIG, config_mutations, tensor_class, tensor_mutations
from verification.words.test_mutations import SUBJECTS, compiled, differing, subjects

EVERY_CLASS = {"embed", "pos", "out", "wq", "wk", "wv", "w1", "b1", "w2", "b2"}


def words_of(model, length, letters):
    if letters is None:
        return [" ".join(word) for word in product(model.input_symbols, repeat=length)]
    return ["".join(word) for word in product(letters, repeat=length)]


def wrong_outside(folder, words, oracle):
    """{word: what an outside reader says} where that is not what is right."""
    wrong = {}
    for word in words:
        try:
            outcome = run_outside(folder, word)["accepted"]
        except (Unreadable, Undefined, Reselected) as error:
            outcome = error
        if outcome is not bool(oracle(word)):
            wrong[word] = outcome
    return wrong


def attack_config(tmp_path, problem, kind, length, letters, oracle, *, some=None):
    """How often each verdict came per field, for all manipulations or `some` of each field."""
    good = compiled(problem, kind, length)
    folder = save_model(good, tmp_path / "m")
    config = json.loads((folder / "config.json").read_text())
    words = words_of(good, length, letters)
    counts = Counter()
    for field, change, changed in spread(list(config_mutations(config)), some):
        (folder / "config.json").write_text(json.dumps(changed))
        description = f"{kind} of {problem}: {field} {change}"
        try:
            verdict = verify_model(load_model(folder), against=problem, method="prove")
        except UnmaskError:
            counts[field, "refused"] += 1
            continue
        counts[field, verdict.status] += 1
        if verdict.status == "proved":
            assert wrong_outside(folder, words, oracle) == {}, description
        elif verdict.status == "refuted":
            assert wrong_outside(folder, [verdict.counterexample], oracle), description
        if field in COMMENTS:
            assert verdict.status == "proved", description
    return counts


def spread(mutations, some):
    """All mutations, or `some` of every field, from its first to its last."""
    by_field = {}
    for mutation in mutations:
        by_field.setdefault(mutation[0], []).append(mutation)
    for every in by_field.values():
        yield from every if some is None else every[:: max(1, len(every) // some)][:some]


def attack_tensors(problem, kind, length, letters, oracle, seed, *, every=1):
    """How often each verdict came per class of tensor, for every manipulation of every tensor, or each so-manieth."""
    good, counts = compiled(problem, kind, length), Counter()
    document = certified(problem, kind, length)[1] if "family" not in problem else None
    rng = random.Random(f"{problem} {kind} {seed}")
    number = 0
    for name, transformer in good.transformers.items():
        for kind_of_tensor, change, changed in tensor_mutations(transformer, rng):
            number += 1
            if number % every:
                continue
            model = replace(good, transformers={**good.transformers, name: changed})
            verdict = verify_model(model, against=problem, method="prove")
            wrong = differing(model, length, letters, oracle)
            description = f"{kind} of {problem}, {name}, {change}: {verdict}"
            if verdict.status == "proved":
                assert not wrong, description
            elif verdict.status == "refuted":
                assert wrong[verdict.counterexample] == verdict.got, description
            if document is not None and wrong:
                assert refusal(document | {"model": content_hash(model)}, model) is not None, description
            counts[kind_of_tensor, verdict.status] += 1
    return counts


def test_every_field_and_every_class_has_manipulations():
    for kind in KINDS:
        model = compiled("regex:(a|b)*abb", kind, 3)
        assert set(CONFIG) == set(config_of(model))
        classes = {tensor_class(name) for t in model.transformers.values() for name, _ in t.tensors(positions=True)}
        assert classes == EVERY_CLASS


def test_a_few_manipulations_of_every_field(tmp_path):
    counts = attack_config(tmp_path, "regex:b*a", "mdm", 2, "ab!", lambda word: re.fullmatch("b*a", word), some=2)
    assert {field for field, _ in counts} == set(CONFIG)
    assert told_by_status(counts)["refuted"] >= 4


def test_a_few_manipulations_of_every_class_of_tensor():
    counts = attack_tensors("regex:(a|b)*abb", "mdm", 3, "ab!", SUBJECTS[0][3], 0, every=29)
    assert {name for name, _ in counts} == EVERY_CLASS
    assert told_by_status(counts)["refuted"] >= 4


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_every_manipulation_of_every_field(kind, tmp_path, capsys):
    counts = Counter()
    for problem, length, letters, oracle in subjects(kind):
        counts += attack_config(tmp_path / problem[:3], problem, kind, min(length, 3), letters, oracle)
    with capsys.disabled():
        print(f"\n{kind}: {told_by_status(counts)}")
    assert {field for field, _ in counts} == set(CONFIG)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_every_manipulation_of_every_class_of_tensor(kind, capsys):
    counts = Counter()
    for problem, length, letters, oracle in subjects(kind):
        counts += attack_tensors(problem, kind, min(length, 3), letters, oracle, 0)
    with capsys.disabled():
        print(f"\n{kind}: {told_by_status(counts)}")
    assert {name for name, _ in counts} == EVERY_CLASS


def told_by_status(counts):
    total = Counter()
    for (_, status), count in counts.items():
        total[status] += count
    return dict(total)


def test_the_outside_reader_finds_no_word_wrong_in_a_compiled_folder(tmp_path):
    """And every word of one whose answers are swapped."""
    problem, _, letters, oracle = SUBJECTS[0]
    model = compiled(problem, "mdm", 3)
    words = words_of(model, 3, letters)
    assert wrong_outside(save_model(model, tmp_path / "m"), words, oracle) == {}
    swapped = replace(model, accept=model.reject, reject=model.accept)
    assert [*wrong_outside(save_model(swapped, tmp_path / "swapped"), words, oracle)] == words
