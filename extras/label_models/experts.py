"""What experts decided, as arrays for a report."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import CHOICES, CODE, MISSING, TIE, Codes, Dataset, DesignData
from analysis.data.extras import ExtraReader
from extras.label_models.adjudicating import rule_of
from extras.label_models.labels import decided_rows, expert_name
from extras.label_models.models import SplitItem
from studies.models import Study


@dataclass(frozen=True, eq=False)
class AdjudicatedItems(DesignData):
    """The split items of a study, and what experts decided.

    Attributes
    ----------
    reason : tuple of str
        Why each item was split, in the order of the study's items; empty if it was not.
    choice : ndarray of int8, shape (experts, items)
        0, 1 or 2 for response 1, response 2 or a tie; -1 if not decided.
    with_account : int
        Experts whose account can open the answers.
    from_file : int
        Experts who decided elsewhere.
    is_closed : bool
        Whether decisions can no longer change.
    """

    reason: tuple[str, ...]
    choice: Codes
    with_account: int
    from_file: int
    is_closed: bool

    @property
    def digest(self) -> str:
        """Equal for equal contents."""
        ways = (self.with_account, self.from_file, self.is_closed)
        text = repr((self.reason, ways, self.choice.shape))
        return hashlib.sha256(text.encode() + self.choice.tobytes()).hexdigest()

    @property
    def is_split(self) -> npt.NDArray[np.bool_]:
        return np.array([bool(reason) for reason in self.reason], dtype=np.bool_)

    def counts(self) -> npt.NDArray[np.int64]:
        """How many experts chose each option, shape (items, options)."""
        options = range(len(CHOICES) if (self.choice == TIE).any() else TIE)
        return np.stack([(self.choice == option).sum(axis=0) for option in options], axis=1)

    def label(self) -> npt.NDArray[np.int64]:
        """What most experts chose, shape (items,); -1 if open."""
        counts = self.counts()
        most = counts.max(axis=1)
        is_clear = (most > 0) & ((counts == most[:, None]).sum(axis=1) == 1)
        return np.where(is_clear, counts.argmax(axis=1), MISSING)


def adjudicated_in(
    study: Study, data: Dataset, position: Mapping[int, int]
) -> AdjudicatedItems | None:
    """The adjudication of a study; None if no item was sent to experts."""
    reasons = dict(SplitItem.objects.filter(item__study=study).values_list("item", "reason"))
    reason = [""] * len(data.items)
    for item, why in reasons.items():
        if item in position:
            reason[position[item]] = why
    if not any(reason):
        return None
    rows = [row for row in decided_rows(study) if row.item_id in position]
    names = sorted({expert_name(study, row.expert.public_id) for row in rows})
    choice = np.full((len(names), len(data.items)), MISSING, dtype=np.int8)
    for row in rows:
        name = expert_name(study, row.expert.public_id)
        choice[names.index(name), position[row.item_id]] = CODE[row.choice]
    ways = Counter({row.expert_id: row.expert.way for row in rows}.values())
    is_closed = bool(rule_of(study).closed_at)
    return AdjudicatedItems(tuple(reason), choice, ways["account"], ways["file"], is_closed)


ADJUDICATED = ExtraReader("adjudication", adjudicated_in)
