"""One answer per item from all annotators and from each run, for comparison.

The rules are the report's: the majority of counted answers, no verdict if tied, the mean certainty
of those who chose the verdict, and “tie” is not scored if no tie was offered.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from statistics import fmean
from typing import Any

from django.db.models import Avg, Count, F, Max, Q, QuerySet, Sum
from django.db.models.fields.json import KT

from analysis.data.answer_rows import COUNTED, SetPairs
from annotation.content.texts import setting_of
from annotation.models import Annotation, Annotator
from judging.models import JudgeRun, Judgment
from judging.protocols.registry import protocol
from judging.selectors import labels_of
from studies.models import Choice, Item, Persona, Study

_ROWS_PER_READ = 2_000


def aggregate_rows(study: Study) -> Iterator[dict[str, Any]]:
    """Yield the annotators' verdicts, then each run's, without rows for unanswered items."""
    return chain(annotator_aggregates(study), run_aggregates(study))


def table_sizes(study: Study) -> dict[str, int]:
    """Estimate the rows of each table of the study; "main_items" are the items that count."""
    items = Item.objects.filter(study=study).count()
    asked = Judgment.objects.filter(run__study=study)
    return {
        "main_items": items,
        "items": Item.everything.filter(study=study).count(),
        "annotations": Annotation.objects.filter(assignment__annotator__study=study).count(),
        "judgments": asked.count(),
        "annotators": study.annotators.count(),
        "aggregates": items + asked.values("run", "item").distinct().count(),
    }


def annotator_aggregates(
    study: Study, items: Sequence[str] | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the majority of annotators for every answered item, by item key.

    `items` limits this to the items with these keys.
    """
    answers = Annotation.objects.filter(
        assignment__annotator__study=study,
        assignment__annotator__excluded_at=None,
        assignment__item__split=Item.Split.MAIN,
        standing__in=COUNTED,
    )
    if study.shows_whole_sets:
        rows = _with_pairs(study, answers, items)
    else:
        if items is not None:
            # The study is repeated so that the index on keys is used.
            answers = answers.filter(assignment__item__study=study, assignment__item__key__in=items)
        rows = _counted(answers)
    setting = setting_of(study)
    for row in rows:
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
    yield from counted.iterator(chunk_size=_ROWS_PER_READ)


def _with_pairs(
    study: Study, answers: QuerySet[Annotation], items: Sequence[str] | None
) -> Iterator[dict[str, Any]]:
    """The same rows, where rankings of whole sets answer pairs without their own answer."""
    pairs = SetPairs(study, items)
    if items is not None:
        named = Q(assignment__item__study=study, assignment__item__key__in=items)
        answers = answers.filter(named | Q(assignment__item__in=pairs.items))
    certainties: dict[tuple[str, str], dict[str, list[int | None]]] = {}
    stored = answers.values_list(
        "assignment__item",
        "assignment__item__key",
        "assignment__item__first_person",
        "choice",
        "certainty",
        "ranking",
    )
    for item, key, truth, choice, certainty, ranking in stored.iterator(chunk_size=_ROWS_PER_READ):
        choices = [(key, truth, choice)]
        if ranking is not None:
            choices = [(pair.key, pair.truth, pair.choice) for pair in pairs.answers(item, ranking)]
        for key, truth, choice in choices:
            certainties.setdefault((key, truth), {}).setdefault(choice, []).append(certainty)
    wanted = None if items is None else set(items)
    for (key, truth), by_choice in sorted(certainties.items()):
        if wanted is None or key in wanted:
            yield {"key": key, "truth": truth} | _of_choices(by_choice)


def _of_choices(by_choice: Mapping[str, Sequence[int | None]]) -> dict[str, Any]:
    """The count and the mean certainty of each choice, as `_counts` asks the database for them."""
    counts: dict[str, Any] = {}
    for choice in Choice.values:
        stated = [certainty for certainty in by_choice.get(choice, ()) if certainty is not None]
        counts[f"n_{choice}"] = len(by_choice.get(choice, ()))
        counts[f"certainty_{choice}"] = fmean(stated) if stated else None
    return counts


def run_aggregates(
    study: Study, items: Sequence[str] | None = None, *, run_id: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yield every run's verdict on every item, by judge and run.

    `items` and `run_id` limit this to some items or one run. An item without a readable reply has a
    row without a verdict.
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
    for row in counted.iterator(chunk_size=_ROWS_PER_READ):
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
    compared: dict[str, Any] = {
        "item_id": row["key"],
        "answers": total,
        **votes,
        "first_person": truth,
    }
    if not total:
        return compared | {"verdict_reason": "no_answers"}
    if len(winners) > 1:
        return compared | {"verdict_reason": "tied"}
    scored = truth is not None and (truth != Choice.TIE or offers_tie)
    return compared | {
        "verdict": winners[0],
        "share": most / total,
        "certainty": row[f"certainty_{winners[0]}"],
        "correct": winners[0] == truth if scored else None,
    }


_CHUNK = 1_000
# Changes of existing items, as named in the log.
_EDITS = ("item edited", "persona edited")
# Most answers, judgments and items that are counted while a page waits.
SMALL = 2_000


@dataclass(frozen=True)
class ItemVerdicts:
    """An item with both verdicts, as rows of `aggregates`; None without any answer."""

    pk: int
    key: str
    topic: str
    sources: tuple[str, str]
    features: str
    people: Mapping[str, Any] | None
    judge: Mapping[str, Any] | None


@dataclass
class FilterChoices:
    """Filters for the items, with the number of items of each."""

    topics: Counter[str] = field(default_factory=Counter)
    sources: Counter[str] = field(default_factory=Counter)
    features: dict[str, Counter[str]] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)


def runs_to_compare(study: Study) -> list[JudgeRun]:
    """The runs that can be compared with annotators, those with the whole persona first.

    Runs that were only tested and never started, and runs with a bias probe, are not judges of the
    study.
    """
    rows = study.judge_runs.filter(probe_first=False, bias_probe="")
    runs = list(rows.select_related("judge", "wording"))
    return sorted(runs, key=lambda run: (run.features != "all", run.judge.name, run.pk))


def labelled(runs: Sequence[JudgeRun]) -> list[tuple[JudgeRun, str]]:
    """Each run with its name, for a list of choices."""
    labels = labels_of(runs)
    return [(run, labels[run.pk]) for run in runs]


def find_run(
    study: Study, public_id: str, runs: Sequence[JudgeRun] | None = None
) -> JudgeRun | None:
    """The run in an address, or the first that can be compared; None if there is none."""
    runs = runs_to_compare(study) if runs is None else runs
    return next((run for run in runs if run.public_id == public_id), next(iter(runs), None))


def mark_of(key: str, value: str) -> str:
    """A short text for a persona feature that any database can search."""
    return hashlib.blake2b(f"{key}\0{value}".encode(), digest_size=6).hexdigest()


def is_small(study: Study, run: JudgeRun | None) -> bool:
    """Whether a page can compare the items itself; stops counting once this is clear."""
    counted = [(Item.objects.filter(study=study), SMALL), (_answers(study), 4 * SMALL)]
    if run is not None:
        counted.append((Judgment.objects.filter(run=run), 4 * SMALL))
    return all(rows.order_by()[: limit + 1].count() <= limit for rows, limit in counted)


def fingerprint_of(study: Study, runs: Iterable[JudgeRun]) -> str:
    """A hash that changes with the compared data: answers, exclusions, judgments."""
    counts: dict[str, Any] = Item.objects.filter(study=study).aggregate(
        items=Count("pk"), last=Max("pk")
    )
    counts |= _answers(study).aggregate(
        answers=Count("pk"),
        revisions=Sum("revision"),
        last_answer=Max("pk"),
        counted=Sum("pk", filter=Q(standing__in=COUNTED)),
    )
    counts |= (
        Annotator.objects.filter(study=study)
        .exclude(excluded_at=None)
        .aggregate(excluded=Sum("pk"), exclusions=Count("pk"))
    )
    edits = study.log.filter(event__in=_EDITS).aggregate(last_edit=Max("pk"))
    states = []
    for run in runs:
        judgments = Judgment.objects.filter(run=run).order_by("state").values_list("state")
        states += [run.pk, list(judgments.annotate(n=Count("pk"), last=Max("answered_at")))]
    rules = (study.certainty_threshold, study.allow_tie)
    return hashlib.sha256(repr((counts, edits, states, rules)).encode()).hexdigest()


def _answers(study: Study) -> Any:
    return Annotation.objects.filter(assignment__annotator__study=study)


def verdict_chunks(
    study: Study, run: JudgeRun | None, choices: FilterChoices
) -> Iterator[list[ItemVerdicts]]:
    """The items that count, by key, in lists of a thousand; adds up `choices` meanwhile.

    Each list is read completely: an open cursor blocks writes on SQLite.
    """
    features: dict[int, tuple[str, list[tuple[str, str, str]]]] = {}
    after = ""
    while rows := _items(study, after):
        after = rows[-1][1]
        keys = [row[1] for row in rows]
        _read_features(features, {row[3] for row in rows})
        people = {row["item_id"]: row for row in annotator_aggregates(study, keys)}
        judged = {}
        if run is not None:
            judged = {row["item_id"]: row for row in run_aggregates(study, keys, run_id=run.pk)}
        verdicts = []
        for pk, key, topic, persona, maker_1, maker_2 in rows:
            marks, own = features[persona]
            sources = (maker_1 or "", maker_2 or "")
            _count(choices, topic, sources, own)
            verdicts.append(
                ItemVerdicts(pk, key, topic, sources, marks, people.get(key), judged.get(key))
            )
        yield verdicts


def _items(study: Study, after: str) -> list[tuple[Any, ...]]:
    items = Item.objects.filter(study=study, key__gt=after).order_by("key")
    # As text: SQLite reads a name or a response of digits as a number.
    makers = (KT(f"{side}__generated_by__name") for side in ("r1", "r2"))
    return list(items.values_list("pk", "key", "topic", "persona_id", *makers)[:_CHUNK])


def _read_features(
    known: dict[int, tuple[str, list[tuple[str, str, str]]]], personas: set[int]
) -> None:
    new = personas - known.keys()
    for pk, features in Persona.objects.filter(pk__in=new).values_list("pk", "features"):
        own = [(f["key"], f.get("label") or f["key"], str(f["value"])) for f in features]
        known[pk] = (" ".join(mark_of(key, value) for key, _, value in own), own)


def _count(
    choices: FilterChoices, topic: str, sources: tuple[str, str], own: list[tuple[str, str, str]]
) -> None:
    choices.topics[topic] += 1
    choices.sources.update(set(sources))
    for key, label, value in own:
        choices.labels.setdefault(key, label)
        choices.features.setdefault(key, Counter())[value] += 1
