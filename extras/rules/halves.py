"""The two halves of the items: one to find rules on, the other to test them on."""

from collections.abc import Sequence

import numpy as np

from analysis.stats.core.results import IntArray
from extras.rules.models import FIND, TEST
from extras.rules.prompts import place_of

FEWEST_PERSONAS = 8  # with fewer, items of a persona are in both halves


def halves_of(keys: Sequence[str], personas: Sequence[str]) -> IntArray:
    """The half of each item; all items of a persona are in one half, if there are enough personas.

    It depends on nothing but the keys, so that nobody can choose it.

    >>> halves_of(["a", "b", "c", "d"], ["p", "p", "p", "p"]).tolist()
    [0, 0, 1, 1]
    """
    groups = personas if len(set(personas)) >= FEWEST_PERSONAS else keys
    sizes: dict[str, int] = {}
    for group in groups:
        sizes[group] = sizes.get(group, 0) + 1
    half, filled = dict[str, int](), [0, 0]
    for group in sorted(sizes, key=place_of):
        half[group] = int(filled[FIND] > filled[TEST])
        filled[half[group]] += sizes[group]
    return np.array([half[group] for group in groups], dtype=np.int64)
