"""Statistics of systems, and of all judged items; `thirdperson.stats` offers them too."""

from .calibrated_judge import CalibratedMean, calibrated_mean
from .contests import Contests
from .prediction_powered import PoweredMean, powered_mean, ppi_mean
from .ranking import RankingAgreement, ranking_agreement
from .rogan_gladen import RoganGladen, rogan_gladen
from .scores import answers_saved
from .strengths import Strengths, system_strengths
from .weighted import WeightedMean, weighted_mean
from .win_rates import CorrectedWinRates, WinRate, corrected_win_rates, win_rates

__all__ = [
    "CalibratedMean",
    "Contests",
    "CorrectedWinRates",
    "PoweredMean",
    "RankingAgreement",
    "RoganGladen",
    "Strengths",
    "WeightedMean",
    "WinRate",
    "answers_saved",
    "calibrated_mean",
    "corrected_win_rates",
    "powered_mean",
    "ppi_mean",
    "ranking_agreement",
    "rogan_gladen",
    "system_strengths",
    "weighted_mean",
    "win_rates",
]
