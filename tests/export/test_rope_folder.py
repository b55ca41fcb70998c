"""RMSNorm, RoPE and SwiGLU: EuroBERT, Llama and Qwen2 folders run by stock transformers."""

import itertools
import json
import random
import re

import numpy as np
import pytest

from export.permutations import words as a5_words
from unmask.api import compile_problem, run_word
from unmask.errors import UnmaskError
from unmask.export import rope_folder, rope_transformer
from unmask.export.agreement import ExportDisagreement
from unmask.export.export_model import export_files
from unmask.export.export_task import slot_levels
from unmask.export.real_transformer import rounding
from unmask.export.rope_transformer import RopeChoice

AUTO = {"eurobert": "AutoModelForMaskedLM", "llama": "AutoModelForCausalLM", "qwen2": "AutoModelForCausalLM"}


def solves(filled, word_answers, slot=-1):
    return [slots[slot] == "1" for slots in filled["slots"]] == [answer for _, answer in word_answers]


@pytest.mark.parametrize("form", AUTO)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_a5_in_every_stock_class_and_number_format(form, dtype, exported, outside):
    model, folder, report = exported("group:A5", "mdm", form, length=16)
    word_answers = a5_words(model.input_symbols, 16, 8, seed=31)
    words = [word for word, _ in word_answers]
    filled = outside("fill", folder=folder, words=words, padding=15, auto=AUTO[form], dtype=dtype)
    assert solves(filled, word_answers)
    assert filled["passes"] == 4
    assert min(report["margins"].values()) > 7.4


def test_spare_rows_and_left_pads(exported, outside):
    model, folder, _ = exported("group:A5", "mdm", "llama", length=16)
    word_answers = a5_words(model.input_symbols, 16, 6, seed=32)
    words = [word for word, _ in word_answers]
    for options in ({"spare": 32}, {"spare": 1}, {"left_pads": 5}):
        filled = outside("fill", folder=folder, words=words, padding=15, auto=AUTO["llama"], **options)
        assert solves(filled, word_answers)
        assert filled["passes"] == 4
        assert filled["spare"] == (["[EOS]"] if "spare" in options else [])


def test_a_causal_mask_is_noticed_in_the_reversed_order_alone(exported, outside):
    for order, causal, solved in (
        ("heap", True, True),
        ("reversed", True, False),
        ("reversed", False, True),
    ):
        model, folder, report = exported("group:A5", "mdm", "llama", length=16, order=order)
        word_answers = a5_words(model.input_symbols, 16, 8, seed=33)
        words = [word for word, _ in word_answers]
        filled = outside("fill", folder=folder, words=words, padding=15, auto=AUTO["llama"], is_causal=causal)
        assert solves(filled, word_answers, report["answer_slot"]) is solved
    assert (report["answer_slot"], report["order"][-1], report["slots"][:2]) == (0, [0], [14, 13])


@pytest.mark.parametrize(
    ("form", "order", "block", "passes"),
    [("bert", None, 16, 5), ("eurobert", None, 16, 5), ("eurobert", None, 4, 10), ("eurobert", "reversed", 16, 5)],
)
def test_a_pipeline_of_diffusers(form, order, block, passes, exported, outside):
    """One pass more than the model needs: LLaDA2Pipeline calls the model again after the last mask of a block."""
    pytest.importorskip("diffusers", reason="diffusers is not installed")
    options = {} if order is None else {"order": order}
    model, folder, report = exported("group:A5", "mdm", form, length=16, **options)
    word_answers = a5_words(model.input_symbols, 16, 4, seed=42)
    words, auto = [word for word, _ in word_answers], AUTO.get(form, "AutoModelForMaskedLM")
    filled = outside("pipeline", folder=folder, words=words, auto=auto, gen_length=15, block_length=block)
    assert solves(filled, word_answers, report["answer_slot"])
    assert filled["passes"] == passes


def test_the_order_that_skips_levels(exported, outside):
    model, folder, report = exported("group:S3", "mdm", "eurobert", length=16, order="skip")
    assert report["slots"] == [*range(8), 12, 13, *range(8, 12), 14]
    assert report["order"] == [[*range(8)], [*range(10, 14)], [8, 9], [14]]
    rng = random.Random(39)
    letters = [rng.choices(model.input_symbols, k=16) for _ in range(8)]
    filled = outside("fill", folder=folder, words=[" ".join(w) for w in letters], padding=15, auto=AUTO["eurobert"])
    assert [slots[-1] == "1" for slots in filled["slots"]] == [run_word(model, word).accepted for word in letters]
    assert filled["passes"] == 4


@pytest.mark.parametrize(
    ("problem", "length", "levels"),
    [
        ("(a|b)*abb", 7, [[0, 1, 2], [3, 4], [5]]),
        ("program:examples/programs/prefix_scan.py", 4, [[*range(8, 14)], [*range(8)]]),
    ],
)
def test_levels_of_slots(problem, length, levels):
    assert slot_levels(compile_problem(problem, "mdm", length=length)) == levels


def test_an_order_of_ones_own_in_bert(exported, outside):
    order = "3,0,2,1,6,5,4"
    model, folder, report = exported("group:A5", "mdm", "bert", length=8, order=order)
    word_answers = a5_words(model.input_symbols, 8, 8, seed=34)
    filled = outside("bert", folder=folder, words=[word for word, _ in word_answers], padding=7)
    assert solves(filled, word_answers, 4)
    assert (filled["passes"], report["answer_slot"]) == (3, 4)
    assert report["order"] == [[0, 1, 2, 3], [5, 6], [4]]


REGEXES = ["(a|b)*abb", "a*b*", "[^a]*a[^a]*", "(a|b){3}.*", "[a-c]+[01]*", "x.*y|yx*"]


@pytest.mark.parametrize(("pattern", "form"), list(zip(REGEXES, itertools.cycle(AUTO), strict=False)))
def test_regexes_against_re(pattern, form, exported, outside):
    _, folder, report = exported(pattern, "mdm", form, length=7)
    rng = random.Random(35)
    words = ["".join(rng.choices(alphabet, k=7)) for alphabet in ("ab", "abcdxy01m ε") for _ in range(15)]
    words += ["aaaaabb", "xyyyyyy", "yxxxxxx", "aacc011", "bbbabbb"]
    filled = outside("fill", folder=folder, words=words, padding=report["padding"], auto=AUTO[form])
    answers = [slots[-1] for slots in filled["slots"]]
    assert answers == [report["accept" if re.fullmatch(pattern, word) else "reject"] for word in words]


GRAMMARS = {
    "S -> ( S ) | S S | ( )": ("()", lambda word: _closes(word)),
    "S -> a S b | a b": ("ab", lambda word: word == "a" * (len(word) // 2) + "b" * (len(word) // 2)),
}


def _closes(word):
    depths = list(itertools.accumulate(1 if letter == "(" else -1 for letter in word))
    return min(depths) >= 0 and depths[-1] == 0


@pytest.mark.parametrize("rules", GRAMMARS)
@pytest.mark.parametrize("form", ["bert", "eurobert", "llama"])
def test_grammars_on_every_word(rules, form, exported, outside, tmp_path_factory):
    """CYK in stock classes: all 64 words of six letters, with the whole margin of F_p."""
    letters, accepts = GRAMMARS[rules]
    file = tmp_path_factory.getbasetemp() / f"grammar{len(letters) + ord(letters[0])}.cfg"
    file.write_text(rules)
    _, folder, report = exported(f"cfg:{file}", "mdm", form, length=6)
    words = ["".join(word) for word in itertools.product(letters, repeat=6)]
    auto = AUTO.get(form, "AutoModelForMaskedLM")
    filled = outside("fill", folder=folder, words=words, padding=report["padding"], auto=auto)
    answers = [slots[-1] for slots in filled["slots"]]
    assert answers == [report["accept" if accepts(word) else "reject"] for word in words]
    assert report["agreement"]["least_margin"] > 7.49


OTHERS = [
    ("family:majority", "mdm", 5, 2),
    ("expr:(a+b)*c", "mdm", None, 2),
    ("family:parity", "smdm", 6, 2),
    ("group:S3", "topk", 8, 3),
    ("family:contains-aba", "mdm", 6, 3),
]


@pytest.mark.parametrize(("problem", "kind", "length", "precision"), OTHERS)
def test_other_problems_kinds_and_precisions(problem, kind, length, precision, exported, outside):
    model, folder, report = exported(problem, kind, "eurobert", length=length, precision=precision)
    rng = random.Random(36)
    letters = [rng.choices(model.input_symbols, k=model.length) for _ in range(12)]
    if problem.startswith("expr"):
        letters = [list(f"({a}+{b})*{c}=") for a, b, c in (rng.choices(range(10), k=3) for _ in range(12))]
    words = [" ".join(word) for word in letters]
    threshold = 0.9 if kind != "topk" else 0.5
    filled = outside(
        "fill", folder=folder, words=words, padding=model.padding, auto=AUTO["eurobert"], threshold=threshold
    )
    outputs = [run_word(model, word).output[-1] for word in letters]
    names = {model.accept: report["accept"], model.reject: report["reject"]}
    assert [slots[-1] for slots in filled["slots"]] == [names.get(symbol, symbol) for symbol in outputs]


def test_a_planner(exported, outside):
    model, folder, _ = exported("group:S3", "mdm", "eurobert", length=8, part="planner")
    slots = outside("planner", folder=folder, words=["e e e e e e e e"], padding=model.padding)
    assert slots == [[0, 1, 2, 3]]


def test_a_chain_of_thought_as_a_causal_llama(exported, outside):
    """`generate` ends by itself: behind the last symbol the model predicts [EOS]."""
    _, folder, report = exported("[a-c]+[01]*", "cot", "llama", length=6)
    rng = random.Random(37)
    words = ["".join(rng.choices(alphabet, k=6)) for alphabet in ("abc", "abc01", "abcmq01é") for _ in range(8)]
    chains = outside("gpt2", folder=folder, words=words, steps=report["steps"])
    assert [chain[-1] for chain in chains] == [
        report["accept" if re.fullmatch("[a-c]+[01]*", word) else "reject"] for word in words
    ]
    assert json.loads((folder / "config.json").read_text())["is_causal"] is True
    longer = outside("generated", folder=folder, word=words[0])
    assert longer == [*chains[0], "[EOS]"]


@pytest.mark.parametrize(
    ("problem", "kind", "form", "part"),
    [
        ("(a|b)*abb", "mdm", "qwen2", None),
        ("(a|b)*abb", "cot", "llama", None),
        ("(a|b)*abb", "mdm", "llama", "planner"),
    ],
)
def test_the_program_on_the_card_runs(problem, kind, form, part, exported, outside):
    _, folder, _ = exported(problem, kind, form, length=6, part=part)
    if form == "llama" and part:
        assert "AutoModelForCausalLM" in (folder / "README.md").read_text()
    assert outside("card", folder=folder).startswith("[")


@pytest.mark.parametrize(("theta", "head_dim"), [(5e5, 128), (1e6, 128), (1e6, None), (None, 64), (None, 256)])
def test_stock_values_of_published_models(theta, head_dim, exported, outside):
    model, folder, report = exported("group:S3", "mdm", "llama", length=16, rope=RopeChoice(theta, head_dim))
    config = json.loads((folder / "config.json").read_text())
    assert theta in (None, config["rope_theta"])
    assert head_dim in (None, config["head_dim"])
    assert config["hidden_size"] == config["num_attention_heads"] * config["head_dim"]
    rng = random.Random(38)
    letters = [rng.choices(model.input_symbols, k=16) for _ in range(8)]
    filled = outside("fill", folder=folder, words=[" ".join(w) for w in letters], padding=15, auto=AUTO["llama"])
    assert [slots[-1] == "1" for slots in filled["slots"]] == [run_word(model, word).accepted for word in letters]
    assert report["margins"]["float32"] > 7.4


# what is refused


def exports(form="llama", problem="(a|b)*abb", kind="mdm", length=8, **options):
    return export_files(compile_problem(problem, kind, length=length), form, **options)


def test_a_beta_that_is_too_small_for_positions(monkeypatch):
    monkeypatch.setattr(rope_transformer, "LEAST_GATE", 2.0)
    with pytest.raises(ExportDisagreement, match="computes a wrong position"):
        exports()


@pytest.mark.parametrize(("coarser", "message"), [(64, r"with only \d+% of its margin"), (256, "disagrees with F_2")])
def test_a_beta_that_is_too_small_for_the_model(coarser, message, monkeypatch):
    """β = 4 and β = 1 in the layers of the model; the position layers keep their β."""
    whole = rope_folder.rope_form
    monkeypatch.setattr(
        rope_folder,
        "rope_form",
        lambda *arguments, grid, **keywords: whole(*arguments, grid=grid * coarser, **keywords),
    )
    with pytest.raises(ExportDisagreement, match=message):
        exports()


def test_textbook_position_units(monkeypatch):
    """1 in its own row and at most 0 in others: an unsure bit leaks through silu."""
    monkeypatch.setattr(rope_transformer, "UNIT_WEIGHT", 1.0)
    with pytest.raises(ExportDisagreement, match="computes a wrong position in row"):
        exports(problem="group:S3", length=16)


def test_swapped_halves(monkeypatch):
    """Planes of neighbours, as llama.cpp's converter permutes them, where the two halves are expected."""
    whole = rope_folder.Container.tensors

    def permuted(self, neutral):
        tensors = whole(self, neutral)
        for name in tensors:
            if name.endswith(("q_proj.weight", "k_proj.weight")):
                tensor = tensors[name].reshape(neutral.heads, 2, -1, neutral.width)
                tensors[name] = np.ascontiguousarray(tensor.swapaxes(1, 2).reshape(tensors[name].shape))
        return tensors

    monkeypatch.setattr(rope_folder.Container, "tensors", permuted)
    with pytest.raises(ExportDisagreement, match="computes a wrong position"):
        exports()


@pytest.mark.parametrize(
    "name",
    [
        "lm_head.weight",
        "model.embed_tokens.weight",
        "model.layers.1.self_attn.v_proj.weight",
        "model.layers.1.mlp.gate_proj.weight",
        "model.layers.0.self_attn.o_proj.weight",
    ],
)
def test_a_shifted_tensor(name, monkeypatch):
    whole = rope_folder.Container.tensors

    def rolled(self, neutral):
        return {key: np.roll(t, 1, axis=0) if key == name else t for key, t in whole(self, neutral).items()}

    monkeypatch.setattr(rope_folder.Container, "tensors", rolled)
    with pytest.raises(ExportDisagreement):
        exports()


def test_a_visible_spare_row(monkeypatch):
    """Without the score that hides them, spare rows are read, or predict a token other than [EOS]."""
    monkeypatch.setattr("unmask.export.stock_architecture.hiding_score", lambda _: 0.0)
    with pytest.raises(ExportDisagreement):
        exports("bert")


REFUSED = [
    ({"order": "reverse"}, "is neither heap, reversed, skip, work nor a list of slots"),
    ({"order": "0,1,2"}, r"must name each of the slots 0 to 6 exactly once; the list given has 3 entries"),
    ({"order": "0,1,2,3,4,5,5"}, "exactly once"),
    ({"rope": RopeChoice(1e4, 64)}, "--rope-theta 10000 and --head-dim 64 has .* planes that turn slowly enough"),
    ({"rope": RopeChoice(None, 16)}, "no head with --head-dim 16 has .* leave these options out"),
    ({"rope": RopeChoice(1.5, None)}, r"no head with --rope-theta 1\.5 has"),
    ({"rope": RopeChoice(None, 33)}, "--head-dim must be a multiple of 8"),
    ({"rope": RopeChoice(0.5, None)}, "--rope-theta must be above 1"),
    ({"form": "bert", "rope": RopeChoice(1e4, None)}, "--rope-theta and --head-dim are for"),
    ({"form": "onnx", "order": "reversed"}, "--order is for bert"),
    (
        {"kind": "plt"},
        "llama can store only mdm, smdm, topk, cot, and this model is of kind plt; use --to albert, torch, onnx",
    ),
    ({"kind": "cot", "order": "reversed"}, "--order is for models with a canvas"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_bad_options(options, message):
    with pytest.raises(UnmaskError, match=message):
        exports(**options)


def test_a_model_too_large(unmask, tmp_path):
    from unmask.weights.storage import save

    save(compile_problem("group:A5", "mdm", length=16), tmp_path / "a5")
    code, _, err = unmask("export", tmp_path / "a5", "--to", "llama", "--out", tmp_path / "out", "--limit", "20MB")
    assert code == 2
    assert "the llama form would take about" in err


def test_rounding_to_bfloat16_against_torch():
    torch = pytest.importorskip("torch")
    values = np.random.default_rng(0).normal(size=4096) * 10.0 ** np.arange(-20, 20).repeat(103)[:4096]
    values = np.append(values, [0.0, -0.0, 1 + 2.0**-8, 1 + 3 * 2.0**-8, -8192.0, -1e4]).astype(np.float32)
    for dtype in ("bfloat16", "float16"):
        with np.errstate(over="ignore"):
            expected = torch.from_numpy(values).to(getattr(torch, dtype)).float().numpy()
            assert np.array_equal(rounding(dtype)(values), expected)
    assert rounding("bfloat16")(np.float32([-8192, -1e4])).tolist() == [-8192, -9984]
