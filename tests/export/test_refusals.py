"""An export that decides differently from F_p is refused: each repair is needed, each mutation is noticed."""

from dataclasses import replace

import numpy as np
import pytest

from unmask.api import compile_problem, convert_model
from unmask.export import bert_gpt2_albert
from unmask.export.agreement import ExportDisagreement
from unmask.export.bert_gpt2_albert import bert, gpt2
from unmask.export.export_model import export_files


def without(name, monkeypatch):
    monkeypatch.setattr(f"unmask.export.real_transformer.{name}", lambda transformer, *_: transformer)


def test_scores_that_leak(monkeypatch):
    """β = 1: a mismatch costs 7.5, and 65 rows in six loops add it up."""
    model = compile_problem("group:A5", "plt", length=64)
    monkeypatch.setattr("unmask.export.real_transformer.score_scale", lambda _: 1)
    with pytest.raises(ExportDisagreement, match="the plain form of the model disagrees with F_2"):
        export_files(model, "torch")
    # β = 2 costs 15, and all come out right; what leaks still shows
    monkeypatch.setattr("unmask.export.real_transformer.score_scale", lambda _: 2)
    with pytest.raises(ExportDisagreement, match="with only 90% of its margin"):
        export_files(model, "torch")
    # here every word that is tried comes out right, by less than it should
    monkeypatch.setattr("unmask.export.real_transformer.score_scale", lambda _: 1)
    with pytest.raises(ExportDisagreement, match="with only 59% of its margin"):
        export_files(compile_problem("group:S3", "plt", length=64), "torch")


@pytest.mark.long
def test_scores_of_a_stock_form_are_sharper(monkeypatch):
    """ALBERT's own scale lies between 1 and 2 above β: β = 1 is refused, β = 2 has the margin of β = 16."""
    model, margins = compile_problem("group:A5", "plt", length=64), {}
    for beta in (2, 16):
        monkeypatch.setattr("unmask.export.real_transformer.score_scale", lambda _, beta=beta: beta)
        _, report = export_files(model, "albert")
        margins[beta] = report["agreement"]["least_margin"]
    assert margins[2] == margins[16] > 3.7
    monkeypatch.setattr("unmask.export.real_transformer.score_scale", lambda _: 1)
    with pytest.raises(ExportDisagreement, match="the ALBERT form of the model disagrees with F_2"):
        export_files(model, "albert")


@pytest.mark.parametrize("k", [1, 2])
def test_slots_that_are_chosen_by_a_tie(k):
    """A topk model that writes a fixed number of slots; ready slots have equal confidence, and the lowest one wins."""
    model = replace(compile_problem("(a|b)*abb", "topk", length=4), k=k)
    with pytest.raises(ExportDisagreement, match=f"ties of F_2 determine the {k} most confident slots"):
        export_files(model, "bert")


@pytest.mark.parametrize("form", ["bert", "torch", "onnx"])
def test_detection_by_averages(form, monkeypatch):
    model = compile_problem("expr:(a+b)*c", "mdm")
    without("detection_by_score", monkeypatch)
    with pytest.raises(ExportDisagreement, match="disagrees with F_2"):
        export_files(model, form)


def test_logits_after_a_reset(monkeypatch):
    *_, (_, conversion) = convert_model(compile_problem("group:S3", "mdm", length=3), "pcot", by="mdm_to_pcot")
    _, report = export_files(conversion.model, "torch")
    assert "louder logits after a reset" in report["repairs"]
    without("louder_after_reset", monkeypatch)
    with pytest.raises(ExportDisagreement, match="disagrees with F_2"):
        export_files(conversion.model, "torch")


def test_a_conversion_that_leans_on_saturation():
    *_, (_, conversion) = convert_model(compile_problem("group:S3", "mdm", length=3), "smdm", by="mdm_to_smdm")
    with pytest.raises(ExportDisagreement, match="floats do not round and clip like F_p"):
        export_files(conversion.model, "bert")


def shifted(name):
    """Return a decorator of a writer that rolls one tensor by one row."""

    def spoiled(write):
        def written(*arguments, **options):
            checkpoint = write(*arguments, **options)
            checkpoint.tensors[name] = np.roll(checkpoint.tensors[name], 1, axis=0)
            return checkpoint

        return written

    return spoiled


BERT_TENSORS = [
    "cls.predictions.decoder.weight",
    "bert.embeddings.position_embeddings.weight",
    "bert.embeddings.word_embeddings.weight",
    "bert.encoder.layer.0.attention.self.query.weight",
    "bert.encoder.layer.0.intermediate.dense.weight",
]


@pytest.mark.parametrize("name", BERT_TENSORS)
def test_a_shifted_bert(name, monkeypatch):
    model = compile_problem("(a|b)*abb", "mdm", length=8)
    monkeypatch.setattr(bert_gpt2_albert, "bert", shifted(name)(bert))
    with pytest.raises(ExportDisagreement, match="the BERT form of the predictor"):
        export_files(model, "bert")


@pytest.mark.parametrize("name", ["lm_head.weight", "transformer.wpe.weight", "transformer.h.0.attn.c_attn.weight"])
def test_a_shifted_gpt2(name, monkeypatch):
    model = compile_problem("(a|b)*abb", "cot", length=8)
    monkeypatch.setattr(bert_gpt2_albert, "gpt2", shifted(name)(gpt2))
    with pytest.raises(ExportDisagreement, match="the GPT2 form of the model"):
        export_files(model, "gpt2")


def test_logits_that_are_one_row_late(monkeypatch):
    """As Dream's `right_shift_logits` reads them."""
    model = compile_problem("(a|b)*abb", "mdm", length=8)
    passes = bert_gpt2_albert.bert_passes

    def late(*arguments):
        inner = passes(*arguments)
        return lambda tokens: np.roll(inner(tokens), 1, axis=1)

    monkeypatch.setattr(bert_gpt2_albert, "bert_passes", late)
    with pytest.raises(ExportDisagreement):
        export_files(model, "bert")


def test_the_least_change_that_decides(monkeypatch):
    """A spoiled norm: a gain of 1 instead of C·√(2/D)."""
    model = compile_problem("(a|b)*abb", "mdm", length=8)

    def flat(*arguments, **options):
        checkpoint = bert(*arguments, **options)
        checkpoint.tensors["bert.embeddings.LayerNorm.weight"][:] = 1
        return checkpoint

    monkeypatch.setattr(bert_gpt2_albert, "bert", flat)
    with pytest.raises(ExportDisagreement):
        export_files(model, "bert")


def test_detection_by_finer_thresholds(monkeypatch):
    """A head that detects too many values is not split; THRESH then has 1/rows for 2^-p."""
    monkeypatch.setattr("unmask.export.real_transformer.MOST_HEADS", 0)
    _, report = export_files(compile_problem("expr:(a+b)*c", "mdm"), "bert")
    assert "thresholds of 1/rows" in report["repairs"]
    assert report["agreement"]["least_margin"] > 7.4
