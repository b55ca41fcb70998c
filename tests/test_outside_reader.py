"""The outside reader on folders written by hand, whose runs can be followed with a pencil.

Precision is 2 unless said otherwise: 4 means 1, 15 means B = 3.75.
"""

import json
import math
import struct

import pytest
from numpy.random import Philox

from outside_reader import Fp, Reselected, Transformer, Undefined, Unreadable, main, read_safetensors, run

B = 15
CODES = {"I8": "b", "U8": "B", "I16": "h", "I32": "i", "I64": "q"}


def write_safetensors(path, tensors):
    """Write name -> (dtype, shape, flat list of ints)."""
    header, body = {"__metadata__": {"note": "by hand"}}, b""
    for name, (dtype, shape, flat) in tensors.items():
        packed = struct.pack(f"<{len(flat)}{CODES[dtype]}", *flat)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(packed)]}
        body += packed
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def dense(matrix, dtype="I8", width=None):
    """Return a dense tensor from a list of rows."""
    shape = [len(matrix), len(matrix[0]) if matrix else width]
    return (dtype, shape, [value for row in matrix for value in row])


def vector(values):
    return ("I8", [len(values)], list(values))


def sparse(name, entries, shape, dtype="I16"):
    """Return the four tensors of a sparse matrix, from (row, column, value) in any order."""
    rows, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
    count = [len(entries)]
    return {
        f"{name}.row": ("I32", count, rows),
        f"{name}.col": ("U8", count, columns),
        f"{name}.val": (dtype, count, values),
        f"{name}.shape": ("I64", [len(shape)], shape),
    }


def no_mlp(layer, width):
    """An MLP without hidden units: it adds nothing."""
    return {
        f"layers.{layer}.mlp.w1": ("I8", [width, 0], []),
        f"layers.{layer}.mlp.b1": vector([]),
        f"layers.{layer}.mlp.w2": ("I8", [0, width], []),
        f"layers.{layer}.mlp.b2": vector([0] * width),
    }


def folder(path, reasoner, transformers, attention="unmasked", loop=None, noise=None, **config):
    """Write a model folder; `transformers` maps names to tensors."""
    entries = {}
    for name, tensors in transformers.items():
        entries[name] = {"file": f"{name}.safetensors", "attention": attention, "loop": loop, "noise": noise}
        write_safetensors(path / f"{name}.safetensors", tensors)
    defaults = {
        "format": "unmask-model/1",
        "reasoner": reasoner,
        "precision": 2,
        "length": 1,
        "steps": 1,
        "padding": 1,
        "block": None,
        "k": None,
        "vocabulary": ["a", "b", "m", "□", "0", "1"],
        "input_symbols": ["a", "b"],
        "mask": "m",
        "pad": "□",
        "accept": "1",
        "reject": "0",
        "begin": None,
        "aliases": {},
        "characters": None,
        "problem": {},
        "provenance": [],
        "registers": {},
    }
    text = json.dumps({**defaults, **config, "transformers": entries}, ensure_ascii=False)
    (path / "config.json").write_text(text, encoding="utf-8")
    return path


def unit(size, index, value=4):
    return [value if i == index else 0 for i in range(size)]


ONE_HOT = [unit(6, token) for token in range(6)]  # the embedding of a b m □ 0 1


def table(successors, rows):
    """No layers: a token decodes to its successor, whatever the position."""
    out = [[4 if successors.get(token) == symbol else 0 for token in range(6)] for symbol in range(6)]
    return {"embed": dense(ONE_HOT), "pos": dense([[0] * 6] * rows), "out": dense(out)}


# ------------------------------------------------------------------------------------------- numbers


def test_rounding_is_to_nearest_with_ties_toward_zero_then_clips():
    fp = Fp(2)
    assert [fp.mul(a, 2) for a in (1, 3, -1, -3)] == [0, 1, 0, -1]  # 1/2, 3/2: ties; the same below zero
    assert fp.mul(3, 3) == 2
    assert fp.mul(B, B) == B
    assert fp.mul(-B, B) == -B
    assert fp.div(4, B) == 1
    assert fp.div(B, 1) == B
    assert fp.add(-B, -1) == -B
    assert Fp(1).mul(3, 1) == 1  # [B * 2^-p] = 1/2 for p = 1


def test_exp_is_the_rounded_table():
    fp = Fp(2)
    assert {a: fp.exp(a) for a in (-15, -9, -8, -4, 0, 1, 4, 5, 6, 15)} == {
        **{-15: 0, -9: 0, -8: 1, -4: 1, 0: 4},  # e^-2.25 = 0.105, e^-2 = 0.135, e^-1 = 0.368
        **{1: 5, 4: 11, 5: 14, 6: 15, 15: 15},  # e^0.25 = 1.284, e = 2.718, e^1.25 = 3.490, e^1.5 = 4.48
    }


def test_noise_is_rounded_and_clipped():
    middle, largest = 2**63, 2**64 - 1
    assert [Fp(p).gumbel(middle) for p in (2, 4)] == [1, 6]  # -ln(ln 2) = 0.3665
    assert Fp(2).gumbel(0) == -14  # -ln(54 ln 2) = -3.6226
    assert Fp(2).gumbel(largest) == B  # 54 ln 2 = 37.4


# --------------------------------------------------------------------------------------- one forward pass


def forward(path, tensors, tokens, rows):
    write_safetensors(path / "x", {"embed": dense([[0] * 2]), "out": dense([[0] * 2]), **tensors})
    return Transformer(path / "x", Fp(2), "unmasked", 1, rows, 1).forward(tokens)


def test_attention_weights_are_rounded_one_by_one(tmp_path):
    """Three equal keys: Z = 3, every weight is [1/3] = 1/4, and 1/4 of B, 1 and 1/2 is 4, 1 and 0 (a tie)."""
    head = "layers.0.heads.0"
    tensors = {
        "pos": dense([[B, 0], [4, 0], [2, 0]]),
        **{f"{head}.wq": ("I8", [2, 0], []), f"{head}.wk": ("I8", [2, 0], [])},
        **sparse(f"{head}.wv", [(0, 1, 4)], [2, 2]),
        **no_mlp(0, 2),
    }
    assert forward(tmp_path, tensors, [0, 0, 0], 3) == [[B, 5], [4, 5], [2, 5]]


def test_heads_are_summed_before_the_residual_and_the_bias_comes_last(tmp_path):
    """Column 0: clip(B + B) - B = 0. The hidden unit: B + B - B = 0, not B."""
    tensors = {"pos": dense([[-B, B]])}
    for head in ("layers.0.heads.0", "layers.0.heads.1"):
        tensors |= {f"{head}.wq": ("I8", [2, 0], []), f"{head}.wk": ("I8", [2, 0], [])}
        tensors |= sparse(f"{head}.wv", [(1, 0, 4)], [2, 2])
    mlp = "layers.1.mlp"
    tensors |= no_mlp(0, 2)
    tensors |= {f"{mlp}.w1": dense([[4], [B]]), f"{mlp}.b1": vector([-B])}
    tensors |= {f"{mlp}.w2": dense([[4, 4]]), f"{mlp}.b2": vector([3, -3])}
    assert forward(tmp_path, tensors, [0], 1) == [[3, B]]


# ----------------------------------------------------------------------------------------- reasoners


def planner(selected, rows):
    """Take exactly the slots that hold one of the selected tokens."""
    keep, take = [2] * 6, [4 if token in selected else 0 for token in range(6)]
    return {"embed": dense(ONE_HOT), "pos": dense([[0] * 6] * rows), "out": dense([keep, take])}


def test_mdm_without_layers(tmp_path):
    """A mask becomes a, an a becomes 1; the input a is left alone."""
    predictor = table({2: 0, 0: 5}, 3)
    predictor["out"][2][2 * 6 + 2] = B  # the mask's own row would win if it were not excluded
    models = {"planner": planner({0, 2}, 3), "predictor": predictor}
    result = run(folder(tmp_path, "mdm", models, steps=2, padding=2), "a")
    assert result == {
        "accepted": True,
        "steps": 2,
        "length": 1,
        "padding": 2,
        "output": ["1", "1"],
        "canvas": [["a", "a"], ["1", "1"]],
    }


def test_mdm_that_never_answers_is_neither_accepted_nor_rejected(tmp_path):
    models = {"planner": planner({2}, 3), "predictor": table({2: 0}, 3)}
    result = run(folder(tmp_path, "mdm", models, steps=2, padding=2), "b")
    assert result["accepted"] is None
    assert result["canvas"] == [["a", "a"], ["a", "a"]]


def test_smdm_checks_its_planner(tmp_path):
    models = {"planner": planner({0, 2}, 3), "predictor": table({2: 0, 0: 5}, 3)}
    with pytest.raises(Reselected, match=r"step 1.*slot 0"):
        run(folder(tmp_path, "smdm", models, steps=2, padding=2), "a")


def positional(logits):
    """No layers, logits by position alone: row r has the logits `logits[r]`."""
    identity = [unit(6, symbol) for symbol in range(6)]
    return {"embed": dense([[0] * 6] * 6), "pos": dense(logits), "out": dense(identity)}


SURE = [[0] * 6, [3, 0, B, 0, 0, 0], [0, 0, 0, 0, 7, 0], [0, 0, 0, 0, 0, 7], [-B] * 6]


@pytest.mark.parametrize(("k", "slots"), [(1, "m0mm"), (2, "m01m"), (3, "a01m"), (9, "a01a"), (None, "a01m")])
def test_topk_takes_the_surest_slots(tmp_path, k, slots):
    """The mask's logit does not count, the lower slot wins a tie, and -B stays out when k is null."""
    result = run(folder(tmp_path, "topk", {"model": positional(SURE)}, padding=4, k=k), "a")
    assert result["output"] == list(slots)


def counter(rows):
    """Three coordinates that start at 0, 3, 0; the only layer adds 1/4 to the first."""
    model = {
        "embed": dense([[0] * 3] * 6),
        "pos": dense([[0, 3, 0]] * rows),
        "out": dense([[0] * 3] * 4 + [[0, 4, 0], [4, 0, 0]]),
    }
    return {**model, **no_mlp(0, 3), "layers.0.mlp.b2": vector([1, 0, -1])}  # the outer ReLU drops the -1


@pytest.mark.parametrize(("steps", "accepted"), [(2, False), (3, False), (4, True)])
def test_plt_loops_steps_times(tmp_path, steps, accepted):
    """Accept iff steps > 3: at 3 the logits tie and the lower index, reject, wins."""
    path = folder(tmp_path, "plt", {"model": counter(3)}, loop=[0, 1], steps=steps, padding=2)
    answer = "1" if accepted else "0"
    result = run(path, "a")
    assert result["accepted"] is accepted
    assert result["output"] == [answer]
    assert result["canvas"] == [[answer]]


def copier(targets):
    """cot, N = 2, tokens a b 0 1 in columns 0..3, copies in 4..7, target in 8..10, self in 11..13, one in 14.

    Row r attends to row targets[r]: matching codes score B - B = 0, others 0 - B, whose exp is 0.
    """
    target, own, one = 8, 11, 14
    pos = [[0] * 15 for _ in range(4)]
    for row, to in enumerate(targets):
        pos[row][target + to] = pos[row][own + row] = pos[row][one] = 4
    head = "layers.0.heads.0"
    return {
        "embed": dense([unit(15, token) for token in range(4)]),
        "pos": dense(pos, "I64"),
        **sparse("out", [(3, 5, 4), (2, 4, 4)], [4, 15]),  # copy of b -> 1, copy of a -> 0
        **sparse(f"{head}.wq", [(one, 3, B), *((target + i, i, B) for i in range(3))], [15, 4], "I8"),
        **sparse(f"{head}.wk", [*((own + i, i, B) for i in range(3)), (one, 3, -B)], [15, 4]),
        **sparse(f"{head}.wv", [(1, 5, 4), (0, 4, 4)], [15, 15]),
        **{name: tensor for name, tensor in no_mlp(0, 15).items() if not name.endswith("w1")},
        **sparse("layers.0.mlp.w1", [], [15, 0]),
    }


COPY = {"steps": 2, "length": 2, "padding": 2, "vocabulary": ["a", "b", "0", "1"], "mask": None, "pad": None}


def copier_folder(path, targets):
    return folder(path, "cot", {"model": copier(targets)}, "causal", **COPY)


@pytest.mark.parametrize("word", ["aa", "ab", "ba", "bb"])
def test_cot_copies_its_input(tmp_path, word):
    copy = ["01"["ab".index(symbol)] for symbol in word]
    result = run(copier_folder(tmp_path, [0, 0, 1]), word)
    assert result["canvas"] == [copy[:1], copy]
    assert result["output"] == copy
    assert result["accepted"] is (word[1] == "b")


def test_a_row_that_attends_to_nothing_is_named(tmp_path):
    """Row 0 may not see row 1."""
    with pytest.raises(Undefined) as caught:
        run(copier_folder(tmp_path, [1, 0, 1]), "ab")
    assert (caught.value.layer, caught.value.head, caught.value.row) == (0, 0, 0)


def test_pcot_predicts_a_block_at_a_time(tmp_path):
    """Row r of the string decodes by its position; no symbol is excluded, not even the mask."""
    logits = [unit(6, symbol) for symbol in (0, 1, 2, 4, 5)]
    path = folder(
        tmp_path,
        "pcot",
        {"model": positional(logits)},
        "causal",
        steps=2,
        padding=4,
        block=2,
        vocabulary=list("abm□01"),
    )
    result = run(path, "a")
    assert result["canvas"] == [["b", "m"], ["b", "m", "0", "1"]]
    assert result["accepted"] is True


def test_begin_is_at_position_0_and_is_not_counted(tmp_path):
    path = folder(
        tmp_path,
        "cot",
        {"model": positional([unit(6, 4), unit(6, 5)])},
        "causal",
        length=0,
        begin="□",
        pad=None,
    )
    result = run(path, "")
    assert result["length"] == 0
    assert result["output"] == ["0"]
    assert result["accepted"] is False


# ------------------------------------------------------------------------------------------ sampling


def noise(seed, number, entry):
    """The noise at p = 2, in floating point: far from a tie in every case below."""
    raw = int(Philox(key=[seed, number]).random_raw(entry + 1)[entry])
    exact = -4 * math.log(-math.log(((raw >> 11) + 0.5) / 2**53))
    assert abs(exact % 1 - 0.5) > 1e-9
    return max(-B, min(B, round(exact)))


def best(scores):
    return max(scores, key=lambda index: (scores[index], -index))


@pytest.mark.parametrize("seed", range(8))
def test_sampled_mdm_reads_both_tapes(tmp_path, seed):
    """All logits are zero, so the tape alone decides: stream 2t for the planner, 2t + 1 for the predictor."""
    zero = {"embed": dense([[0] * 6] * 6), "pos": dense([[0] * 6] * 3)}
    models = {
        "planner": {**zero, "out": dense([[0] * 6] * 2)},
        "predictor": {**zero, "out": dense([[0] * 6] * 6)},
    }
    slots, canvas = ["m", "m"], []
    for step in range(3):
        for slot, row in enumerate((1, 2)):
            if noise(seed, 2 * step, row * 2 + 1) > noise(seed, 2 * step, row * 2):
                scores = {i: noise(seed, 2 * step + 1, row * 6 + i) for i in range(6) if i != 2}
                slots[slot] = "abm□01"[best(scores)]
        canvas.append(list(slots))
    path = folder(tmp_path, "mdm", models, steps=3, padding=2)
    assert run(path, "a", sample=True, seed=seed)["canvas"] == canvas
    assert run(path, "a")["output"] == ["m", "m"]


@pytest.mark.parametrize("seed", range(8))
def test_stochastic_plt_adds_the_tape_to_its_columns(tmp_path, seed):
    """No layers, two loops: the last row is the sum of two steps of noise, and decodes to the largest."""
    columns = {"planner": [4, 5], "predictor": [5, 0]}
    total = dict.fromkeys(range(6), 0)
    for step in range(2):
        for w, name, width in ((0, "planner", 2), (1, "predictor", 6)):
            for i, column in enumerate(columns[name]):
                value = total[column] + noise(seed, 2 * step + w, 2 * width + i)
                total[column] = max(-B, min(B, value))
    model = positional([[0] * 6] * 3)
    path = folder(tmp_path, "plt", {"model": model}, loop=[0, 0], noise=columns, steps=2, padding=2)
    assert run(path, "a", sample=True, seed=seed)["output"] == ["abm□01"[best(total)]]
    assert run(path, "a", seed=seed)["output"] == ["a"]


@pytest.mark.parametrize("seed", range(4))
def test_sampled_topk_chooses_slots_without_noise(tmp_path, seed):
    path = folder(tmp_path, "topk", {"model": positional(SURE)}, padding=4, k=1)
    scores = {i: min(B, SURE[2][i] + noise(seed, 1, 2 * 6 + i)) for i in range(6) if i != 2}
    symbol = "abm□01"[best(scores)]
    assert run(path, "a", sample=True, seed=seed)["output"] == ["m", symbol, "m", "m"]


# ------------------------------------------------------------------------------------ files and words


def test_sparse_and_dense_agree_and_duplicates_are_refused(tmp_path):
    model = counter(3)
    del model["out"]
    entries = [(5, 0, 4), (4, 1, 4)]
    for name, parts in {"good": entries, "bad": [*entries, (5, 0, 4)]}.items():
        (tmp_path / name).mkdir()
        tensors = {**model, **sparse("out", parts, [6, 3])}
        folder(tmp_path / name, "plt", {"model": tensors}, loop=[0, 1], steps=4, padding=2)
    assert run(tmp_path / "good", "a")["accepted"] is True
    with pytest.raises(Unreadable, match="duplicate"):
        run(tmp_path / "bad", "a")


def test_a_float_tensor_is_refused(tmp_path):
    header = json.dumps({"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    (tmp_path / "x").write_bytes(struct.pack("<Q", len(header)) + header + bytes(4))
    with pytest.raises(Unreadable, match="F32"):
        read_safetensors(tmp_path / "x")


def test_a_weight_outside_f_p_is_refused(tmp_path):
    model = positional([[0] * 5 + [16], [0] * 6])
    with pytest.raises(Unreadable, match="16"):
        run(folder(tmp_path, "topk", {"model": model}), "a")


def test_characters_map_code_points_to_tokens(tmp_path):
    """A range leads to a symbol, by name or by index; here a means 0 and b means 1."""
    successors = {0: 4, 1: 5}
    path = folder(
        tmp_path,
        "cot",
        {"model": table(successors, 2)},
        "causal",
        characters=[[0, 96, 1], [97, 97, "a"], [98, 0x10FFFF, 1]],
    )
    assert [run(path, word)["accepted"] for word in ("a", "b", "A", "🙂")] == [False, True, True, True]


def test_longer_symbols_are_separated_by_blanks(tmp_path):
    config = {"vocabulary": ["no", "yes", "m", "□", "0", "1"], "input_symbols": ["no", "yes"]}
    path = folder(tmp_path, "cot", {"model": table({0: 4, 1: 5}, 3)}, "causal", length=2, **config)
    assert run(path, "no yes")["accepted"] is True
    assert run(path, "yes  no")["accepted"] is False
    for word in ("noyes", "no", "m no"):
        with pytest.raises(Unreadable):
            run(path, word)


def test_main_prints_one_document(tmp_path, capsys):
    path = folder(tmp_path, "plt", {"model": counter(3)}, loop=[0, 1], steps=4, padding=2)
    assert main([str(path), "b", "--sample", "--seed", "3"]) == 0
    assert json.loads(capsys.readouterr().out) == run(path, "b")
    assert main([str(path), "bb"]) == 2
