"""The labels of a file on one scale, as arrays."""

from functools import cached_property

import numpy as np
import numpy.typing as npt

from analysis.report.words import listed, number_of
from analysis.stats import AnswerScale, Sharing, Votes
from analysis.stats.core.results import BoolArray, IntArray
from thirdperson.check.labels import LabelTable
from thirdperson.check.levels import LabelScale


class ScaleTable:
    """The labels as arrays; `judges` have an option for each item, -1 without one."""

    def __init__(self, labels: LabelTable, scale: LabelScale) -> None:
        self.labels, self.scale, self.items = labels, scale, labels.items
        place = {item: number for number, item in enumerate(self.items)}
        self.raters = labels.raters(is_judge=False)
        number = {rater: code for code, rater in enumerate(self.raters)}
        people = [label for label in labels.labels if not label.is_judge]
        self.votes = Votes.from_long(
            [place[label.item] for label in people],
            [number[label.rater] for label in people],
            [scale.code(label.value) for label in people],
            n_options=len(scale.names),
            n_items=len(self.items),
            n_annotators=len(self.raters),
        )
        self.judges = {
            judge: np.full(len(self.items), -1) for judge in labels.raters(is_judge=True)
        }
        for label in labels.labels:
            if label.is_judge:
                self.judges[label.rater][place[label.item]] = scale.code(label.value)
        self.gold = np.array(
            [scale.code(labels.gold[item]) if item in labels.gold else -1 for item in self.items]
        )
        counts = np.bincount(self.votes.choice, minlength=len(scale.names))
        self.answers = AnswerScale.of_choices(len(scale.names))
        if scale.is_graded:
            self.answers = AnswerScale.of_values(scale.values, counts)

    @property
    def paired(self) -> BoolArray:
        return np.asarray(self.votes.counts().sum(axis=1) >= 2)

    @cached_property
    def matrix(self) -> npt.NDArray[np.int16]:
        """Options, shape (items, people), -1 without a label."""
        codes = np.full((self.votes.n_items, self.votes.n_annotators), -1, dtype=np.int16)
        codes[self.votes.item, self.votes.annotator] = self.votes.choice
        return codes

    @property
    def rarest(self) -> str:
        """The label that people gave least often."""
        counts = self.votes.counts()[self.paired].sum(axis=0)
        names = [(n, name) for n, name in zip(counts, self.scale.names, strict=True) if n]
        return min(names, default=(0, ""))[1]

    def sharing(self, *, these_people: bool) -> Sharing:
        stores = {"persona": self.labels.persona, "question": self.labels.question}
        clusters = {name: self._codes(store) for name, store in stores.items()}
        return Sharing.of_items(len(self.items), clusters, None if these_people else self.votes)

    def _codes(self, store: dict[str, str]) -> IntArray:
        """One code for each value; an item without one shares it with no other."""
        if not store:
            return np.zeros(len(self.items), dtype=np.int64)
        keys = [(0, store[item]) if item in store else (1, item) for item in self.items]
        codes = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        return np.array([codes[key] for key in keys], dtype=np.int64)

    def used(self) -> list[str]:
        """What the verdict leaves out, and why."""
        alone = int((~self.paired).sum())
        left = [f"{number_of(alone, 'item')} with fewer than two labels of people"] if alone else []
        for judge, choice in self.judges.items():
            if n := int((choice[self.paired] < 0).sum()):
                left.append(f"{number_of(n, 'item')} without a label of {judge}")
        return [f"left out of the verdict: {listed(left)}"] if left else []
