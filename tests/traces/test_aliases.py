"""A last symbol that is an alias of accept or reject decides, in a trace and in a batch."""

from dataclasses import replace

import numpy as np

from unmask.engines.fast import FastEngine
from unmask.pipeline import compile_problem, run_word
from unmask.reasoners.run import answers
from unmask.traces.trace import Trace


def test_an_alias_of_accept_accepts():
    model = compile_problem("a", "mdm", length=1)
    token = model.token["a"]
    assert run_word(model, "a").accepted is True
    swapped = replace(model, accept="ε", aliases={"1": "ε"})
    trace = run_word(swapped, "a")
    assert trace.output[-1] == "1"
    assert trace.accepted is True
    assert Trace.from_json(trace.to_json()).accepted is True
    assert answers(swapped, np.array([[token]]), engine=FastEngine()).accepted.tolist() == [1]
    assert run_word(replace(swapped, aliases={}), "a").accepted is None
