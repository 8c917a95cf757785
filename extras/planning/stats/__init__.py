"""Sizes of studies, simulated studies, and intervals that stay valid after every answer.

These names are also in `thirdperson.stats`.
"""

from extras.planning.stats.confidence_sequence import ConfidenceSequence, confidence_sequence
from extras.planning.stats.power import Power, simulate_power
from extras.planning.stats.sample_sizes import (
    Cost,
    alpha_sd,
    annotators_needed,
    equivalence_items,
    recruiting_cost,
    wilson_items,
)
from extras.planning.stats.simulated_studies import Effects, Layout, StudyModel, random_layout
from extras.planning.stats.variance_components import (
    PilotAnswers,
    VarianceComponents,
    variance_components,
)

__all__ = [
    "ConfidenceSequence",
    "Cost",
    "Effects",
    "Layout",
    "PilotAnswers",
    "Power",
    "StudyModel",
    "VarianceComponents",
    "alpha_sd",
    "annotators_needed",
    "confidence_sequence",
    "equivalence_items",
    "random_layout",
    "recruiting_cost",
    "simulate_power",
    "variance_components",
    "wilson_items",
]
