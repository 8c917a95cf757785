"""Statistics of judges that are like people, also in `thirdperson.stats`."""

from extras.likeness.stats.human_likeness import (
    HumanLikeness,
    human_likeness,
    human_likeness_of_several,
)
from extras.likeness.stats.leave_one_out import LeaveOneOut, LeaveOneOutSummary, leave_one_out
from extras.likeness.stats.mistakes import (
    ErrorConsistency,
    SharedGuess,
    error_consistency,
    shared_guess,
)
from extras.likeness.stats.shared_errors import SharedErrors, shared_errors, stands_out

__all__ = [
    "ErrorConsistency",
    "HumanLikeness",
    "LeaveOneOut",
    "LeaveOneOutSummary",
    "SharedErrors",
    "SharedGuess",
    "error_consistency",
    "human_likeness",
    "human_likeness_of_several",
    "leave_one_out",
    "shared_errors",
    "shared_guess",
    "stands_out",
]
