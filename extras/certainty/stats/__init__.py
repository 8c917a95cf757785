"""Statistics of certainty that few studies need, also in `thirdperson.stats`."""

from extras.certainty.stats.held_out import (
    HeldOutThreshold,
    folds_by_key,
    held_out_threshold,
)
from extras.certainty.stats.in_general import (
    CoverageStep,
    GeneralQuality,
    TrustedCoverage,
    coverage_steps,
    general_quality,
    trusted_coverage,
)
from extras.certainty.stats.like_for_like import (
    LikeForLike,
    PanelSide,
    like_for_like,
    matched_accuracy,
)
from extras.certainty.stats.people_and_model import (
    CertaintyDistributions,
    CertaintyPairs,
    compare_certainty,
    compare_certainty_distributions,
)
from extras.certainty.stats.sweep import ThresholdPoint, threshold_sweep, unreachable_thresholds

__all__ = [
    "CertaintyDistributions",
    "CertaintyPairs",
    "CoverageStep",
    "GeneralQuality",
    "HeldOutThreshold",
    "LikeForLike",
    "PanelSide",
    "ThresholdPoint",
    "TrustedCoverage",
    "compare_certainty",
    "compare_certainty_distributions",
    "coverage_steps",
    "folds_by_key",
    "general_quality",
    "held_out_threshold",
    "like_for_like",
    "matched_accuracy",
    "threshold_sweep",
    "trusted_coverage",
    "unreachable_thresholds",
]
