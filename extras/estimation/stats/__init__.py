"""Statistics of systems and of all judged items, also in `thirdperson.stats`."""

from analysis.stats.systems.ranking import RankingAgreement, ranking_agreement
from analysis.stats.systems.strengths import Strengths, system_strengths
from analysis.stats.systems.win_rates import Contests, WinRate, win_rates
from extras.estimation.stats.calibrated import (
    CalibratedMean,
    WeightedMean,
    calibrated_mean,
    weighted_mean,
)
from extras.estimation.stats.corrected import CorrectedWinRates, corrected_win_rates
from extras.estimation.stats.draws import draw_items, draw_probabilities, error_spread
from extras.estimation.stats.prediction_powered import PoweredMean, powered_mean, ppi_mean
from extras.estimation.stats.scores import answers_saved

__all__ = [
    "CalibratedMean",
    "Contests",
    "CorrectedWinRates",
    "PoweredMean",
    "RankingAgreement",
    "Strengths",
    "WeightedMean",
    "WinRate",
    "answers_saved",
    "calibrated_mean",
    "corrected_win_rates",
    "draw_items",
    "draw_probabilities",
    "error_spread",
    "powered_mean",
    "ppi_mean",
    "ranking_agreement",
    "system_strengths",
    "weighted_mean",
    "win_rates",
]
