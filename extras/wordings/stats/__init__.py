"""Statistics of wordings, also in `thirdperson.stats`."""

from extras.wordings.stats.effects import FactorEffect, FactorEffects, factor_effects

__all__ = ["FactorEffect", "FactorEffects", "factor_effects"]
