"""Weights to weights: one file per theorem that relates two frameworks."""

from unmask.theorems.cot_to_pcot import THEOREM as COT_TO_PCOT
from unmask.theorems.mdm_to_plt import THEOREM as MDM_TO_PLT
from unmask.theorems.pcot_to_cot import THEOREM as PCOT_TO_COT
from unmask.theorems.smdm_to_mdm import THEOREM as SMDM_TO_MDM
from unmask.theorems.theorem import Theorem
from unmask.theorems.topk_to_mdm import THEOREM as TOPK_TO_MDM

THEOREMS: tuple[Theorem, ...] = (
    MDM_TO_PLT,
    COT_TO_PCOT,
    PCOT_TO_COT,
    SMDM_TO_MDM,
    TOPK_TO_MDM,
)
