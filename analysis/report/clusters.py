"""Clusters that answers share besides their item: personas, questions, blocks of annotators.

A hundred items about ten personas say less about personas in general than a hundred personas
would. So every main cell states its number of clusters and has an interval that allows for them.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import Dataset
from analysis.data.verdicts import Floats, Ints
from analysis.report.encode import Json, put, put_interval
from analysis.stats.accuracy.general_accuracy import general_proportion
from analysis.stats.core.checks import n_distinct
from analysis.stats.core.clusters import annotator_blocks
from analysis.stats.core.shared_variance import (
    ANNOTATOR,
    ANNOTATORS_PER_ANSWER,
    FEW_CLUSTERS,
    FEWEST_ANNOTATORS,
    Kind,
    Sharing,
    effective_number,
)
from analysis.stats.core.votes import Votes

# With fewer blocks of annotators than this, a t interval over them is not informative.
MIN_BLOCKS = 8
# The populations of intervals that allow for all of these clusters.
IN_GENERAL = "items, people, personas and questions in general"
FOR_THESE_PEOPLE = "items, personas and questions in general, and these people"
NAMES = {"persona": "personas", "question": "questions", "annotator": "people"}


@dataclass(frozen=True, eq=False)
class SharedClusters:
    """Codes of each item's persona, question and block of annotators, shape (items,).

    `block` is None if annotators form too few blocks that share nobody. `items` has everything that
    items share, including the annotators who voted; `judged` is the same without annotators, and
    `answers` has what single answers share.
    """

    persona: Ints
    question: Ints
    block: Ints | None
    items: Sharing
    judged: Sharing
    answers: Sharing

    def of_items(self, items: Ints, *, by_people: bool = False) -> dict[str, Ints]:
        """Clusterings of rows that are items; `by_people` if annotators answered them."""
        found = {"item": items, "persona": self.persona[items], "question": self.question[items]}
        if by_people and self.block is not None:
            found["block"] = self.block[items]
        return found

    def of_judgments(self, items: Ints) -> Sharing:
        """What rows of a run share: several can be about one item."""
        return Sharing.of_items(items.size, self.of_items(items))


def shared_by(data: Dataset, votes: Votes) -> SharedClusters:
    blocks = annotator_blocks(votes)
    enough = n_distinct(blocks[blocks >= 0]) >= MIN_BLOCKS
    persona = _codes(item.persona for item in data.items)
    question = _codes(_questions(data))
    clusters = {"persona": persona, "question": question}
    items = Sharing.of_items(len(data.items), clusters, votes)
    of_answers = {"item": votes.item, ANNOTATOR: votes.annotator} | {
        name: codes[votes.item] for name, codes in clusters.items()
    }
    rows = np.arange(votes.n)
    return SharedClusters(
        persona=persona,
        question=question,
        block=blocks.astype(np.int64) if enough else None,
        items=items,
        judged=items.without(ANNOTATOR),
        answers=Sharing.of(
            votes.n, {name: Kind.of(rows, codes, votes.n) for name, codes in of_answers.items()}
        ),
    )


def _questions(data: Dataset) -> Sequence[Hashable]:
    """What each item asks, in the words of the item or as a rare design says."""
    asked = (extra.questions(data.items) for extra in data.extras.values())
    return next((each for each in asked if each), [item.question for item in data.items])


def add_clusters(
    side: Json, correct: Ints, certainty: Floats, sharing: Sharing, *, threshold: float
) -> None:
    """Add to a side's cells their clusters, and the interval that allows for them.

    Every array has one entry per answer; rows that are neither right nor wrong are left out.
    """
    for cell, rows in _cells(side, correct, certainty, threshold):
        within = sharing.take(rows)
        share = general_proportion(correct[rows] == 1, within)
        out = counted(within)
        put_interval(out, "ci", share.interval, share.interval_reason or share.reason)
        if share.interval is not None:
            out["ci_made"]["by"] = list(within.used)
        cell["clusters"] = out


def add_as_best(
    side: Json,
    correct: Ints,
    certainty: Floats,
    sharing: Sharing,
    *,
    threshold: float,
    among: int,
) -> None:
    """Add the same intervals, allowing for the choice of the best of `among` runs."""
    for cell, rows in _cells(side, correct, certainty, threshold):
        share = general_proportion(correct[rows] == 1, sharing.take(rows), among=among)
        reason = share.interval_reason or share.reason
        put_interval(cell["clusters"], "ci_as_best", share.interval, reason)
        if share.interval is not None:
            cell["clusters"]["ci_as_best_made"]["among"] = among


def counted(sharing: Sharing) -> Json:
    """The number of annotators, personas and questions behind a result."""
    return {
        label: sharing.n_clusters[name]
        for name, label in NAMES.items()
        if name in sharing.n_clusters
    }


def _cells(
    side: Json, correct: Ints, certainty: Floats, threshold: float
) -> tuple[tuple[Json, npt.NDArray[np.bool_]], ...]:
    scored = correct >= 0
    return (
        (side, scored),
        (side["high"], scored & (certainty >= threshold)),
        (side["low"], scored & (certainty < threshold)),
    )


def rests_on(within: Sharing) -> Json:
    """Clusters of each kind, and the kinds with few, too few, or only one.

    `people_effective` is what the annotators count as by their shares of the answers.
    """
    sizes = counted(within)
    people = within.kinds.get(ANNOTATOR)
    effective = None if people is None else effective_number(people.sizes)
    uneven: Json = {}
    if people is not None and effective is not None:
        total = float(people.sizes.sum())
        least = max(FEWEST_ANNOTATORS, ANNOTATORS_PER_ANSWER * total / within.n)
        uneven["people_largest"] = round(float(people.sizes.max() / total), 6)
        uneven["people_uneven"] = ANNOTATOR in within.short and sizes["people"] >= least
    put(uneven, "people_effective", None if effective is None else round(effective, 6), "no_votes")
    return uneven | {
        "clusters": sizes,
        "too_few": [NAMES[name] for name in within.short if name in NAMES],
        "few": [
            NAMES[name]
            for name in (ANNOTATOR, "persona", "question")
            if 1 < sizes.get(NAMES[name], 0) < FEW_CLUSTERS and name not in within.short
        ],
        "one": [label for label, size in sizes.items() if size == 1 and label != "people"],
    }


def fix_people(found: Json, n_people: int) -> None:
    """Say that a result that rests on clusters holds for these people only."""
    found["holds_for"] = FOR_THESE_PEOPLE
    found["clusters"] = {"people": n_people, **found["clusters"]}
    found["one"] = ["people", *found["one"]]


def _codes(values: Iterable[Hashable]) -> Ints:
    """Codes that are the same for equal values, in order of appearance.

    Where some have a value, each one without is alone: items about nobody known do not share a
    persona. Where none has, they count as one.
    """
    rows = list(values)
    codes = {value: code for code, value in enumerate(dict.fromkeys(rows))}
    found = np.fromiter(map(codes.__getitem__, rows), dtype=np.int64, count=len(rows))
    if "" in codes and len(codes) > 1:
        empty = np.flatnonzero(found == codes[""])
        found[empty[1:]] = len(codes) + np.arange(empty.size - 1)
    return found
