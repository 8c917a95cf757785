"""The rules of a study's searches, as arrays for a report."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from django.db.models import Q

from analysis.data.arrays import MISSING, Codes, Dataset, DesignData, Index
from analysis.data.extras import ExtraReader
from extras.rules.models import RuleSearch
from extras.rules.requests import newest_searches
from studies.models import Study

CODES = {"1": 0, "2": 1}


@dataclass(frozen=True, eq=False)
class SearchedRules:
    """The rules of one run, on the items of both halves.

    Attributes
    ----------
    run : str
        The hash of the run's parameters.
    judge : str
        Who proposed and applied rules; empty if none did.
    rules : tuple of (str, str, float)
        Text, source and weight.
    item : ndarray of int, shape (items,)
        Positions in the study's items.
    favoured : ndarray of int8, shape (rules, items)
        0 or 1 for response 1 or 2; -1 for neither, or if it is not known: what a judge proposed
        is known of the half that tests it alone.
    is_known : ndarray of bool, shape (items,)
        Whether all rules were applied to the item.
    searches : int
        Searches for rules of this run until now, each with rules of its own.
    """

    run: str
    judge: str
    rules: tuple[tuple[str, str, float], ...]
    item: Index
    favoured: Codes
    is_known: np.ndarray[tuple[int], np.dtype[np.bool_]]
    searches: int

    @property
    def digest(self) -> str:
        hashed = hashlib.sha256(repr((self.run, self.judge, self.rules, self.searches)).encode())
        for part in (self.item, self.favoured, self.is_known):
            hashed.update(np.ascontiguousarray(part).astype("<i8").tobytes())
        return hashed.hexdigest()


@dataclass(frozen=True, eq=False)
class StudyRules(DesignData):
    """The newest finished search of each run, by run."""

    not_pooled = "its rules were found in one study"

    searches: tuple[SearchedRules, ...]

    @property
    def digest(self) -> list[str]:
        """Equal for equal contents."""
        return [search.digest for search in self.searches]


def rules_of(study: Study, data: Dataset, position: Mapping[int, int]) -> StudyRules | None:
    """The rules of a study; None without a finished search."""
    searches = [searched(search, position) for search in newest_searches(study)]
    searches.sort(key=lambda marks: (marks.run, marks.digest))
    return StudyRules(tuple(searches)) if searches else None


def searched(search: RuleSearch, position: Mapping[int, int]) -> SearchedRules:
    """The rules of a search; `position` is the place of each item by its id."""
    rules = list(search.rules.order_by("number"))
    rows = search.marked.values_list("item", "marks")
    known = sorted((position[item], marks) for item, marks in rows if item in position)
    return SearchedRules(
        run=search.run.key,
        judge=search.judge_name,
        rules=tuple((rule.text, rule.source, rule.weight) for rule in rules),
        item=np.array([place for place, _ in known], dtype=np.int64),
        favoured=codes_of([marks for _, marks in known], len(rules)),
        is_known=np.array(["?" not in marks for _, marks in known], dtype=np.bool_),
        searches=RuleSearch.objects.filter(run=search.run_id)
        .filter(~Q(results={}) | Q(pk=search.pk))
        .count(),
    )


def codes_of(marks: Sequence[str], n_rules: int) -> Codes:
    """Letters of items as numbers, shape (rules, items)."""
    codes = [[CODES.get(letter, MISSING) for letter in row] for row in marks]
    return np.array(codes, dtype=np.int8).reshape(len(marks), n_rules).T


READER = ExtraReader("rules", rules_of)
