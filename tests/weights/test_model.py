"""Every error message of a Model that is not valid."""

import re
from dataclasses import replace

import pytest

import by_hand
from unmask.api import compile_problem, convert_model
from unmask.errors import WeightsError
from unmask.numerics.arithmetic import Precision
from unmask.testing import random_model
from unmask.weights.transformer import Noise


def mdm(**rest):
    fields = {"padding": 2, "steps": 2, **rest}
    transformers = {"planner": by_hand.chooses({2}, 3), "predictor": by_hand.successor({2: 4}, 3)}
    return by_hand.model("mdm", fields.pop("transformers", transformers), **fields)


def plt(**rest):
    loop = rest.pop("loop", (0, 0))
    vocabulary = ("a", "b", "□", "0", "1")
    fields = {"vocabulary": vocabulary, "pad": "□", "padding": 2, **rest}
    return by_hand.model("plt", {"model": by_hand.successor({}, 3, loop=loop)}, **fields)


def cot(**rest):
    attention = rest.pop("attention", "causal")
    return by_hand.model("cot", {"model": by_hand.successor({}, 2, attention=attention)}, **rest)


def pcot(**rest):
    fields = {"steps": 1, "block": 1, **rest}
    return by_hand.model("pcot", {"model": by_hand.successor({}, 2, attention="causal")}, **fields)


def topk(**rest):
    return by_hand.model("topk", {"model": by_hand.successor({}, 2)}, **rest)


@pytest.mark.parametrize("make", [mdm, plt, cot, pcot, topk])
def test_the_models_that_are_changed_below_are_good(make):
    model = make()
    assert model.rows == model.length + model.padding
    assert model.precision == Precision(2)
    assert [model.token[s] for s in model.vocabulary] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("make", "change", "message"),
    [
        (mdm, {"vocabulary": ("a", "b", "m", "0", "b")}, "the vocabulary names 'b' twice"),
        (mdm, {"input_symbols": ("a", "a")}, "input_symbols must be distinct"),
        (mdm, {"input_symbols": ("a", "c")}, "input_symbols names 'c', which is not in the vocabulary"),
        (mdm, {"accept": "x"}, "accept names 'x', which is not in the vocabulary"),
        (mdm, {"pad": "□"}, "pad names '□', which is not in the vocabulary"),
        (mdm, {"mask": "a"}, "mask is 'a', which is also an input symbol"),
        (mdm, {"reject": "1"}, "accept and reject are both '1'"),
        (mdm, {"aliases": {"a": "ĥ"}}, "aliases maps 'a' to 'ĥ'"),
        (mdm, {"mask": None}, "a model of kind mdm needs a mask symbol"),
        (mdm, {"mask": "0"}, "the mask '0' cannot be the accept or reject symbol"),
        (mdm, {"length": -1}, "length must be at least 0 for mdm, not -1"),
        (mdm, {"padding": 0}, "padding must be at least 1 for mdm, not 0"),
        (mdm, {"steps": 0}, "steps must be at least 1 for mdm, not 0"),
        (mdm, {"block": 1}, "block must be given for pcot, and for no other kind"),
        (mdm, {"k": 1}, "k must be a positive integer, for topk alone"),
        (mdm, {"padding": 3}, "pos of the planner has 3 rows, but there are 4 rows: begin, input and padding"),
        (mdm, {"transformers": {}}, "a model of kind mdm has the transformers planner and predictor, not none"),
        (mdm, {"transformers": {"model": by_hand.chooses({2}, 3)}}, "planner and predictor, not model"),
        (mdm, {"characters": ((98, 97, "a"),)}, r"characters must be increasing ranges.*\[98, 97\]"),
        (mdm, {"characters": ((97, 97, "a"), (97, 98, "b"))}, r"increasing ranges.*\[97, 98\]"),
        (mdm, {"characters": ((0, 0x110000, "a"),)}, "increasing ranges"),
        (mdm, {"characters": ((0, 9, "m"),)}, r"maps \[0, 9\] to 'm', which is not an input symbol"),
        (topk, {"k": 0}, "k must be a positive integer"),
        (plt, {"pad": None}, "a plt with padding needs a pad symbol"),
        (plt, {"steps": -1}, "steps must be at least 0 for plt"),
        (plt, {"loop": None}, "the model must have a loop if and only if the model is a plt"),
        (plt, {"length": 0, "padding": 0}, "declare a begin symbol"),
        (cot, {"padding": 2}, "padding must be steps for cot, not 2"),
        (cot, {"length": 0}, "a cot with no input and no padding has no row to read; declare a begin symbol"),
        (cot, {"attention": "unmasked"}, "the attention of a cot must be 'causal'"),
        (pcot, {"block": None}, "block must be given for pcot"),
        (pcot, {"block": 2}, "padding must be steps times block, with a positive block"),
        (pcot, {"mask": None}, "a model of kind pcot needs a mask symbol"),
    ],
)
def test_one_error_message_each(make, change, message):
    with pytest.raises(WeightsError, match=message):
        make(**change)


def test_kind():
    with pytest.raises(WeightsError, match="reasoner must be one of mdm, smdm, topk, plt, cot, pcot, not 'rnn'"):
        replace(mdm(), kind="rnn")


def test_shapes_of_the_transformers():
    planner = by_hand.chooses({2}, 3)
    for predictor, message in (
        (by_hand.successor({}, 3, size=4), "embed of the predictor has 4 rows, but there are 5 symbols"),
        (by_hand.chooses({2}, 3), "out of the predictor has 2 rows, but there are 5 outputs"),
        (by_hand.successor({}, 3, precision=Precision(3)), "the same precision"),
        (by_hand.successor({}, 3, loop=(0, 0)), "the predictor must have a loop if and only if"),
        (by_hand.successor({}, 3, noise=Noise((0,), ())), "the predictor has noise columns, which only a plt may have"),
    ):
        with pytest.raises(WeightsError, match=message):
            mdm(transformers={"planner": planner, "predictor": predictor})


def test_noise_of_a_plt():
    noisy = by_hand.successor({}, 3, loop=(0, 0), noise=Noise((0, 1, 2), ()))
    with pytest.raises(WeightsError, match="at most 2 planner columns"):
        replace(plt(), transformers={"model": noisy})


def test_begin_is_a_row_and_is_not_counted():
    transformer = by_hand.successor({}, 2, attention="causal", size=6)
    model = by_hand.model("cot", {"model": transformer}, length=0, vocabulary=(*by_hand.VOCABULARY, "^"), begin="^")
    assert (model.rows, model.length) == (2, 0)


def test_aliases_are_applied_to_symbols():
    assert mdm(aliases={"a": "m"}).plain(["a", "b", "m"]) == ["m", "b", "m"]


# The description of a model, on a terminal and in a notebook.


def test_the_description_of_a_model():
    model = compile_problem("(a|b)*abb", "mdm", length=9)
    assert repr(model) == "Model(mdm, N = 9, P = 8, T = 4, F_2, regex:(a|b)*abb)"
    table = model._repr_html_()
    for cell in ("<td>mdm</td>", "<td>regex:(a|b)*abb</td>", "<td>9</td>", "<td>8</td>", "<td>4</td>", "<td>F_2</td>"):
        assert cell in table
    widths = [t.width for t in model.transformers.values()]
    assert [int(width) for width in re.findall(r"<td>width (\d+), ", table)] == widths
    assert all(f'<th scope="row">{name}</th>' in table for name in model.transformers)
    (_, conversion), *_ = convert_model(model, "plt")
    assert repr(conversion.model).endswith("regex:(a|b)*abb → mdm_to_plt)")


@pytest.mark.parametrize(
    ("problem", "provenance", "text"),
    [
        ({}, [], "no problem named"),
        (
            {"kind": "regex", "pattern": "<b>"},
            [],
            "{&quot;kind&quot;: &quot;regex&quot;, &quot;pattern&quot;: &quot;&lt;b&gt;&quot;}",
        ),
        ({}, [{"compiled": "<script>alert(1)</script>"}], "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ({}, [{"compiled": 3}, 4, {"converted": None}], "no problem named"),
        ({}, "by hand", "no problem named"),
    ],
)
def test_comments_of_a_folder_are_escaped(problem, provenance, text):
    model = replace(random_model(1, "mdm", 2), problem=problem, provenance=provenance)
    assert f'<th scope="row">problem</th><td>{text}</td>' in model._repr_html_()
