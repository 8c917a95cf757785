"""Models of annotators that label items, and weighted votes, also in `thirdperson.stats`."""

from extras.label_models.stats.dawid_skene import DawidSkene, OneCoin, dawid_skene, one_coin
from extras.label_models.stats.label_models import Glad, Mace, glad, mace
from extras.label_models.stats.weights import certainty_weights, log_odds_weights, weighted_vote

__all__ = [
    "DawidSkene",
    "Glad",
    "Mace",
    "OneCoin",
    "certainty_weights",
    "dawid_skene",
    "glad",
    "log_odds_weights",
    "mace",
    "one_coin",
    "weighted_vote",
]
