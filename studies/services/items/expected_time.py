"""How long people need to read and judge the items of a study, from what its pages show."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from studies.models import Item, Study
from studies.personas.profile_text import profile_for, profile_text
from studies.texts.reading import FAST_WORDS_PER_MINUTE, Effort

# Of a larger study, the items that are next in the random order in which annotators get them.
SAMPLED = 1_000
_FIELDS = (
    *(
        "language",
        "question",
        "context",
        "context_title",
        "media",
        "r1",
        "r2",
        "advice",
        "option_set",
    ),
    *("persona__features", "persona__text", "persona__history"),
)


@dataclass(frozen=True)
class ExpectedTime:
    """The time for the items of one annotator, without consent, instructions and other pages.

    `seconds` is the mean of an item and `longest` what 95 % of the items stay below. `fast_minutes`
    is the time of somebody who reads faster than most people.
    """

    items: int
    is_sample: bool
    per_annotator: int
    seconds: float
    longest: float
    minutes: float
    fast_minutes: float

    @property
    def words(self) -> str:
        """“The 30 items of an annotator take about 27 minutes to read and judge”."""
        items = "The item" if self.per_annotator == 1 else f"The {self.per_annotator:,} items"
        verb = "takes" if self.per_annotator == 1 else "take"
        return (
            f"{items} of an annotator {verb} about {self.whole_minutes:,} "
            f"minute{'' if self.whole_minutes == 1 else 's'} to read and judge"
        )

    @property
    def whole_minutes(self) -> int:
        """The expected minutes, rounded up: the shortest duration that gives enough time."""
        return math.ceil(self.minutes)

    def hourly(self, reward: int) -> float:
        """What a reward is an hour if only the items take time: the most that it can be."""
        return reward * 60 / self.minutes


def expected_time(study: Study) -> ExpectedTime | None:
    """The expected time of an annotator; None if no item is for annotators.

    Reads at most `SAMPLED` items, in one query.
    """
    items = list(
        Item.objects.filter(study=study, seats_needed__gt=0)
        .select_related("persona")
        .only(*_FIELDS)
        .order_by("seats_taken", "shuffle_key")[: SAMPLED + 1]
    )
    if not items:
        return None
    efforts = [_effort(study, item) for item in items[:SAMPLED]]
    seconds = [effort.seconds() for effort in efforts]
    fast = [effort.seconds(FAST_WORDS_PER_MINUTE) for effort in efforts]
    given = min(study.items_per_annotator, len(items))
    return ExpectedTime(
        items=len(efforts),
        is_sample=len(items) > SAMPLED,
        per_annotator=given,
        seconds=_mean(seconds),
        longest=sorted(seconds)[math.ceil(0.95 * len(seconds)) - 1],
        minutes=_mean(seconds) * given / 60,
        fast_minutes=_mean(fast) * given / 60,
    )


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _effort(study: Study, item: Item) -> Effort:
    item.study = study
    profile = (
        "" if study.asks_own_answers else profile_text(profile_for(item), style=study.persona_style)
    )
    whole = study.shows_whole_sets
    shown = item.options if whole else [item.r1, item.r2]
    return Effort.of(
        [
            profile,
            item.context_title,
            item.context,
            item.question,
            *(each.get("prompt") or "" for each in shown),
            *(each.get("text") or "" for each in shown),
            item.advice.get("text", ""),
        ],
        item.language or study.language,
        media=item.all_media if whole else item.shown_media,
        has_advice=item.has_advice,
    )
