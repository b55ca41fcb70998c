"""The programs in `examples/`, run as their reader runs them; what they print is compared.

`first_look.py` has a test of its own, tests/test_first_look.py.
"""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
PRINTED = {
    "regular_languages_in_log_steps.py": """
Model(mdm, N = 8, P = 7, T = 3, F_2, regex:(a|b)*abb)
Trace(mdm, 'ababaabb', accepted after 3 steps)
step 1: ab ab a bb · · ·
step 2: ab ab a bb ab abb ·
step 3: ab ab a bb ab abb 1
its own planner  accepted 3
left-to-right:1  accepted 7
left-to-right:3  rejected 3
uniform:3        rejected 3
confidence:3     rejected 3
steps at N = 8 64 512
(a|b)*abb         mdm 3 6 9
(a|b)*abb         cot 8 64 512
(0*10*1)*0*       mdm 3 6 9
(0*10*1)*0*       cot 8 64 512
(a|b)*abba(a|b)*  mdm 3 6 9
(a|b)*abba(a|b)*  cot 8 64 512
proved by induction over intervals of the word
""",
    "lookup_heads.py": """
canvas     (13452) (12)(45) (12)(45) (12543) (135) (153) 1
difference 0.0
layer 0 head 0 looks up left address = here: as left -> left; slots read rows [0, 2, 4, 6, 8, 10, 12]
layer 0 head 1 looks up right address = here: as right -> right; slots read rows [1, 3, 5, 7, 9, 11, 13]
slot 0 patched: changes [4]; the slot above it in the tree is 4
slot 1 patched: changes [4]; the slot above it in the tree is 4
slot 2 patched: changes [5]; the slot above it in the tree is 5
slot 3 patched: changes [5]; the slot above it in the tree is 5
slot 4 patched: changes [6]; the slot above it in the tree is 6
slot 5 patched: changes [6]; the slot above it in the tree is 6
""",
    "score_a_circuit.py": """
planner pass 1 decides slots [0, 1, 2] ['0.h0@6', '0.h1@6', '0.mlp@4', '0.mlp@5', '0.mlp@6', 'token@4', 'token@5']
planner pass 2 decides slots [0, 1, 2] ['0.mlp@6', 'token@6']
predictor pass 1 decides slots [0, 1] ['0.h0@4', '0.h1@4', '0.h0@5', '0.h1@5', '0.mlp@4', '1.mlp@4', '2.mlp@4', \
'0.mlp@5', '1.mlp@5', '2.mlp@5', 'token@0', 'token@1', 'token@2', 'token@3']
predictor pass 2 decides slots [2] ['0.h0@6', '0.h1@6', '0.mlp@6', '1.mlp@6', '2.mlp@6', 'token@4', 'token@5']
nodes: precision 0.40, recall 0.57
edges: precision 0.29, recall 0.25
""",
    "one_model_four_frameworks.py": """
Model(mdm, N = 4, P = 3, T = 2, F_2, regex:(a|b)*abb)
 plt by mdm_to_plt (thm:lts-can-simulate-mdms)
pcot by mdm_to_pcot (thm:cot-can-simulate-mdms)
 cot by mdm_to_pcot (thm:cot-can-simulate-mdms)
 cot by pcot_to_cot (prop:cot-as-pcot)
Trace(mdm, 'babb', accepted after 2 steps)
Trace(plt, 'babb', accepted after 2 steps)
Trace(pcot, 'babb', accepted after 2 steps)
Trace(cot, 'babb', accepted after 68 steps)
 plt against mdm: held on 81 words, proved for every word
pcot against mdm: held on 81 words, proved for every word
 cot against mdm: held on 81 words, proved for every word
     converted            compiled
     steps  space  width  steps  space  width
 mdm      2      3     76      2      3     76
 plt      2      3    257      2      1     44
pcot      2     34    256      2      4     85
 cot     68     68    534      4      4     36
""",
    "find_the_mistake.py": """
Model(mdm, N = 16, P = 15, T = 4, F_2, regex:(a|b)*abbabb(a|b)*) with 2867 weights
proved
held
refuted
aaaabbabaaaaabba: right is rejected, the model is undecided: [^ab]
right aa aa bb ab aa aa ab ba aa bbab aa abba aabbab aabba 0
wrong aa aa bb ab aa aa ab ba aa bbab aa abba aabbab aabba [^ab]
first difference: step 3, predictor, layer 0, row 30, missing:0→5: 0 against 4
""",
}


def printed(name):
    completed = subprocess.run(
        [sys.executable, EXAMPLES / name], capture_output=True, encoding="utf-8", check=False, timeout=120
    )
    assert (completed.returncode, completed.stderr) == (0, "")
    return completed.stdout


@pytest.mark.parametrize("name", PRINTED)
def test_what_an_example_prints(name):
    assert printed(name).strip() == PRINTED[name].strip()


def test_every_example_is_run_and_short():
    names = {path.name for path in EXAMPLES.glob("*.py")}
    assert names == {*PRINTED, "first_look.py"}
    assert all(len((EXAMPLES / name).read_text("utf-8").splitlines()) < 80 for name in names)
    assert all((EXAMPLES / name).read_text("utf-8").count("\n# %% ") >= 4 for name in PRINTED)
