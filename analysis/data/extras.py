"""Readers of the data that rare designs add to a study: `Dataset.extras`.

Every process imports this to add readers, and few of them load arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from studies.additions import Additions

if TYPE_CHECKING:
    from analysis.data.arrays import Dataset, Extra
    from studies.models import Study


@dataclass(frozen=True)
class ExtraReader:
    """Reader of one design's data, given the study, all other data, and each item's row position.

    `name` is the design's name in the hash of a report's inputs.
    """

    name: str
    read: Callable[[Study, Dataset, Mapping[int, int]], Extra | None]


READERS: Additions[ExtraReader] = Additions()
