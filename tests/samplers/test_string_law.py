"""law:FILE: what is refused, and in which sentence."""

import json
import os
import re

import pytest

from unmask.api import compile_problem
from unmask.errors import UnmaskError
from unmask.samplers.law_comparison import Bench
from unmask.samplers.string_law import MOST_STRINGS, law_from_json, read_law

COIN = {"kind": "ngram", "alphabet": ["h", "t"], "order": 1, "contexts": {"": {"h": 0.5, "t": 0.5}}}
HMM = {
    "kind": "hmm",
    "alphabet": ["x"],
    "states": ["s"],
    "initial": {"s": 1},
    "transitions": {"s": {"s": 1}},
    "emissions": {"s": {"x": 1}},
}
ENDING = {
    "kind": "automaton",
    "alphabet": ["x"],
    "states": ["s", "t"],
    "initial": {"s": 1},
    "transitions": {"s": {"x": {"t": 1}}},
    "final": {"t": 1},
}
BAD = [
    ([], "a law needs a kind among ngram, hmm, automaton, not None"),
    ({**COIN, "kind": "lstm"}, "a law needs a kind among ngram, hmm, automaton, not 'lstm'"),
    ({**COIN, "kind": ["ngram"]}, "a law needs a kind among"),
    ({**COIN, "extra": 1}, "a law of kind ngram needs the keys"),
    ({"kind": "ngram"}, "a law of kind ngram needs the keys alphabet, contexts, order, but has none of them"),
    ({k: v for k, v in COIN.items() if k != "order"}, "a law of kind ngram needs the keys"),
    (
        {**COIN, "contexts": {"": {"h": 0.5, "t": 0.4}}},
        "the probabilities of contexts[''] sum to 0.9; they must sum to 1",
    ),
    ({**COIN, "contexts": {"": {"h": 0.5, "t": 0.6}}}, "sum to 1.1; they must sum to 1"),
    ({**COIN, "contexts": {"": {"h": 1.5, "t": -0.5}}}, "contexts['']['h'] is 1.5; give a probability between 0 and 1"),
    ({**COIN, "contexts": {"": {"h": "a half", "t": 0.5}}}, "contexts['']['h'] must be a number such as 0.25 or"),
    ({**COIN, "contexts": {"": {"h": "1/0", "t": 0.5}}}, "contexts['']['h'] must be a number"),
    ({**COIN, "contexts": {"": {"h": True}}}, "contexts['']['h'] must be a number"),
    ({**COIN, "contexts": {"": {"h": None}}}, "contexts['']['h'] must be a number"),
    ({**COIN, "contexts": {"": {"h": "1e999999999"}}}, "contexts['']['h'] must be a number"),
    ({**COIN, "contexts": {"": {"h": 10**100}}}, "0000; give a probability between 0 and 1"),
    ({**COIN, "contexts": {"": {"h": 0.5, "t": 0.5000001}}}, "sum to 1.0000001; they must sum to 1"),
    (
        {**COIN, "order": 2, "contexts": {"": {"h": 1}, "h": {"h": 1}, "t": {"h": 0.5}}},
        "the probabilities of contexts['t'] sum to 0.5",
    ),
    (
        {**COIN, "order": 3, "contexts": {"": {"h": 1}, "h": {"h": 1}, "h h": {"h": 1}, "h  h": {"t": 1}}},
        "contexts gives 'h h' twice; give it once",
    ),
    ({**COIN, "contexts": {"": {"x": 1}}}, "contexts[''] names 'x', which is not declared"),
    ({**COIN, "contexts": {"": [0.5, 0.5]}}, "contexts[''] of a law must be an object"),
    ({**COIN, "contexts": {}}, "contexts lacks ''"),
    ({**COIN, "contexts": {"h": {"h": 1}}}, "the context 'h' has 1 symbols; order 1 has 0"),
    ({**COIN, "contexts": {"q": {"h": 1}}}, "the context 'q' names 'q', which is not in the alphabet"),
    ({**COIN, "order": 2}, "contexts lacks"),
    ({**COIN, "order": 0}, "the order of an ngram must be an integer from 1 to 12, not 0"),
    ({**COIN, "order": 12}, "contexts are more than 512"),
    ({**COIN, "alphabet": []}, "'alphabet' of a law is empty; give at least one"),
    ({**COIN, "alphabet": ["h", "h"]}, "'alphabet' of a law names something twice"),
    ({**COIN, "alphabet": ["h t"]}, "'alphabet' of a law must be a list of nonempty strings without blanks"),
    ({**COIN, "alphabet": [str(i) for i in range(99)]}, "'alphabet' of a law has 99 entries, more than 64"),
    ({**HMM, "initial": {}}, "the probabilities of initial sum to 0; they must sum to 1"),
    ({**HMM, "transitions": {}}, "the probabilities of transitions['s'] sum to 0"),
    ({**HMM, "emissions": {"s": {"x": 1}, "u": {"x": 1}}}, "emissions names 'u', which is not among the states"),
    ({**ENDING, "transitions": {"s": {"y": {"t": 1}}}}, "transitions['s'] names 'y', which is not in the alphabet"),
    ({**ENDING, "final": {"t": 0.5}}, "the probabilities of transitions['t'] and final sum to 0.5"),
    ({**ENDING, "final": {"u": 1}}, "final names 'u', which is not declared"),
]


@pytest.mark.parametrize(("document", "sentence"), BAD, ids=range(len(BAD)))
def test_what_is_no_law_is_refused(document, sentence):
    with pytest.raises(UnmaskError, match=re.escape(sentence)):
        law_from_json(json.loads(json.dumps(document), parse_float=lambda text: text))


@pytest.mark.parametrize("document", [COIN, HMM, ENDING])
def test_what_is_a_law_is_read(tmp_path, document):
    (tmp_path / "law.json").write_text(json.dumps(document))
    law = read_law(tmp_path / "law.json")
    assert law.name == "law:law.json"
    assert law.total(1) == pytest.approx(1)


def test_decimals_are_forgiven_their_last_digit(tmp_path):
    thirds = {**COIN, "alphabet": ["a", "b", "c"], "contexts": {"": dict.fromkeys("abc", 0.3333333333)}}
    (tmp_path / "law.json").write_text(json.dumps(thirds))
    law = read_law(tmp_path / "law.json")
    assert law.probabilities(law.strings(2)).sum() == pytest.approx(1)


def test_files_that_hold_no_law(tmp_path):
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    (tmp_path / "text").write_text("{")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    (tmp_path / "deep").write_text("[" * 100_000)
    (tmp_path / "large").write_text(" " * 1_000_001)
    (tmp_path / "twice").write_text('{"kind": "ngram", "kind": "hmm"}')
    (tmp_path / "huge").write_text('{"kind": 1e99999999999}')
    for name, sentence in [
        ("missing", "the law .* cannot be read: No such file"),
        (".", "is not a file but"),
        ("pipe", "is not a file but"),
        ("text", "is not JSON in UTF-8"),
        ("bytes", "is not JSON in UTF-8"),
        ("deep", "is not JSON in UTF-8"),
        ("large", "more than 1,000,000 bytes"),
        ("twice", "the key 'kind' is given twice"),
        ("huge", "is not JSON in UTF-8 .*out of range"),
    ]:
        with pytest.raises(UnmaskError, match=sentence):
            read_law(tmp_path / name)
    with pytest.raises(UnmaskError, match="law: has no file name"):
        read_law("")
    with pytest.raises(UnmaskError, match="is not a file but"):
        read_law("/dev/zero")


def test_a_length_that_the_law_has_not():
    law = law_from_json(ENDING)
    assert Bench(law, 1).truth.tolist() == [1]
    with pytest.raises(UnmaskError, match="gives no string of length 2 a probability"):
        Bench(law, 2)
    with pytest.raises(UnmaskError, match="length 1 or more, not 0"):
        Bench(law, 0)
    with pytest.raises(UnmaskError, match=f"at most {MOST_STRINGS:,} are supported"):
        Bench(law_from_json(json.loads(json.dumps(COIN), parse_float=str)), 40)


def test_a_law_is_not_compiled():
    with pytest.raises(UnmaskError, match=r"is a distribution, which has no answers; use `unmask samplers law:FILE"):
        compile_problem("law:coin.json", "mdm", length=4)
