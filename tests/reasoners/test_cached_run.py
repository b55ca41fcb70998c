"""Runs with a cache of keys and values: exact without staleness, and wrong where it was predicted."""

import json
from random import Random

import numpy as np
import pytest

from command_line import run as run_command
from unmask.api import compile_problem, run_word
from unmask.engines.reference import ReferenceEngine
from unmask.errors import UnmaskError
from unmask.export.export_task import slot_order
from unmask.reasoners.cached_run import CachedRun, CachePolicy, CanvasLayout, cached_run, longest_interval
from unmask.testing import random_model
from unmask.weights.model import Model

LENGTH = 16
LEVEL_2 = (8, 9, 10, 11)
ROWS = {slot: LENGTH + slot for slot in range(LENGTH - 1)}
POLICIES = ("prefix", "dual", "delayed", "refresh:99")


def s3(hops: int, *, kind="mdm") -> Model:
    return compile_problem("group:S3", kind, length=LENGTH, hops=hops)


def words(model: Model, count: int = 4) -> list[list[int]]:
    draw = Random(7)
    return [[draw.randrange(len(model.input_symbols)) for _ in range(model.length)] for _ in range(count)]


def ran(model: Model, word: list[int], policy: str, **layout) -> CachedRun:
    return cached_run(model, word, CachePolicy.parse(policy), CanvasLayout.of(model, **layout))


@pytest.mark.parametrize("precision", [1, 2, 3])
@pytest.mark.parametrize("kind", ["mdm", "topk"])
def test_a_refresh_in_every_pass_is_the_plain_run(kind, precision):
    """Bit by bit on random saturating models, which edit and whose attention is not sharp."""
    for seed in range(6):
        model = random_model(seed, kind, 3, padding=4, steps=4, layers=2, precision=precision)
        plain = run_word(model, "aba", engine=ReferenceEngine())
        for policy in ("refresh:1", "dual:1", "delayed:1"):
            run = ran(model, [0, 1, 0], policy)
            assert [canvas.tolist() for canvas in run.canvas] == [canvas.tolist() for canvas in plain.canvas]
            assert run.lossless
            assert run.stale_reads == []


def test_random_models_are_reported_as_not_lossless():
    lossy = 0
    for seed in range(30):
        model = random_model(seed, "mdm", 3, padding=4, steps=4, layers=2)
        run, policy, layout = ran(model, [0, 1, 0], "refresh:9"), CachePolicy("refresh", 9), CanvasLayout.of(model)
        plain = run_word(model, "aba")
        if not run.lossless:
            lossy += 1
            assert run.stale_reads, "a decision changes only where something stale was read"
            assert run.stale_reads[0].step <= run.changed[0].step
            longest = longest_interval(model, [0, 1, 0], policy, layout)
            assert longest is not None
            assert ran(model, [0, 1, 0], f"refresh:{longest}").lossless
            assert not ran(model, [0, 1, 0], f"refresh:{longest + 1}").lossless
        else:
            assert np.array_equal(run.canvas[-1], plain.canvas[-1])
    assert lossy >= 5


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("layout", [{}, {"block": 4}, {"order": "skip", "block": 10}, {"work": LEVEL_2}])
def test_one_hop_reads_nothing_stale(policy, layout):
    """Keys and values of a row depend on its own token alone."""
    model = s3(1)
    for word in words(model, 2):
        arranged = {**layout, "order": slot_order(model, layout["order"])} if "order" in layout else layout
        run = ran(model, word, policy, **arranged)
        assert run.lossless
        assert run.stale_reads == []


@pytest.mark.parametrize("block", [None, 8, 4])
@pytest.mark.parametrize("policy", ["prefix", "dual", "delayed"])
def test_two_hops_in_plain_order_lose_nothing(policy, block):
    """The order is topological and written rows are trusted: two hops alone are not enough to fail a cache."""
    model = s3(2)
    for word in words(model, 2):
        run = ran(model, word, policy, block=block)
        assert run.lossless
        assert run.output == run_word(model, model.symbols(word)).output


def reads_of_pass_2(run: CachedRun) -> set[tuple[int, int, int, int]]:
    """(layer, head, row, row that is read) of the predictor."""
    reads = (read for read in run.stale_reads if read.step == 1 and read.transformer == "predictor")
    return {(read.layer, read.head, read.row, read.source) for read in reads}


FOUR_READS = {(2, side, ROWS[12 + parent], ROWS[8 + 2 * parent + side]) for parent in (0, 1) for side in (0, 1)}
"""In the second hop, layer 2, the slots of level 3 read those of level 2: their factors, one per head."""


@pytest.mark.parametrize(
    ("policy", "work"),
    [("dual", ()), ("prefix", LEVEL_2), ("dual", LEVEL_2)],
    ids=["dual and skip", "prefix and work", "dual and work"],
)
def test_two_hops_fail_where_predicted(policy, work):
    model = s3(2)
    for word in words(model):
        layout = {"work": work} if work else {"order": slot_order(model, "skip"), "block": 10}
        run = ran(model, word, policy, **layout)
        assert not run.lossless
        assert reads_of_pass_2(run) == FOUR_READS
        assert all(read.register != "key" for read in run.stale_reads), "values are stale, keys never"
        first = run.stale_reads[0]
        assert (first.step, first.transformer, first.layer, first.head, first.row) == (1, "planner", 1, 0, ROWS[12])
        assert {(change.step, change.slot) for change in run.changed} >= {(1, 12), (1, 13)}
        assert all(change.actual == model.mask for change in run.changed)
        assert run.accepted is None


def test_the_prefix_cache_computes_what_follows_the_block():
    model = s3(2)
    for word in words(model, 2):
        run = ran(model, word, "prefix", order=slot_order(model, "skip"), block=10)
        assert run.lossless
        assert run.output == run_word(model, model.symbols(word)).output
        small = ran(model, word, "prefix", work=LEVEL_2, block=4)
        assert small.lossless, "a new block computes every row"
        assert small.accepted is not None


def test_work_slots_are_never_written():
    model = s3(2)
    run = ran(model, words(model)[0], "refresh:1", work=LEVEL_2)
    assert len(run.canvas) == 3
    assert {run.output[slot] for slot in LEVEL_2} == {model.mask}
    assert run.accepted is not None


@pytest.mark.parametrize("text", ["", "none", "refresh", "dual:", "dual:0", "dual:x", "refresh:-1"])
def test_other_policies_are_refused(text):
    with pytest.raises(UnmaskError, match="is not a policy"):
        CachePolicy.parse(text)


def test_other_layouts_are_refused():
    model = s3(2)
    for layout in ({"order": (0, 1)}, {"work": (14,)}, {"work": (99,)}):
        with pytest.raises(UnmaskError, match="must list"):
            CanvasLayout.of(model, **layout)
    with pytest.raises(UnmaskError, match="models with a canvas"):
        ran(compile_problem("(a|b)*abb", "cot", length=4), [0, 0, 0, 0], "dual")


def test_the_command_line(tmp_path):
    run_command("unmask compile '(a|b)*abb' --length 16 --to mdm --hops 2 --out m", tmp_path)
    code, output = run_command("unmask run m ababbabaabbababb --cache prefix --work 8,9,10,11 --json", tmp_path)
    document = json.loads(output)
    assert code == 2
    assert document["lossless"] is False
    assert document["longest_lossless_interval"] == 1
    assert document["first_stale_read"]["pass"] == 1
    assert {change["slot"] for change in document["changed_decisions"]} == {12, 13}
    code, output = run_command("unmask run m ababbabaabbababb --cache dual", tmp_path)
    assert code == 0
    assert "lossless" in output
    for options, reason in (
        ("--block 4", "add --cache"),
        ("--cache dual --sample", "leave out --engine"),
        ("--cache dual --work x", "is not a list of slots"),
        ("--cache dual --order x", "is neither"),
    ):
        code, output = run_command(f"unmask run m ababbabaabbababb {options}", tmp_path)
        assert code == 2
        assert reason in " ".join(output.split())


def test_the_order_work_puts_level_2_into_the_prompt(tmp_path):
    run_command("unmask compile '(a|b)*abb' --length 16 --to mdm --hops 2 --out m", tmp_path)
    outputs = [
        run_command(f"unmask run m ababbabaabbababb --cache prefix {more} --json", tmp_path)
        for more in ("--order work", "--work 8,9,10,11")
    ]
    assert outputs[0] == outputs[1]
