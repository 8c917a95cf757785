"""The items that a person should answer next, so that a judge can learn more, and what they bring.

Only items of personas to learn from are chosen by what the judge does. Those of sealed personas are
taken by chance, because a trial on chosen items would be about these alone.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

from extras.improving.models import LEARN
from extras.improving.parts import (
    ANSWERED,
    answers_of_people,
    credit,
    part_of,
    place_of,
    verdicts_of,
)
from judging.models import JudgeRun
from studies.errors import StudyError
from studies.models import Item

MOST_NEXT = 1_000
_FEWEST_KNOWN = 30  # answered items from which the judge's mistakes are expected
_NO_VERDICT = "no verdict"


@dataclass(frozen=True)
class NextLabels:
    """Items to answer next, by key, and the mistakes of the judge that they are expected to show.

    `spread` is the standard deviation of the number of mistakes, if the estimated rates hold.
    `sealed` are as many items of sealed personas, and `gains` the gain that a trial finds before
    and after people answer them; None if it finds none.
    """

    judge: str
    learn: Sequence[str]
    mistakes: float
    spread: float
    by_chance: float
    sealed: Sequence[str]
    gains: tuple[float | None, float | None]

    @property
    def sentences(self) -> list[str]:
        n = len(self.learn)
        sentences = []
        if n:
            sentences.append(
                f"These {n:,} items are expected to show {self.mistakes:.0f} mistakes of "
                f"{self.judge} (about {max(0.0, self.mistakes - 2 * self.spread):.0f} to "
                f"{min(n, self.mistakes + 2 * self.spread):.0f}); as many items by chance, "
                f"{self.by_chance:.0f}. A wording learns from mistakes."
            )
        else:
            sentences.append("Every item to learn from that the judge has judged has an answer.")
        if self.sealed:
            before, after = (
                "no gain up to 50 points" if gain is None else f"a gain of {gain * 100:.0f} points"
                for gain in self.gains
            )
            sentences.append(
                f"With answers to {len(self.sealed):,} more sealed items, drawn by chance, a trial "
                f"of one wording finds {after} in 4 of 5 cases; now it finds {before}."
            )
        else:
            sentences.append("Every sealed item that the judge has judged has an answer.")
        return sentences

    @property
    def text(self) -> str:
        lists = (("To learn from", self.learn), ("Sealed", self.sealed))
        keys = [f"{name}: {', '.join(items)}" for name, items in lists if items]
        return "\n".join([*self.sentences, *keys])


def next_labels(run: JudgeRun, n: int, share: int) -> NextLabels:
    """Choose n items of either part. Raises `StudyError` if too little is known of the judge."""
    from extras.improving.stats import findable_gain

    if not 1 <= n <= MOST_NEXT:
        raise StudyError(f"The number of items to answer next is {n}. Use 1 to {MOST_NEXT:,}.")
    people, verdicts = answers_of_people(run.study), verdicts_of(run)
    items = dict(Item.objects.filter(study=run.study_id).values_list("key", "persona__key"))
    parts = {key: part_of(persona, share / 100)[0] for key, persona in items.items()}
    judged = [key for key in items if key in verdicts]
    known = [key for key in judged if parts[key] == LEARN and key in people]
    if len(known) < _FEWEST_KNOWN:
        raise StudyError(
            f"People have answered {len(known):,} of the items to learn from that this run has "
            f"judged. To say what further answers bring, {_FEWEST_KNOWN} are needed."
        )
    groups = _groups({key: verdicts[key] for key in judged})
    wrong = defaultdict[str, list[float]](list)
    for key in known:
        wrong[groups[key]].append(1 - credit(verdicts[key], people[key].right))
    # Shrunk to the mean of all, so that a group of a few items is not the most promising one.
    mean = sum(map(sum, wrong.values())) / len(known)
    rates = {group: (sum(w) + 4 * mean) / (len(w) + 4) for group, w in wrong.items()}
    new = [key for key in judged if key not in people]
    learn = [key for key in new if parts[key] == LEARN]
    learn.sort(key=lambda key: (-rates.get(groups[key], mean), place_of(key)))
    sealed = sorted((key for key in new if parts[key] != LEARN), key=place_of)[:n]
    chosen = [rates.get(groups[key], mean) for key in learn[:n]]
    every = [rates.get(groups[key], mean) for key in learn]
    now = sum(parts[key] != LEARN for key in judged if key in people)
    return NextLabels(
        judge=run.judge.name,
        learn=learn[:n],
        mistakes=sum(chosen),
        spread=sqrt(sum(rate * (1 - rate) for rate in chosen)),
        by_chance=len(chosen) * sum(every) / len(every) if every else 0.0,
        sealed=sealed,
        gains=(findable_gain(now), findable_gain(now + len(sealed))),
    )


def _groups(verdicts: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Items in which the judge is about equally sure: thirds by certainty, and no verdict.

    Without certainties, how often its readings agree.
    """
    sure = {
        key: (row.get("certainty") or 0.0, row.get("share") or 0.0)
        for key, row in verdicts.items()
        if row.get("verdict") in ANSWERED
    }
    ordered = sorted(sure.values())
    ends = [ordered[len(ordered) * third // 3] for third in (1, 2)] if ordered else []
    return {
        key: str(sum(sure[key] >= end for end in ends)) if key in sure else _NO_VERDICT
        for key in verdicts
    }
