"""Statistics of watched sets, also in `thirdperson.stats`."""

from extras.watching.stats.means import mean_sequence, rise, shift, smallest_rise
from extras.watching.stats.newcomers import of_categories, of_numbers

__all__ = ["mean_sequence", "of_categories", "of_numbers", "rise", "shift", "smallest_rise"]
