"""The proofs, as far as they can be checked without coqc: their statements about the package, and their page."""

import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from unmask import compile_problem, save_model
from unmask.numerics.arithmetic import Precision, exp_table

ROOT = Path(__file__).parents[1]
PROOFS = ROOT / "proofs"
PAGE = (ROOT / "docs" / "paper" / "rocq.md").read_text(encoding="utf-8")


@pytest.fixture
def scripts(monkeypatch):
    """(check, shipped): the scripts of `make rocq`."""
    monkeypatch.syspath_prepend(str(PROOFS))
    for name in ("check", "shipped"):
        sys.modules.pop(name, None)
    import check
    import shipped

    return check, shipped


def tables():
    text = (PROOFS / "ExponentialTables.v").read_text(encoding="utf-8")
    matches = re.findall(r"Definition table_(\d) : list Z :=\s*\[([^\]]*)\]", text)
    return {int(p): [int(a) for a in entries.split(";")] for p, entries in matches}


@pytest.mark.parametrize("p", range(1, 5))
def test_the_tables_of_the_proofs_are_the_package_s(p):
    assert tables()[p] == exp_table(Precision(p)).tolist()


@pytest.mark.parametrize("p", range(1, 9))
def test_the_package_s_exponential_is_one_of_the_proofs(p):
    """The record `exponential` of Exponential.v, field by field."""
    precision = Precision(p)
    x = np.array(precision.numbers())
    exp, one, bound = exp_table(precision), precision.one, precision.bound
    assert (exp >= 0).all()
    assert (exp <= bound).all()
    assert exp[bound] == one
    assert (np.diff(exp) >= 0).all()
    assert (exp[64 * x >= 45 * p * one] == bound).all()
    assert (exp[64 * x <= -45 * (p + 1) * one] == 0).all()


def test_the_page_names_theorems_that_exist_and_all_of_them(scripts):
    check, _ = scripts
    text = "\n".join((PROOFS / f"{stem}.v").read_text(encoding="utf-8") for stem in check.files())
    theorems = set(re.findall(r"^\s*(?:Theorem|Corollary) (\w+)", text, re.M))
    defined = set(re.findall(r"^\s*(?:Theorem|Corollary|Lemma|Example|Definition|Record) (\w+)", text, re.M))
    rows = re.findall(r"^(?:\| |- |)((?:`\w+`(?:, )?)+)", PAGE, re.M)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named <= defined, named - defined
    assert theorems <= named, theorems - named
    for name in re.findall(r"\b(\w+\.v)\b", PAGE):
        assert (PROOFS / name).exists(), name


def test_every_file_is_compiled_and_none_leaves_a_gap(scripts):
    check, _ = scripts
    assert {f"{stem}.v" for stem in check.files()} == {path.name for path in PROOFS.glob("*.v")}
    check.refuse_gaps()


def test_a_gap_is_refused(scripts, tmp_path, monkeypatch):
    check, _ = scripts
    (tmp_path / "_CoqProject").write_text("-Q . Unmask\nGap.v\n")
    (tmp_path / "Gap.v").write_text("Theorem gap : False.\nProof. Admitted.\n")
    monkeypatch.setattr(check, "HERE", tmp_path)
    with pytest.raises(SystemExit, match=r"Gap\.v says Admitted"):
        check.refuse_gaps()


@pytest.mark.skipif(shutil.which("coqc") is None, reason="needs coqc")
@pytest.mark.parametrize("keyword", ["Theorem", "Remark", "Definition"])
def test_an_axiom_is_refused_under_every_keyword(scripts, tmp_path, monkeypatch, keyword):
    check, _ = scripts
    (tmp_path / "_CoqProject").write_text("-Q . Unmask\nGap.v\n")
    (tmp_path / "Gap.v").write_text(f"Context (gap : False).\n{keyword} empty : 0 = 1.\nProof. destruct gap. Qed.\n")
    monkeypatch.setattr(check, "HERE", tmp_path)
    check.refuse_gaps()
    with pytest.raises(SystemExit, match=r"not closed under the global context"):
        check.main()


@pytest.mark.skipif(shutil.which("coqc") is None, reason="needs coqc")
def test_what_is_supposed_is_refused_even_if_nothing_uses_it(scripts, tmp_path, monkeypatch):
    check, _ = scripts
    (tmp_path / "_CoqProject").write_text("-Q . Unmask\nGap.v\n")
    (tmp_path / "Gap.v").write_text("Hypothesis gap : False.\nTheorem fine : 0 = 0.\nProof. reflexivity. Qed.\n")
    monkeypatch.setattr(check, "HERE", tmp_path)
    check.refuse_gaps()
    with pytest.raises(SystemExit, match=r"supposed without a proof: Gap\.gap"):
        check.main()


def test_a_file_that_is_not_compiled_is_refused(scripts, tmp_path, monkeypatch):
    check, _ = scripts
    (tmp_path / "_CoqProject").write_text("-Q . Unmask\n")
    (tmp_path / "Forgotten.v").write_text("Theorem fine : 0 = 0.\nProof. reflexivity. Qed.\n")
    monkeypatch.setattr(check, "HERE", tmp_path)
    with pytest.raises(SystemExit, match=r"Forgotten\.v is not in proofs/_CoqProject"):
        check.refuse_gaps()


def printed(tensors, names):
    """A transformer as Export.v prints it."""
    lines = []
    for name in names:
        array = np.atleast_2d(tensors[name])
        entries = "; ".join(f"({i}, {j}, {array[i, j]})" for i, j in zip(*np.nonzero(array), strict=True))
        lines.append(f"({array.shape[0]}, {array.shape[1]}, [{entries}])")
    return f"     = [{'; '.join(lines)}]\n     : list tensor\n"


def test_a_flipped_weight_is_found(scripts, tmp_path):
    _, shipped = scripts
    folder = shipped.Folder.read(save_model(compile_problem("a*b*", "mdm", length=3), tmp_path / "model"))
    text = "".join(
        printed(folder.tensors[name], shipped.names(folder.tensors[name])) for name in ("planner", "predictor")
    )
    assert shipped.compare(folder, text) > 0
    folder.tensors["predictor"]["layers.1.mlp.w2"][0, 0] += 1
    with pytest.raises(SystemExit, match=r"predictor layers\.1\.mlp\.w2"):
        shipped.compare(folder, text)


def test_weights_that_are_not_integers_are_refused(scripts):
    _, shipped = scripts
    with pytest.raises(SystemExit, match=r"not integers: \['embed'\]"):
        shipped._dense({"embed": np.array([[0.5]])})


def test_a_duplicate_entry_is_refused(scripts):
    _, shipped = scripts
    twice = {"row": [0, 0], "col": [1, 1], "val": [1, 2], "shape": [1, 2]}
    with pytest.raises(SystemExit, match="an entry of embed twice"):
        shipped._dense({f"embed.{name}": np.array(numbers) for name, numbers in twice.items()})


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda config: config["transformers"]["predictor"].update(attention="causal"), "predictor: attention"),
        (lambda config: config["transformers"]["planner"].update(loop=[0, 1]), "planner: loop"),
        (lambda config: config.update(begin="m"), "config: begin"),
        (lambda config: config.update(aliases={"0": "1"}), "config: aliases"),
        (lambda config: config.update(reasoner="topk"), "config: reasoner"),
        (lambda config: config.update(precision=3), "config: precision"),
        (lambda config: config["vocabulary"].reverse(), "vocabulary: letters"),
    ],
)
def test_a_folder_of_another_model_is_refused(scripts, tmp_path, change, where):
    """The weights are the same, but the behaviour also depends on the config."""
    _, shipped = scripts
    config = shipped.Folder.read(save_model(compile_problem("a*b*", "mdm", length=3), tmp_path / "model")).config
    shipped.refuse_other_models(config, 3, 2)
    change(config)
    with pytest.raises(SystemExit, match=where):
        shipped.refuse_other_models(config, 3, 2)


def test_a_folder_that_reads_fewer_letters_is_refused(scripts, tmp_path):
    _, shipped = scripts
    config = shipped.Folder.read(save_model(compile_problem("a*b*", "mdm", length=3), tmp_path / "model")).config
    shipped.refuse_other_letters(config, shipped.A_BEFORE_B)
    config["input_symbols"].remove("a")
    with pytest.raises(SystemExit, match="input_symbols"):
        shipped.refuse_other_letters(config, shipped.A_BEFORE_B)


@pytest.mark.usefixtures("scripts")
def test_random_models_are_written_as_the_package_computes_them(tmp_path):
    """The equations that Rocq must prove contain the results of the engine: a flipped weight changes them."""
    import definitions

    weights = {
        role: definitions.RandomWeights(np.random.default_rng(1), 2, loud=False).transformer(outputs)
        for role, outputs in definitions.PARTS.items()
    }
    definitions.write_folder(tmp_path / "model", 2, weights)
    statements, errors = definitions.equations(tmp_path / "model", "model_1", 2)
    assert len(statements) == len(definitions.WORDS) * (len(definitions.PARTS) + definitions.STEPS) - errors
    weights["planner"]["layers.1.mlp.b2"][0] *= -1
    definitions.write_folder(tmp_path / "flipped", 2, weights)
    assert definitions.equations(tmp_path / "flipped", "model_1", 2)[0] != statements


@pytest.mark.usefixtures("scripts")
def test_converted_chains_are_written_as_the_package_converts_them(tmp_path):
    """The equations that Rocq must prove contain the package's weights: a flipped weight of the source changes them."""
    import conversions
    import definitions

    weights = definitions.RandomWeights(np.random.default_rng(1), 2, loud=False).transformer(5)
    conversions.write_chain(tmp_path / "source", 2, weights, begins=True)
    text, count, errors = conversions.statements(tmp_path / "source", tmp_path / "target", 0)
    assert "Goal cot_to_pcot 2 3 source_0 = target_0." in text
    assert text.count("Goal ") == count > errors
    weights["layers.1.mlp.b2"][0] *= -1
    conversions.write_chain(tmp_path / "flipped", 2, weights, begins=True)
    flipped, _, _ = conversions.statements(tmp_path / "flipped", tmp_path / "other", 0)
    assert flipped.split("Definition target")[1] != text.split("Definition target")[1]


def test_a_monoid_is_read_off_the_weights(scripts, tmp_path):
    """The table that was read defines the language of the folder: a*b* on all words of three letters."""
    _, shipped = scripts
    folder = shipped.Folder.read(save_model(compile_problem("a*b*", "mdm", length=3), tmp_path / "model"))
    reading = shipped.read_monoid(folder)
    symbols = folder.config["input_symbols"]
    for word in ("aab", "aaa", "bbb", "aba", "bba"):
        element = 0
        for letter in word:
            element = reading.multiply(element, reading.letters[symbols.index(letter)])
        assert (element in reading.accepting) == bool(re.fullmatch("a*b*", word))
