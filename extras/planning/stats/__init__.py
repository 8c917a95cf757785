"""Simulated studies, their verdicts, and intervals that may be looked at after each answer.

`thirdperson.stats` offers these names too.
"""

from .confidence_sequence import ConfidenceSequence, confidence_sequence
from .power import Power, simulate_power
from .simulated_studies import Effects, Layout, StudyModel, random_layout
from .variance_components import PilotAnswers, VarianceComponents, variance_components

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
