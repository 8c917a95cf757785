"""Statistics of judges, wordings, and likeness to people, also in `thirdperson.stats`."""

from extras.judges_compared.stats.effects import FactorEffect, FactorEffects, factor_effects
from extras.judges_compared.stats.human_likeness import (
    HumanLikeness,
    human_likeness,
    human_likeness_of_several,
)
from extras.judges_compared.stats.judges import (
    CochranQ,
    JointBootstrap,
    JudgeComparison,
    JudgePair,
    cochran_q,
    compare_judges,
    joint_bootstrap,
)
from extras.judges_compared.stats.leave_one_out import (
    LeaveOneOut,
    LeaveOneOutSummary,
    leave_one_out,
)

__all__ = [
    "CochranQ",
    "FactorEffect",
    "FactorEffects",
    "HumanLikeness",
    "JointBootstrap",
    "JudgeComparison",
    "JudgePair",
    "LeaveOneOut",
    "LeaveOneOutSummary",
    "cochran_q",
    "compare_judges",
    "factor_effects",
    "human_likeness",
    "human_likeness_of_several",
    "joint_bootstrap",
    "leave_one_out",
]
