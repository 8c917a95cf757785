"""One answer per item of all annotators together and of each run, counted by the database.

The rules are those of the report: the majority of the answers that count, a shared maximum is no
verdict, the certainty is the mean of those who chose it, and the answer “tie” is not scored where
no tie was offered.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from statistics import fmean
from typing import Any

from django.db.models import Avg, Count, F, Q, QuerySet

from analysis.data.annotators.answers import COUNTED
from analysis.data.annotators.set_answers import SetPairs
from annotation.content.wording import setting_of
from annotation.models import Annotation
from judging.models import Judgment
from judging.protocols.registry import protocol
from studies.models import Choice, Item, Study

_CHUNK = 2_000


def aggregate_rows(study: Study) -> Iterator[dict[str, Any]]:
    """Yield the annotators' verdicts, then each run's; an item without any answer has no row."""
    return chain(annotator_aggregates(study), run_aggregates(study))


def annotator_aggregates(
    study: Study, items: Sequence[str] | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the majority of annotators at every item that has an answer, by item key.

    Or at those of them with the keys `items`.
    """
    answers = Annotation.objects.filter(
        assignment__annotator__study=study,
        assignment__annotator__excluded_at=None,
        assignment__item__split=Item.Split.MAIN,
        standing__in=COUNTED,
    )
    if study.shows_whole_sets:
        found = _with_pairs(study, answers, items)
    else:
        if items is not None:
            # The study is named again so that the items are found by the index of their keys.
            answers = answers.filter(assignment__item__study=study, assignment__item__key__in=items)
        found = _counted(answers)
    setting = setting_of(study)
    for row in found:
        yield {
            "rater_kind": "human",
            "rater_id": "people",
            "setting": setting,
            **_verdict(row, offers_tie=study.allow_tie),
        }


def _counted(answers: QuerySet[Annotation]) -> Iterator[dict[str, Any]]:
    counted: QuerySet[Annotation, Any] = (
        answers.values(key=F("assignment__item__key"), truth=F("assignment__item__first_person"))
        .annotate(**_counts())
        .order_by("key")
    )
    yield from counted.iterator(chunk_size=_CHUNK)


def _with_pairs(
    study: Study, answers: QuerySet[Annotation], items: Sequence[str] | None
) -> Iterator[dict[str, Any]]:
    """The same rows where orders of whole sets answer pairs that have no answer of their own."""
    pairs = SetPairs(study, items)
    if items is not None:
        named = Q(assignment__item__study=study, assignment__item__key__in=items)
        answers = answers.filter(named | Q(assignment__item__in=pairs.items))
    given: dict[tuple[str, str], dict[str, list[int | None]]] = {}
    stored = answers.values_list(
        "assignment__item",
        "assignment__item__key",
        "assignment__item__first_person",
        "choice",
        "certainty",
        "ranking",
    )
    for item, key, truth, choice, certainty, ranking in stored.iterator(chunk_size=_CHUNK):
        each = [(key, truth, choice)]
        if ranking is not None:
            each = [(pair.key, pair.truth, pair.choice) for pair in pairs.answers(item, ranking)]
        for key, truth, choice in each:
            given.setdefault((key, truth), {}).setdefault(choice, []).append(certainty)
    wanted = None if items is None else set(items)
    for (key, truth), by_choice in sorted(given.items()):
        if wanted is None or key in wanted:
            yield {"key": key, "truth": truth} | _of_choices(by_choice)


def _of_choices(by_choice: Mapping[str, Sequence[int | None]]) -> dict[str, Any]:
    """The count and the mean certainty of each choice, as `_counts` asks the database for them."""
    found: dict[str, Any] = {}
    for choice in Choice.values:
        stated = [each for each in by_choice.get(choice, ()) if each is not None]
        found[f"n_{choice}"] = len(by_choice.get(choice, ()))
        found[f"certainty_{choice}"] = fmean(stated) if stated else None
    return found


def run_aggregates(
    study: Study, items: Sequence[str] | None = None, *, run_id: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yield every run's verdict on every item, by judge and run.

    Or only on the items with the keys `items`, or only those of the run `run_id`. An item without
    a readable reply has a row without a verdict.
    """
    judgments: QuerySet[Judgment] = Judgment.objects.filter(
        run__study=study, item__split=Item.Split.MAIN
    ).exclude(state__in=Judgment.OPEN)
    if items is not None:
        judgments = judgments.filter(item__study=study, item__key__in=items)
    if run_id is not None:
        judgments = judgments.filter(run=run_id)
    counted: QuerySet[Judgment, Any] = (
        judgments.values("run__key", key=F("item__key"), truth=F("item__first_person"))
        .annotate(
            judge=F("run__judge__name"),
            setting=F("run__setting"),
            features=F("run__features"),
            bias_probe=F("run__bias_probe"),
            **_counts(),
        )
        .order_by("judge", "run__key", "key")
    )
    for row in counted.iterator(chunk_size=_CHUNK):
        yield {
            "rater_kind": "model",
            "rater_id": row["judge"],
            "run": row["run__key"],
            "setting": row["setting"],
            "features": row["features"],
            "bias_probe": row["bias_probe"] or None,
            **_verdict(row, offers_tie=protocol(row["setting"]).offers_tie),
        }


def _counts() -> dict[str, Any]:
    """Count the answers for each choice, with their mean certainty."""
    counts: dict[str, Any] = {}
    for choice in Choice.values:
        chose = Q(choice=choice)
        counts[f"n_{choice}"] = Count("pk", filter=chose)
        counts[f"certainty_{choice}"] = Avg("certainty", filter=chose)
    return counts


def _verdict(row: dict[str, Any], *, offers_tie: bool) -> dict[str, Any]:
    votes = {choice: row[f"n_{choice}"] for choice in Choice.values}
    total, most = sum(votes.values()), max(votes.values())
    winners = [choice for choice, count in votes.items() if count == most]
    truth = row["truth"] or None
    found: dict[str, Any] = {
        "item_id": row["key"],
        "answers": total,
        **votes,
        "first_person": truth,
    }
    if not total:
        return found | {"verdict_reason": "no_answers"}
    if len(winners) > 1:
        return found | {"verdict_reason": "tied"}
    scored = truth is not None and (truth != Choice.TIE or offers_tie)
    return found | {
        "verdict": winners[0],
        "share": most / total,
        "certainty": row[f"certainty_{winners[0]}"],
        "correct": winners[0] == truth if scored else None,
    }
