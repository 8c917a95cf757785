"""The numbers of a frozen set and of its looks: answers, annotators and items, without texts."""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from annotation.models import Annotation, Annotator
from extras.watching.asking import Round
from extras.watching.models import WatchedSet
from judging.models import JudgeRun, Judgment
from judging.runs.records import reported_versions
from studies.models import Item, Study

_COUNTED = (Annotation.Standing.COUNTED, Annotation.Standing.IMPORTED)
# A judge that no longer answers an item, or not so that it can be read, has changed its answer.
_REPLIED = (Judgment.State.DONE, Judgment.State.REFUSED, Judgment.State.UNPARSEABLE)
_AT_ONCE = 500
_MOST_NEW = 5_000


@dataclass(frozen=True)
class PeopleNumbers:
    """Shares of answers that differ from the judge's frozen ones, by annotator."""

    annotators: list[int]
    scores: list[float]
    sha256: str


def people_numbers(
    frozen: Sequence[Mapping[str, Any]],
    *,
    only: Collection[int] | None = None,
    without: Collection[int] = (),
) -> PeopleNumbers:
    """The annotators who have completed, or were imported, `only` some or `without` some."""
    choice_of = {item["id"]: item["choice"] for item in frozen}
    differs: dict[int, list[bool]] = defaultdict(list)
    digest = hashlib.sha256()
    ids = sorted(choice_of)
    rows: list[tuple[int, int, str]] = []
    for start in range(0, len(ids), _AT_ONCE):
        answers = Annotation.objects.filter(
            Q(standing=Annotation.Standing.IMPORTED)
            | Q(assignment__annotator__state=Annotator.State.COMPLETED),
            assignment__item__in=ids[start : start + _AT_ONCE],
            assignment__annotator__excluded_at=None,
            standing__in=_COUNTED,
        )
        rows += answers.values_list("assignment__annotator", "assignment__item", "choice")
    for annotator, item, choice in sorted(rows):
        if annotator not in without and (only is None or annotator in only):
            differs[annotator].append(choice != choice_of[item])
            digest.update(f"{annotator}|{item}|{choice}\n".encode())
    scores = [round(sum(own) / len(own), 6) for own in differs.values()]
    return PeopleNumbers(list(differs), scores, digest.hexdigest())


def features(item: Item, certainty: int | None, *, counts: bool) -> dict[str, Any]:
    """What is compared of an item; one of each persona `counts` in the test."""
    return {
        "question": len(item.question),
        "responses": sum(len(side.get("text") or "") for side in (item.r1, item.r2)),
        "topic": item.topic,
        "language": item.language or item.study.language,
        "certainty": certainty,
        "counts": counts,
    }


def first_answers(run: JudgeRun, items: Collection[int]) -> dict[int, Judgment]:
    """A run's first answer with a choice to each item, by the item's id."""
    answers: dict[int, Judgment] = {}
    ids = sorted(items)
    for start in range(0, len(ids), _AT_ONCE):
        rows = Judgment.objects.filter(
            run=run, item__in=ids[start : start + _AT_ONCE], state=Judgment.State.DONE
        ).exclude(choice="")
        for judgment in rows.order_by("item", "sample", "shown_first"):
            answers.setdefault(judgment.item_id, judgment)
    return answers


def look_numbers(watched: WatchedSet, asked: Round) -> dict[str, Any]:
    """What a look's answers, the annotators and the items since the last look are like."""
    frozen = watched.frozen["items"]
    again = {judgment.item_id: judgment for judgment in asked.judgments.filter(state__in=_REPLIED)}
    both = [(item, again[item["id"]]) for item in frozen if item["id"] in again]
    stated = [
        (item["certainty"], now.certainty)
        for item, now in both
        if item["certainty"] is not None and now.certainty is not None
    ]
    right = [(item, now) for item, now in both if item["right"] and now.choice]
    return {
        "choices": [int(item["choice"] != now.choice) for item, now in both],
        "certainties": [abs(now - then) / 100 for then, now in stated],
        "higher": sum(now - then for then, now in stated) / len(stated) if stated else 0.0,
        "refused": sum(not now.choice for _, now in both),
        "lost": sum(item["choice"] == item["right"] != now.choice for item, now in right),
        "gained": sum(item["choice"] != item["right"] == now.choice for item, now in right),
        "unanswered": len(frozen) - len(both),
        "versions": reported_versions([], asked.judgments),
    }


def world_numbers(watched: WatchedSet) -> dict[str, Any]:
    """Annotators and items that are new since the last look that counted any."""
    earlier = [numbers for numbers in _earlier(watched) if "annotators" in numbers]
    known = {one for numbers in earlier for one in numbers["annotators"]}
    people = watched.frozen["people"]
    now = people_numbers(watched.frozen["items"], only=people["annotators"])
    new = people_numbers(watched.frozen["items"], without={*known, *people["annotators"]})
    last = max([watched.frozen["last_item"], *(numbers["last_item"] for numbers in earlier)])
    items = _new_items(watched, after=last)
    return {
        "people": new.scores,
        "annotators": new.annotators,
        "people_changed": now.sha256 != people["sha256"],
        "items": _features_of_new(watched, items, after=last),
        "last_item": max([last, *(item.pk for item in items)]),
    }


def _earlier(watched: WatchedSet) -> list[dict[str, Any]]:
    return list(watched.looks.filter(state="done").values_list("numbers", flat=True))


def source_of_items(watched: WatchedSet) -> Study:
    return watched.used_in or watched.study


def _items_of_use(watched: WatchedSet) -> Any:
    """Items of another study, or those of the own study that came after the freezing."""
    items = Item.objects.filter(study=source_of_items(watched))
    return items if watched.used_in else items.filter(pk__gt=watched.frozen["last_own"])


def _new_items(watched: WatchedSet, *, after: int) -> list[Item]:
    rows = _items_of_use(watched).filter(pk__gt=after).select_related("study").order_by("pk")
    return list(rows[:_MOST_NEW])


def _features_of_new(
    watched: WatchedSet, items: Sequence[Item], *, after: int
) -> list[dict[str, Any]]:
    counted = {*_items_of_use(watched).filter(pk__lte=after).values_list("persona", flat=True)}
    runs = JudgeRun.objects.filter(
        study=source_of_items(watched), judge=watched.run.judge, setting=watched.run.setting
    ).filter(features=watched.run.features, bias_probe="", probe_first=False)
    run = watched.run if watched.used_in is None else runs.order_by("-pk").first()
    answers = first_answers(run, [item.pk for item in items]) if run else {}
    described = []
    for item in items:
        judgment = answers.get(item.pk)
        certainty = judgment.certainty if judgment else None
        described.append(features(item, certainty, counts=item.persona_id not in counted))
        counted.add(item.persona_id)
    return described
