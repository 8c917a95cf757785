"""Readers of the data that rare designs add to a study: `Dataset.extras`.

Every process imports this to add readers, and few of them load arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from studies.extra import Kind

if TYPE_CHECKING:
    from analysis.data.arrays import Dataset, DesignData
    from studies.models import Study


@dataclass(frozen=True)
class ExtraReader:
    """Reader of one design's data, given the study, all other data, and each item's row position.

    `name` is the design's name in the hash of a report's inputs.
    """

    name: str
    read: Callable[[Study, Dataset, Mapping[int, int]], DesignData | None]


READERS: Kind[ExtraReader] = Kind("readers")


@dataclass(frozen=True)
class AnswerWords:
    """What an extra shows of answers on researchers' pages about items.

    `of_answers`: lines for the table of an item's answers, by the ids of answers. `reasons`: what
    people wrote, with their choice, by the ids of items; shown next to a judge's reply.
    """

    name: str
    of_answers: Callable[[Collection[int]], Mapping[int, Sequence[str]]]
    reasons: Callable[[Collection[int]], Mapping[int, Sequence[tuple[str, str]]]]


ANSWER_WORDS: Kind[AnswerWords] = Kind("readers", "words")
