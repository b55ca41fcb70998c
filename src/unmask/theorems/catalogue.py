"""Every theorem that is a converter: those that routes are made of, their variants, and those about one transformer."""

from unmask.theorems.causal_to_unmasked import THEOREM as CAUSAL_TO_UNMASKED
from unmask.theorems.causal_to_unmasked_by_blocks import THEOREM as CAUSAL_TO_UNMASKED_BY_BLOCKS
from unmask.theorems.cot_to_pcot import THEOREM as COT_TO_PCOT
from unmask.theorems.mdm_to_fixed_k import THEOREM as MDM_TO_FIXED_K
from unmask.theorems.mdm_to_pcot import PADDED as MDM_TO_PCOT_PADDED
from unmask.theorems.mdm_to_pcot import THEOREM as MDM_TO_PCOT
from unmask.theorems.mdm_to_plt import THEOREM as MDM_TO_PLT
from unmask.theorems.mdm_to_smdm import THEOREM as MDM_TO_SMDM
from unmask.theorems.pcot_to_cot import THEOREM as PCOT_TO_COT
from unmask.theorems.pcot_to_cot_answer_only import THEOREM as PCOT_TO_COT_ANSWER_ONLY
from unmask.theorems.pcot_to_mdm import THEOREM as PCOT_TO_MDM
from unmask.theorems.planner_and_predictor_to_topk import THEOREM as PLANNER_AND_PREDICTOR_TO_TOPK
from unmask.theorems.plt_to_mdm import THEOREM as PLT_TO_MDM
from unmask.theorems.smdm_to_mdm import THEOREM as SMDM_TO_MDM
from unmask.theorems.theorem import Theorem, TransformerTheorem
from unmask.theorems.topk_to_mdm import THEOREM as TOPK_TO_MDM
from unmask.theorems.unmasked_to_causal import THEOREM as UNMASKED_TO_CAUSAL

THEOREMS: tuple[Theorem, ...] = (
    PLANNER_AND_PREDICTOR_TO_TOPK,
    MDM_TO_SMDM,
    MDM_TO_PLT,
    PLT_TO_MDM,
    COT_TO_PCOT,
    PCOT_TO_COT,
    PCOT_TO_MDM,
    MDM_TO_PCOT,
    SMDM_TO_MDM,
    TOPK_TO_MDM,
)

VARIANTS: tuple[Theorem, ...] = (MDM_TO_PCOT_PADDED, MDM_TO_FIXED_K, PCOT_TO_COT_ANSWER_ONLY)
"""Other forms of a conversion, taken only when asked for by name."""

TRANSFORMER_THEOREMS: tuple[TransformerTheorem, ...] = (
    UNMASKED_TO_CAUSAL,
    CAUSAL_TO_UNMASKED,
    CAUSAL_TO_UNMASKED_BY_BLOCKS,
)
