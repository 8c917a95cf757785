"""The live monitor: the overview of a study that was opened."""

from dataclasses import dataclass

from studies.models import Study
from studies.pages.workbench.registry import MonitorCard, Need, cards, needs

_TITLES = {
    "answers": "Answers",
    "quota": "Quota",
    "funnel": "Annotators",
    "coverage": "Items by number of answers",
    "judges": "Judges",
    "money": "Money",
}
_SIDE = ("money",)  # below what waits
_MOST_NEEDS = 3


@dataclass(frozen=True)
class CardGroup:
    """A card of the page, made of the parts that apps gave it."""

    key: str
    title: str
    parts: list[MonitorCard]


@dataclass(frozen=True)
class Monitor:
    """What the page shows. The first needs are shown at once, `more` on request."""

    main: list[CardGroup]
    side: list[CardGroup]
    needs: list[Need]
    more: list[Need]

    @property
    def number(self) -> int:
        return len(self.needs) + len(self.more)


def monitor(study: Study, *, may_edit: bool) -> Monitor:
    """The cards in their order, and what waits for the researcher, urgent things first."""
    waiting = [need for need in needs.of(study) if may_edit or not need.for_editors]
    waiting.sort(key=lambda need: not need.is_urgent)
    parts = cards.of(study)
    groups = [
        CardGroup(key, title, [part for part in parts if part.key == key])
        for key, title in _TITLES.items()
    ]
    main = [group for group in groups if group.key not in _SIDE]
    side = [group for group in groups if group.key in _SIDE]
    return Monitor(main, side, waiting[:_MOST_NEEDS], waiting[_MOST_NEEDS:])
