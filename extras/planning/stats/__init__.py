"""Simulated studies, their verdicts, and intervals that stay valid after every answer.

These names are also in `thirdperson.stats`.
"""

from extras.planning.stats.confidence_sequence import ConfidenceSequence, confidence_sequence
from extras.planning.stats.power import Power, simulate_power
from extras.planning.stats.simulated_studies import Effects, Layout, StudyModel, random_layout
from extras.planning.stats.variance_components import (
    PilotAnswers,
    VarianceComponents,
    variance_components,
)

__all__ = [
    "ConfidenceSequence",
    "Effects",
    "Layout",
    "PilotAnswers",
    "Power",
    "StudyModel",
    "VarianceComponents",
    "confidence_sequence",
    "random_layout",
    "simulate_power",
    "variance_components",
]
