"""Items on which annotators are split, by the rule of a study."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import F

from analysis.data.item_comparisons import FilterChoices, verdict_chunks
from analysis.disagreements.selection import MORE as SETS
from extras.label_models.models import Adjudication, SplitItem
from studies.models import Item, Study

FEWEST_ANSWERS = 2  # one answer cannot be split


@dataclass(frozen=True)
class SplitNow:
    """Why each split item is one, by its id; and how many items still collect answers."""

    reasons: Mapping[int, SplitItem.Reason]
    waiting: int

    def counted(self) -> list[tuple[str, int]]:
        """How many items there are for each reason."""
        of_reason = Counter(self.reasons.values())
        return [(str(reason.label), of_reason[reason]) for reason in of_reason]


def sets_of(study: Study) -> dict[str, str]:
    """Sets of items that extras offer without a further value: their names and labels."""
    return {
        items.name: items.label(study, "")
        for items in SETS.of(study)
        if items.items(study, "") is not None
    }


def split_now(rule: Adjudication) -> SplitNow:
    """The items that the rule sends to experts; those that still collect answers wait."""
    study = rule.study
    collecting: set[int] = set()
    if study.is_under_way:
        open_items = Item.objects.filter(study=study, answered__lt=F("seats_needed"))
        collecting = {*open_items.values_list("pk", flat=True)}
    chosen: set[int] = set()
    for items in SETS.of(study):
        ids = items.items(study, "") if items.name in rule.sets else None
        chosen |= set() if ids is None else {pk for (pk,) in ids.values_list("pk")}
    reasons: dict[int, SplitItem.Reason] = {}
    waiting = 0
    for verdicts in verdict_chunks(study, None, FilterChoices()):
        for item in verdicts:
            people = item.people or {}
            if people.get("answers", 0) < FEWEST_ANSWERS:
                continue
            reason = None
            if rule.no_majority and not people.get("verdict"):
                reason = SplitItem.Reason.NO_MAJORITY
            elif rule.below and (people.get("share") or 0) * 100 < rule.below:
                reason = SplitItem.Reason.SHARE
            elif item.pk in chosen:
                reason = SplitItem.Reason.SET
            if reason and item.pk in collecting:
                waiting += 1
            elif reason:
                reasons[item.pk] = reason
    return SplitNow(reasons, waiting)
