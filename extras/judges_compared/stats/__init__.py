"""Statistics of several judges, and of judges that are like people, also in `thirdperson.stats`."""

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
    "HumanLikeness",
    "JointBootstrap",
    "JudgeComparison",
    "JudgePair",
    "LeaveOneOut",
    "LeaveOneOutSummary",
    "cochran_q",
    "compare_judges",
    "human_likeness",
    "human_likeness_of_several",
    "joint_bootstrap",
    "leave_one_out",
]
