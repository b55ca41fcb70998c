"""The kinds of reasoner, by the names that folders and the command line use.

kind     transformers         what they do
mdm      planner, predictor   write the chosen slots of a canvas of P masks, T times; may edit
smdm     planner, predictor   the same, and the planner chooses masked slots only
topk     model                the same, and the slots with the largest confidence are chosen
plt      model                loops the layers [l1, l2) T times over the input and P pads
cot      model                appends one symbol per step, T steps
pcot     model                appends P' symbols per step, T steps
"""

from typing import Literal, get_args

Kind = Literal["mdm", "smdm", "topk", "plt", "cot", "pcot"]
KINDS: tuple[Kind, ...] = get_args(Kind)
DIFFUSION: tuple[Kind, ...] = ("mdm", "smdm", "topk")
