"""Statistics on contaminated answers, judges that err together, and widths of intervals."""

from .breakdown import BreakdownPoint, breakdown_point, replacement_breakdown
from .budget import ErrorBudget, Offer, StudySize, error_budget
from .effective_judges import EffectiveJudges, effective_judges

__all__ = [
    "BreakdownPoint",
    "EffectiveJudges",
    "ErrorBudget",
    "Offer",
    "StudySize",
    "breakdown_point",
    "effective_judges",
    "error_budget",
    "replacement_breakdown",
]
