"""The draw of pairs of systems, also in `thirdperson.stats`."""

from extras.arena.stats.pair_draws import pair_chances

__all__ = ["pair_chances"]
