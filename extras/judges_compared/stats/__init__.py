"""Statistics of several judges, also in `thirdperson.stats`."""

from extras.judges_compared.stats.judges import (
    CochranQ,
    JointBootstrap,
    JudgeComparison,
    JudgePair,
    cochran_q,
    compare_judges,
    joint_bootstrap,
)

__all__ = [
    "CochranQ",
    "JointBootstrap",
    "JudgeComparison",
    "JudgePair",
    "cochran_q",
    "compare_judges",
    "joint_bootstrap",
]
