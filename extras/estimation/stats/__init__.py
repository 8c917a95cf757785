"""Statistics of systems and of all judged items, also in `thirdperson.stats`."""

from extras.estimation.stats.calibrated import (
    CalibratedMean,
    WeightedMean,
    calibrated_mean,
    weighted_mean,
)
from extras.estimation.stats.draws import draw_items, draw_probabilities, error_spread
from extras.estimation.stats.prediction_powered import PoweredMean, powered_mean, ppi_mean
from extras.estimation.stats.ranking import RankingAgreement, ranking_agreement
from extras.estimation.stats.scores import answers_saved
from extras.estimation.stats.strengths import Strengths, system_strengths
from extras.estimation.stats.win_rates import (
    Contests,
    CorrectedWinRates,
    WinRate,
    corrected_win_rates,
    win_rates,
)

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
