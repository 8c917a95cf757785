"""How many anchors changed between the start and the end of a run, and whether chance explains it.

Pure. Samples of the same question, if a run has them, show how often a model contradicts itself
without having changed: each pair of samples is to a question what start and end are to an anchor.
"""

from dataclasses import dataclass
from math import comb

LEVEL = 0.95


@dataclass(frozen=True)
class Share:
    """`count` of `n`; all shares and intervals of none are undefined."""

    count: int
    n: int

    @property
    def value(self) -> float | None:
        return self.count / self.n if self.n else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The exact interval of Clopper and Pearson at 95 %."""
        if not self.n:
            return None
        from scipy.special import betaincinv

        tail, misses = (1 - LEVEL) / 2, self.n - self.count
        low = float(betaincinv(self.count, misses + 1, tail)) if self.count else 0.0
        high = float(betaincinv(self.count + 1, misses, 1 - tail)) if misses else 1.0
        return low, high

    @property
    def words(self) -> str:
        if self.interval is None or self.value is None:
            return f"{self.count:,} of {self.n:,}"
        low, high = self.interval
        share = f"{100 * self.value:.1f} %, 95 % interval {100 * low:.1f} to {100 * high:.1f} %"
        return f"{self.count:,} of {self.n:,} ({share})"


@dataclass(frozen=True)
class AnchorComparison:
    """The anchors of one run.

    `anchors` were chosen, `compared` have an answer at the start and at the last end, and `changed`
    of these have another choice. `pairs` are other items with two samples in the same order, of
    which `differ` have two choices. `certainty_shift` is the mean absolute change of the certainty
    of anchors that have it twice.
    """

    anchors: int
    asked_at_start: int
    asked_at_end: int
    compared: int
    changed: int
    pairs: int
    differ: int
    certainty_shift: float | None
    is_random: bool  # whether the judge draws its words at random

    @property
    def change(self) -> Share:
        return Share(self.changed, self.compared)

    @property
    def sampling(self) -> Share:
        return Share(self.differ, self.pairs)

    @property
    def expected(self) -> float | None:
        """The number of anchors that sampling alone would change."""
        share = self.sampling.value
        return None if share is None else share * self.compared

    @property
    def p_value(self) -> float | None:
        """Of Fisher's exact test that anchors change more often than samples differ."""
        if not (self.compared and self.pairs):
            return None
        return chance_of_as_many(self.change, self.sampling)

    @property
    def sentences(self) -> list[str]:
        """The result, for readers."""
        if not self.compared:
            return [
                f"Anchors: {self.asked_at_start:,} of {self.anchors:,} have an answer from the "
                f"start and {self.asked_at_end:,} from the end, so none can be compared yet."
            ]
        found = [f"Anchors: {self.change.words} changed between the start and the end of the run."]
        missing = self.anchors - self.compared
        if missing:
            found.append(f"{missing:,} could not be compared.")
        if self.expected is not None and self.p_value is not None:
            found.append(
                f"Two samples of the same question differ at {self.sampling.words} other items, so "
                f"sampling alone would change {self.expected:.1f} anchors (exact test of more "
                f"changes than that: p = {self.p_value:.3f})."
            )
        elif self.is_random:
            found.append(
                "The run has no second samples of other items, so how many changes sampling alone "
                "explains is unknown."
            )
        return found

    @property
    def is_suspicious(self) -> bool:
        """Whether a reader should be warned: changes that chance is not known to explain."""
        return bool(self.changed) and (self.p_value is None or self.p_value < 1 - LEVEL)


def chance_of_as_many(change: Share, sampling: Share) -> float:
    """The chance of as many changes or more, if anchors change as often as samples differ.

    The hypergeometric distribution of the changes, given the changes of both together.
    """
    total, changes = change.n + sampling.n, change.count + sampling.count
    most = min(changes, change.n)
    ways = sum(
        comb(changes, count) * comb(total - changes, change.n - count)
        for count in range(change.count, most + 1)
    )
    return ways / comb(total, change.n)
