"""The torch engine gives the integers of the fast one and of the reference, everywhere, and the same errors."""

import pytest

from unmask.api import compile_problem, convert_model, run_word
from unmask.engines.fast import FastEngine
from unmask.engines.reference import ReferenceEngine
from unmask.errors import AttendsToNothing, UnmaskError
from unmask.export.torch_engine import TorchEngine
from unmask.reasoners.run_words import run
from unmask.testing import random_model
from unmask.testing.draws import Draws
from unmask.testing.random_model import sample_words
from unmask.traces.trace_differences import first_difference
from unmask.weights.kinds import KINDS


def outcome(model, word, engine):
    try:
        return run(model, word, engine=engine, record=True)
    except UnmaskError as error:
        return str(error)


@pytest.mark.parametrize("precision", range(1, 9))
@pytest.mark.parametrize("kind", KINDS)
def test_random_models(kind, precision):
    """Weights that saturate; logits, attention and residual streams of every step."""
    for seed in (3, 4):
        model = random_model(40 * precision + seed, kind, 4, precision=precision, engine=FastEngine())
        for word in sample_words(model, Draws(seed, precision), 2).tolist():
            runs = [outcome(model, word, engine) for engine in (TorchEngine(), FastEngine(), ReferenceEngine())]
            if isinstance(runs[0], str):
                assert runs[0] == runs[1] == runs[2]
                continue
            assert first_difference(runs[0], runs[1]) is None
            assert first_difference(runs[0], runs[2]) is None


def test_a_conversion():
    source = compile_problem("(a|b)*abb", "mdm", length=4)
    *_, (_, conversion) = convert_model(source, "plt")
    for word in ("babb", "abba"):
        runs = [
            run_word(conversion.model, word, engine=engine, record=True) for engine in (TorchEngine(), FastEngine())
        ]
        assert first_difference(*runs) is None


def test_nothing_to_attend_to_is_the_same_error():
    """Queries of B against keys of -B: every exponential underflows."""
    from dataclasses import replace

    import numpy as np

    from unmask.weights.matrices import Matrix
    from unmask.weights.transformer import Head

    model = random_model(1, "cot", 3, engine=FastEngine())
    transformer = model.transformers["model"]
    one, bound = transformer.precision.one, transformer.precision.bound
    positions = np.full_like(transformer.positions, one)
    value = Matrix.zeros((transformer.width, transformer.width))
    column = np.zeros((transformer.width, 1), dtype=np.int64)
    column[0] = one
    dead = Head(Matrix.of(column * bound // one), Matrix.of(-column), value)
    layers = (replace(transformer.layers[0], heads=(dead,)), *transformer.layers[1:])
    embed = Matrix.zeros(transformer.embed.shape)
    broken = replace(transformer, embed=embed, positions=positions, layers=layers)
    model = replace(model, transformers={"model": broken})
    errors = []
    for engine in (TorchEngine(), ReferenceEngine()):
        with pytest.raises(AttendsToNothing) as caught:
            run(model, [0, 1, 0], engine=engine)
        errors.append((str(caught.value), caught.value.row, caught.value.word))
    assert errors[0] == errors[1]


def test_on_the_command_line(unmask, tmp_path):
    unmask("compile", "(a|b)*abb", "--length", 4, "--to", "mdm", "--out", tmp_path / "m")
    outputs = [unmask("run", tmp_path / "m", "babb", "--engine", engine) for engine in ("torch", "fast")]
    assert outputs[0] == outputs[1]
    code, out, _ = unmask("verify", tmp_path / "m", "--engine", "torch", "--method", "sample", "--cases", 20, "--json")
    assert code == 0
    assert '"held"' in out


def test_without_torch_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("unmask.export.torch_engine.find_spec", lambda _: None)
    with pytest.raises(UnmaskError, match=r"pip install 'unmask\[torch\]'"):
        TorchEngine()
