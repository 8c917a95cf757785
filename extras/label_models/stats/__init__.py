"""Models of annotators that label items, also in `thirdperson.stats`."""

from extras.label_models.stats.dawid_skene import DawidSkene, OneCoin, dawid_skene, one_coin
from extras.label_models.stats.label_models import Glad, Mace, glad, mace

__all__ = ["DawidSkene", "Glad", "Mace", "OneCoin", "dawid_skene", "glad", "mace", "one_coin"]
