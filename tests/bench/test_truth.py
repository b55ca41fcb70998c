"""bench.json is right: on small models every canvas with right values is tried, and so is every schedule."""

from itertools import product

import numpy as np
import pytest

from unmask.bench.bench_folder import write_bench_folder
from unmask.bench.loaded_model import UNJUDGED, load_reference
from unmask.bench.reference_models import ReferenceRow

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
SMALL = (
    ReferenceRow("tree", "group:S3", 4, "tree"),
    ReferenceRow("tree-reversed", "group:S3", 4, "tree", order="reversed"),
    ReferenceRow("regex", "(a|b)*abb", 8, "tree"),
    ReferenceRow("hops-skip", "group:S3", 8, "tree", order="skip", hops=2),
    ReferenceRow("hops-work", "(a|b)*abb", 8, "tree", order="work", hops=2),
    ReferenceRow("chain", "program:chain.py", 4, "chain"),
    ReferenceRow("grid", "program:grid.py", 4, "grid"),
    ReferenceRow("addition", "program:addition.py", 4, "carry"),
    ReferenceRow("grammar", "cfg:brackets.cfg", 2, "CYK"),
)


@pytest.fixture(scope="module", params=SMALL, ids=lambda row: row.name)
def model(request, tmp_path_factory):
    return load_reference(write_bench_folder(request.param, tmp_path_factory.mktemp("small") / "model"))


def predictions(model, word, canvases):
    """(symbols, certain), [canvas, slot]; a symbol is certain if its probability is larger than 0.9."""
    ids = np.hstack([np.tile(word.ids[: model.prompt_length], (len(canvases), 1)), canvases])
    with torch.no_grad():
        found = model.module()(torch.from_numpy(ids)).logits[:, model.prompt_length :].softmax(-1).max(-1)
    return found.indices.numpy(), (found.values > 0.9).numpy()


def known(model, word):
    """Which slots are known with certainty on the canvas of every set of written slots, which hold right values."""
    judged = word.values != UNJUDGED
    sets = [written for written in product((False, True), repeat=model.slots) if not any(np.array(written) & ~judged)]
    symbols, certain = predictions(model, word, np.where(sets, word.values, model.mask_id))
    assert not (certain & (symbols != word.values) & judged).any(), "a certain prediction is wrong"
    return dict(zip(sets, certain & judged, strict=True))


def first_passes(sure, slots):
    """The first pass in which each slot is known (0: never), over all schedules that write known slots only."""
    seen, front, found = {(False,) * slots}, [(False,) * slots], np.zeros(slots, dtype=int)
    for step in range(1, slots + 2):
        following = []
        for written in front:
            free = np.flatnonzero(sure[written] & ~np.array(written))
            found[free] = np.where(found[free] == 0, step, found[free])
            for chosen in product((False, True), repeat=len(free)):
                canvas = np.array(written)
                canvas[free] = chosen
                if tuple(canvas.tolist()) not in seen:
                    seen.add(tuple(canvas.tolist()))
                    following.append(tuple(canvas.tolist()))
        front = following
    return found


def faults_of_reads(sure, word):
    """Slots that are unknown although all that they read is written, and slots that need something else."""
    faults = []
    for slot in np.flatnonzero(word.values != UNJUDGED).tolist():
        reads = set(word.reads[slot])
        enough = [set(np.flatnonzero(written).tolist()) for written, known in sure.items() if known[slot]]
        all_read = [written for written in sure if reads <= set(np.flatnonzero(written).tolist())]
        if not all(sure[written][slot] for written in all_read):
            faults.append(f"slot {slot} needs more than {sorted(reads)}")
        if not all(any(other <= reads & written for other in enough) for written in enough):
            faults.append(f"slot {slot} needs something besides {sorted(reads)}")
    return faults


def test_order_and_least_passes_are_those_of_all_schedules(model):
    for word in model.words[:3]:
        sure = known(model, word)
        found = first_passes(sure, model.slots)
        assert found.tolist() == word.earliest.tolist()
        assert found.max() == word.least_passes
        assert faults_of_reads(sure, word) == []


def test_a_wrong_list_of_reads_is_refuted(tmp_path):
    model = load_reference(write_bench_folder(SMALL[0], tmp_path / "model"))
    word, (one, two, root) = model.words[0], model.words[0].reads
    sure = known(model, word)
    for wrong, fault in (((one, two, root[:1]), "slot 2 needs more than [0]"), ((one, (0,), root), None)):
        object.__setattr__(word, "reads", wrong)
        assert faults_of_reads(sure, word) == ([] if fault is None else [fault, "slot 2 needs something besides [0]"])


def test_edits_in_place_are_the_fastest(tmp_path):
    row = ReferenceRow("in-place", "program:smallest.py", 4, "in place")
    model = load_reference(write_bench_folder(row, tmp_path / "model"))
    for word in model.words[:4]:
        front, found, step = {(model.mask_id,) * model.slots}, np.zeros(model.slots, dtype=int), 0
        while front and not found.all():
            step += 1
            canvases = np.array(sorted(front))
            symbols, certain = predictions(model, word, canvases)
            assert certain.all()
            reached = {
                tuple(np.where(chosen, after, before).tolist())
                for before, after in zip(canvases, symbols, strict=True)
                for chosen in product((False, True), repeat=model.slots)
            }
            held = (np.array(sorted(reached)) == word.values).any(axis=0)
            found = np.where((found == 0) & held, step, found)
            front = reached - front
        assert found.max() == word.least_passes
        assert (found <= word.earliest).all()
        letters = model.tokenizer.convert_ids_to_tokens(word.values.tolist())
        assert letters == [min(word.text[: i + 1]) for i in range(4)]


@pytest.mark.parametrize("form", ["bert", "eurobert", "llama"])
def test_the_residual_stream_is_that_of_transformers(tmp_path, form):
    row = ReferenceRow("regex", "(a|b)*abb", 4, "tree")
    model = load_reference(write_bench_folder(row, tmp_path / "model", form))
    with torch.no_grad():
        states = model.module()(torch.from_numpy(model.words[0].ids[None]), output_hidden_states=True).hidden_states
    streams = [state[0].numpy() for state in states[1:]]
    assert model.wrong_layer(streams) is None
    assert len(streams) == len(model.residual()) > 1
    broken = [stream.copy() for stream in streams]
    broken[1][3, 2] += 0.5
    assert model.wrong_layer(broken).startswith("layer 1, row 3, column 2: ")
    assert "layers instead of" in model.wrong_layer(streams[1:])


def test_the_word_decides_the_order(tmp_path):
    row = ReferenceRow("resets", "program:resets.py", 5, "in place, order depends on the word")
    model = load_reference(write_bench_folder(row, tmp_path / "model"))
    for word in model.words:
        value = 0
        for letter in word.text:
            value = (value + 1) % 3 if letter == "+" else int(letter)
        assert model.tokenizer.convert_ids_to_tokens(int(word.values[-1])) == str(value)
        if "+" not in word.text:
            assert word.least_passes == 1
    assert len({tuple(word.earliest.tolist()) for word in model.words}) > 1
