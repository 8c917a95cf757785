"""Statistics that few studies need, also in `thirdperson.stats`."""

from extras.methods.stats.ceiling import (
    AgreementCeiling,
    ShareOfPossible,
    agreed_with,
    agreement_ceiling,
    retest_ceiling,
    share_of_ceiling,
    share_of_possible,
)
from extras.methods.stats.meta_d import Insight, certainty_levels, insight, insight_difference
from extras.methods.stats.response_sets import (
    ForcedChoices,
    forced_choices,
    forced_shares,
    ranks,
    set_distance,
    set_vectors,
)
from extras.methods.stats.soft_labels import SoftLabelScores, soft_label_scores

__all__ = [
    "AgreementCeiling",
    "ForcedChoices",
    "Insight",
    "ShareOfPossible",
    "SoftLabelScores",
    "agreed_with",
    "agreement_ceiling",
    "certainty_levels",
    "forced_choices",
    "forced_shares",
    "insight",
    "insight_difference",
    "ranks",
    "retest_ceiling",
    "set_distance",
    "set_vectors",
    "share_of_ceiling",
    "share_of_possible",
    "soft_label_scores",
]
