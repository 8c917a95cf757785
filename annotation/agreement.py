"""How an annotator's answers compare with those of others, and the binomial sums behind it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import comb
from typing import NamedTuple


class ComparedAnswer(NamedTuple):
    """An answer; other answers are compared with it if it `counts`."""

    annotator: int
    item: int
    choice: str
    counts: bool


@dataclass
class RaterAgreement:
    """How an annotator's answers compare with the others'.

    Of `compared` pairs with another annotator's answer to the same item, `same` agree. Pairs of an
    item are not independent, so they are not used for tests. `against` counts the items on which
    the annotator was outvoted, among those with disagreement and a winning answer; for each of
    these, `chances` has the share of its annotators who were outvoted.
    """

    same: int = 0
    compared: int = 0
    against: int = 0
    chances: list[float] = field(default_factory=list)

    @property
    def share(self) -> float | None:
        return self.same / self.compared if self.compared else None

    @property
    def share_against(self) -> float | None:
        return self.against / len(self.chances) if self.chances else None

    @property
    def expected_against(self) -> float | None:
        return sum(self.chances) / len(self.chances) if self.chances else None

    @property
    def probability(self) -> float:
        """The probability of being outvoted at least this often if answers were assigned at random.

        Given an item's answers, each of its annotators is equally likely to be outvoted; the items
        are then independent, however difficult.
        """
        return at_least(self.against, self.chances)


def agreement(
    own: Iterable[ComparedAnswer], votes_by_item: Mapping[int, Mapping[str, int]]
) -> RaterAgreement:
    """The agreement of an annotator with the counting answers that everybody gave, by item."""
    person = RaterAgreement()
    for row in own:
        votes = Counter(votes_by_item.get(row.item, {}))
        if not row.counts:
            votes[row.choice] += 1
        total, alike = votes.total(), votes[row.choice]
        person.same += alike - 1
        person.compared += total - 1
        most = max(votes.values())
        winners = [choice for choice, count in votes.items() if count == most]
        if len(winners) == 1 and most < total:
            person.chances.append((total - most) / total)
            person.against += row.choice != winners[0]
    return person


def at_least(successes: int, chances: Sequence[float]) -> float:
    """The probability of at least this many successes in independent trials with these chances.

    >>> at_least(2, [0.5, 0.5]), at_least(0, [0.5])
    (0.25, 1.0)
    """
    counts = [1.0]
    for chance in chances:
        counts = [
            (counts[n] if n < len(counts) else 0.0) * (1 - chance)
            + (counts[n - 1] if n else 0.0) * chance
            for n in range(len(counts) + 1)
        ]
    return min(1.0, sum(counts[successes:]))


def at_most(successes: int, trials: int, probability: float) -> float:
    """The binomial probability of at most this many successes.

    >>> at_most(0, 10, 0.5)
    0.0009765625
    """
    return sum(
        comb(trials, k) * probability**k * (1 - probability) ** (trials - k)
        for k in range(successes + 1)
    )
