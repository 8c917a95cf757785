"""Statistics that few studies need; `thirdperson.stats` offers them too."""

from extras.methods.stats.contrasts import SharedPeople, set_contrast, shared_people
from extras.methods.stats.cost_accuracy import Mix, price_mixes
from extras.methods.stats.crowd_equivalence import (
    CrowdEquivalence,
    CrowdPoint,
    crowd_equivalence,
    majority_of_some,
)
from extras.methods.stats.meta_d import Insight, certainty_levels, insight, insight_difference
from extras.methods.stats.soft_labels import SoftLabelScores, soft_label_scores

__all__ = [
    "CrowdEquivalence",
    "CrowdPoint",
    "Insight",
    "Mix",
    "SharedPeople",
    "SoftLabelScores",
    "certainty_levels",
    "crowd_equivalence",
    "insight",
    "insight_difference",
    "majority_of_some",
    "price_mixes",
    "set_contrast",
    "shared_people",
    "soft_label_scores",
]
