"""Statistics that few studies need; `thirdperson.stats` offers them too."""

from .contrasts import SharedPeople, set_contrast, shared_people
from .meta_d import Insight, certainty_levels, insight, insight_difference
from .soft_labels import SoftLabelScores, soft_label_scores

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
