"""Statistics of a trial of wordings, also in `thirdperson.stats`."""

from .trials import TriedWording, findable_gain, items_for_gain, try_wordings

__all__ = ["TriedWording", "findable_gain", "items_for_gain", "try_wordings"]
