"""The adapter of Hugging Face models; with torch and transformers at hand, on a small BERT of random weights."""

import importlib.util

import numpy as np
import pytest

from unmask.errors import UnmaskError
from unmask.samplers.predictors import HuggingFacePredictor
from unmask.samplers.problem_subject import Order, Subject
from unmask.samplers.remasking_rules import P2
from unmask.samplers.sampling_loop import masks, sample
from unmask.samplers.write_once_rules import FastDllm, Llada
from unmask.weights.storage import save

from .test_problem_comparison import Sorted

INSTALLED = all(importlib.util.find_spec(name) for name in ("torch", "transformers"))
needs_torch = pytest.mark.skipif(not INSTALLED, reason="torch and transformers are not installed")


@pytest.mark.skipif(INSTALLED, reason="transformers is installed")
def test_without_transformers_it_says_what_to_install(tmp_path):
    with pytest.raises(UnmaskError, match="needs torch and transformers; install them with pip"):
        HuggingFacePredictor.from_pretrained(tmp_path)


class Tokenizer:
    mask_token_id = None


def test_a_tokenizer_without_a_mask_is_refused():
    class Model:
        def eval(self):
            return self

    with pytest.raises(UnmaskError, match="this tokenizer has no mask token"):
        HuggingFacePredictor(Model(), Tokenizer())


@pytest.fixture
def folder(tmp_path):
    """A BERT of random weights with a tokenizer of eleven words."""
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "d", "0", "1"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config = BertConfig(vocab_size=len(words), max_position_embeddings=32, **sizes)
    BertForMaskedLM(config).save_pretrained(tmp_path / "bert")
    BertTokenizerFast(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path / "bert")
    return tmp_path / "bert"


@pytest.mark.long
@needs_torch
def test_a_masked_model_of_a_folder_is_sampled(folder):
    predictor = HuggingFacePredictor.from_pretrained(folder)
    assert predictor.vocabulary[predictor.mask_id] == "[MASK]"
    around = predictor.bound_to([[2, 5, 6], [2, 7, 8]], [3])
    canvas = masks(around, 2, 4)
    logits = around.logits(canvas)
    assert logits.shape == (2, 4, 11)
    assert np.isneginf(logits[..., predictor.mask_id]).all()
    import torch

    with torch.inference_mode():
        whole = predictor.model(input_ids=torch.tensor([[2, 7, 8, 4, 4, 4, 4, 3]])).logits[0, 3:7].numpy()
    keep = np.arange(11) != predictor.mask_id
    assert np.allclose(logits[1][:, keep], whole[:, keep], atol=1e-5)
    assert (sample(around, Llada(4), canvas).sequences != predictor.mask_id).all()
    with pytest.raises(UnmaskError, match="the canvas has 3 rows, but the predictor is bound to 2"):
        around.logits(masks(around, 3, 4))


@pytest.mark.long
@needs_torch
def test_a_folder_that_is_not_a_model(tmp_path):
    with pytest.raises(UnmaskError, match=r"has no config\.json"):
        HuggingFacePredictor.from_pretrained(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(UnmaskError, match="cannot be read as a masked language model"):
        HuggingFacePredictor.from_pretrained(tmp_path)


@pytest.mark.long
@needs_torch
@pytest.mark.skipif(importlib.util.find_spec("unmask.export") is None, reason="there is no export to make a BERT with")
def test_samplers_on_a_bert_do_what_they_do_on_the_compiled_predictor(unmask, tmp_path):
    """A5 at N = 8, seven slots: exported, loaded by AutoModelForMaskedLM, and sampled."""
    subject = Subject.of("group:A5", 8, words=12)
    save(subject.predictor.model, tmp_path / "model")
    assert unmask("export", tmp_path / "model", "--to", "bert", "--out", tmp_path / "bert")[0] == 0
    loaded = HuggingFacePredictor.from_pretrained(tmp_path / "bert")
    bert = loaded.bound_to(loaded.tokenizer(list(subject.words)).input_ids)
    assert bert.mask_id == subject.predictor.mask_id
    for sampler, passes in ((FastDllm(0.9), 3), (Llada(4), 4), (Llada(1, scheduler="halving"), 3), (P2(7), 7)):
        sampled = sample(bert, sampler, subject.blank)
        assert subject.right(sampled).all(), sampler.label
        assert sampled.passes.max() == passes
        assert (sampled.sequences == sample(subject.predictor, sampler, subject.blank).sequences).all()
    for per_pass, dtype in ((2, np.float32), (2, np.float64), (3, np.float64)):
        ours, theirs = (sample(p, Sorted(per_pass, dtype), subject.blank) for p in (subject.predictor, bert))
        assert all((a == b).all() for a, b in zip(ours.histories, theirs.histories, strict=True))
        assert subject.right(theirs).all() == (per_pass == 2)
    cliff = sample(bert, Llada(3), subject.blank)
    assert subject.right(cliff).mean() == 0.5
    assert Order(subject).first_wrong(cliff).reason == "slot 6 written while slot 5 was masked"
