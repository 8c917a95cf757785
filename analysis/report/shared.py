"""What answers have in common besides their item: personas, questions and blocks of people.

A hundred items about ten personas say less about personas in general than a hundred personas
would, so every main cell says how many it rests on and has an interval that allows for it.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from analysis.facts import Dataset
from analysis.report.encode import Json, put_interval
from analysis.report.verdicts import Floats, Ints
from analysis.stats.clusters import annotator_blocks
from analysis.stats.multiway import multiway_proportion
from analysis.stats.votes import Votes

# Below this many blocks of people a t interval over them says nothing.
MIN_BLOCKS = 8
NAMES = {"persona": "personas", "question": "questions", "annotator": "people"}


@dataclass(frozen=True, eq=False)
class Shared:
    """Codes of each item's persona, question and block of people, shape (items,).

    `block` is None where people form too few blocks that share nobody.
    """

    persona: Ints
    question: Ints
    block: Ints | None

    def of_items(self, items: Ints, *, by_people: bool = False) -> dict[str, Ints]:
        """Clusterings of rows that are items; `by_people` where people answered them."""
        found = {"item": items, "persona": self.persona[items], "question": self.question[items]}
        if by_people and self.block is not None:
            found["block"] = self.block[items]
        return found


def shared_by(data: Dataset, votes: Votes) -> Shared:
    blocks = annotator_blocks(votes)
    enough = np.unique(blocks[blocks >= 0]).size >= MIN_BLOCKS
    return Shared(
        persona=_codes(item.persona for item in data.items),
        question=_codes(item.question for item in data.items),
        block=blocks.astype(np.int64) if enough else None,
    )


def add_clusters(
    side: Json,
    correct: Ints,
    certainty: Floats,
    clusters: Mapping[str, Ints],
    *,
    threshold: float,
) -> None:
    """Put into a side's cells what they rest on, and the interval that allows for it.

    One entry of every array per answer; rows without right and wrong are left out.
    """
    scored = correct >= 0
    parts = (
        (side, scored),
        (side["high"], scored & (certainty >= threshold)),
        (side["low"], scored & (certainty < threshold)),
    )
    for cell, rows in parts:
        within = {name: codes[rows] for name, codes in clusters.items()}
        found = multiway_proportion(correct[rows] == 1, within)
        share = found.proportion
        out: Json = {
            label: int(found.n_clusters[name])
            for name, label in NAMES.items()
            if name in found.n_clusters
        }
        put_interval(out, "ci", share.interval, share.interval_reason or share.reason)
        if share.interval is not None:
            out["ci_made"]["by"] = list(found.used)
        cell["clusters"] = out


def _codes(values: Iterable[Hashable]) -> Ints:
    """Equal values get equal codes, in order of appearance."""
    seen: dict[Hashable, int] = {}
    return np.array([seen.setdefault(value, len(seen)) for value in values], dtype=np.int64)
