"""Statistics of findings under several choices, also in `thirdperson.stats`."""

from extras.choices.stats.contrasts import (
    Clusters,
    Contrast,
    FactorEffect,
    FactorEffects,
    factor_effects,
    paired_contrast,
)
from extras.choices.stats.set_contrasts import SharedPeople, set_contrast, shared_people

__all__ = [
    "Clusters",
    "Contrast",
    "FactorEffect",
    "FactorEffects",
    "SharedPeople",
    "factor_effects",
    "paired_contrast",
    "set_contrast",
    "shared_people",
]
