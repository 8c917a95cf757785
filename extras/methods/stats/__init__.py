"""Statistics that few studies need; `thirdperson.stats` offers them too."""

from extras.methods.stats.contrasts import SharedPeople, set_contrast, shared_people
from extras.methods.stats.meta_d import Insight, certainty_levels, insight, insight_difference
from extras.methods.stats.soft_labels import SoftLabelScores, soft_label_scores

__all__ = [
    "Insight",
    "SharedPeople",
    "SoftLabelScores",
    "certainty_levels",
    "insight",
    "insight_difference",
    "set_contrast",
    "shared_people",
    "soft_label_scores",
]
