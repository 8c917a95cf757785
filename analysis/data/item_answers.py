"""The answers of annotators and judges to one item, for its page."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Case, F, Q, QuerySet, Value, When
from django.http import Http404

from analysis.data.answer_rows import COUNTED, SetPairs
from analysis.data.extras import ANSWER_WORDS
from analysis.data.item_comparisons import annotator_aggregates, run_aggregates
from annotation.content.texts import setting_of
from annotation.files.answers_out import side_of
from annotation.models import Annotation
from judging.engine.messages import as_text, prompt_sha256
from judging.models import JudgeRun, Judgment
from judging.prompts.asking import messages_of
from studies.models import Choice, Item, Side, Study
from studies.personas import in_few_words
from studies.prompts import build_prompt

_LABELS = dict(Choice.choices)


@dataclass(frozen=True)
class GivenAnswer:
    """An annotator's answer; unknown values are None or empty."""

    annotator: str
    answer: str
    side: str
    certainty: int | None
    shown_first: str
    position: int
    answered_at: datetime | None
    active_seconds: float | None
    elapsed_seconds: float | None
    changes: int
    media_missing: bool
    translated: str
    initial_media_missing: bool
    standing: str
    is_counted: bool
    is_excluded: bool
    is_right: bool | None
    ranking: str = ""  # the numbers of a whole set as ranked
    added: Sequence[str] = ()  # what extras say of it


@dataclass(frozen=True)
class ItemVerdict:
    """The verdict of the annotators or of a run; empty, with a reason, if there is none."""

    answer: str = ""
    reason: str = "no answers"
    answers: int = 0
    votes: Mapping[str, int] | None = None
    share: float | None = None
    certainty: float | None = None
    is_right: bool | None = None


@dataclass(frozen=True)
class ItemReading:
    """A judgment with its requests and the rebuilt prompt.

    `is_prompt_sent` is True if the prompt has the stored hash, False if it has another, None if no
    hash was stored.
    """

    judgment: Judgment
    answer: str
    prompt: str
    is_prompt_sent: bool | None


@dataclass(frozen=True)
class RunOnItem:
    """A run's verdict on an item, and the judgments behind it."""

    run: JudgeRun
    features: str
    verdict: ItemVerdict
    readings: Sequence[ItemReading] = ()


def get_item(study: Study, key: str) -> Item:
    """An item of `study` with its persona, otherwise 404."""
    try:
        item = Item.everything.select_related("persona").get(study=study, key=key)
    except Item.DoesNotExist:
        raise Http404 from None
    item.study = study
    return item


def answers_to(item: Item) -> QuerySet[Annotation]:
    """The answers to an item without withdrawn ones, counted ones first.

    If annotators see sets, with the answers to the item's whole set.
    """
    of_set = Q(assignment__item__in=SetPairs(item.study, [item.key]).items, ranking__isnull=False)
    return (
        Annotation.objects.filter(Q(assignment__item=item) | of_set)
        .exclude(standing=Annotation.Standing.WITHDRAWN)
        .select_related("assignment__annotator")
        .annotate(initial_media_missing=F("assignment__initial_answer__media_missing"))
        .order_by(
            Case(When(standing__in=COUNTED, then=Value(0)), default=Value(1)),
            "assignment__annotator__pseudonym",
        )
    )


def as_given(item: Item, answers: Iterable[Annotation]) -> list[GivenAnswer]:
    answers = list(answers)
    ids = [answer.pk for answer in answers]
    added: defaultdict[int, list[str]] = defaultdict(list)
    for words in ANSWER_WORDS:
        for pk, lines in words.of_answers(ids).items():
            added[pk] += lines
    return [_given(item, answer, added[answer.pk]) for answer in answers]


def _given(item: Item, answer: Annotation, added: Sequence[str]) -> GivenAnswer:
    assignment, annotator = answer.assignment, answer.assignment.annotator
    choice, first, ranking = answer.choice, assignment.shown_first, answer.ranking
    if ranking is not None:
        choice, first = item.choice_of(ranking["ranking"]), item.choice_of(ranking["shown"])
    # The letters on a screen with a whole set differ from this pair's.
    side = None if ranking is not None else side_of(choice, first)
    return GivenAnswer(
        annotator=annotator.pseudonym,
        answer=_LABELS[choice],
        side=side if side in ("A", "B") else "",
        certainty=answer.certainty,
        shown_first=str(dict(Side.choices).get(first, first)),
        position=assignment.position,
        answered_at=answer.answered_at,
        active_seconds=_seconds(answer.active_ms),
        elapsed_seconds=_seconds(answer.elapsed_ms),
        changes=answer.revision - 1,
        media_missing=answer.media_missing,
        translated=answer.get_translated_display() if answer.translated else "",
        initial_media_missing=bool(answer.initial_media_missing),  # type: ignore[attr-defined]
        standing=answer.get_standing_display(),
        is_counted=answer.standing in COUNTED and annotator.excluded_at is None,
        is_excluded=annotator.excluded_at is not None,
        is_right=_is_right(item, choice, offers_tie=item.study.allow_tie),
        ranking=", ".join(map(str, ranking["ranking"])) if ranking else "",
        added=added,
    )


@dataclass(frozen=True)
class ReasonsOnItem:
    """What people wrote about an item, and the replies of a run, each with its choice."""

    people: Sequence[tuple[str, str]]
    judge: Sequence[tuple[str, str]]


def reasons_on(items: Collection[int], run_id: int | None) -> dict[int, ReasonsOnItem]:
    """Reasons by the ids of items; only of items for which people gave some."""
    people: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
    for words in ANSWER_WORDS:
        for item, reasons in words.reasons(items).items():
            people[item] += reasons
    replies: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
    if people and run_id is not None:
        judgments = Judgment.objects.filter(run=run_id, item__in=people, state=Judgment.State.DONE)
        for judgment in judgments.order_by("item", "sample", "shown_first"):
            if reply := judgment.reply_text.strip():
                replies[judgment.item_id].append((_LABELS.get(judgment.choice, ""), reply))
    return {item: ReasonsOnItem(reasons, replies[item]) for item, reasons in people.items()}


def shown_with(item: Item) -> str:
    """The key of the item that shows annotators this one's whole set; empty without one."""
    if item.seats_needed or not item.option_set:
        return ""
    of_set = Item.objects.filter(pk__in=SetPairs(item.study, [item.key]).items, seats_needed__gt=0)
    return of_set.values_list("key", flat=True).first() or ""


def majority_on(item: Item) -> ItemVerdict:
    """The majority of the answers that count, by the rules of the report."""
    return next(map(_verdict, annotator_aggregates(item.study, [item.key])), ItemVerdict())


def runs_on(item: Item) -> list[RunOnItem]:
    """Every run with a closed judgment of the item, by judge, without the judgments."""
    runs = {run.key: run for run in item.study.judge_runs.select_related("judge")}
    known = {feature["key"] for feature in item.persona.features}
    runs_on_item = [
        RunOnItem(run, _shown(run, known), _verdict(row))
        for row in run_aggregates(item.study, [item.key])
        if (run := runs.get(row["run"]))
    ]
    order = {"all": 0}
    return sorted(
        runs_on_item, key=lambda one: (one.run.judge.name, order.get(one.run.features, 1))
    )


def _shown(run: JudgeRun, known: set[str]) -> str:
    """The part of the persona that a run showed, and how it changed prompts, in a few words."""
    features = in_few_words(run.features, known)
    return f"{features}, bias probe {run.bias_probe}" if run.bias_probe else features


def with_readings(item: Item, runs: Sequence[RunOnItem]) -> list[RunOnItem]:
    """The same runs with their judgments and requests, in two queries."""
    readings: defaultdict[int, list[ItemReading]] = defaultdict(list)
    by_id = {one.run.pk: one.run for one in runs}
    judgments = (
        Judgment.objects.filter(item=item, run__in=by_id)
        .exclude(state__in=Judgment.OPEN)
        .prefetch_related("attempts")
        .order_by("run", "sample", "shown_first")
    )
    for judgment in judgments:
        run = by_id[judgment.run_id]
        run.study = item.study  # saves a query for each run
        judgment.run = run
        readings[run.pk].append(_reading(run, item, judgment))
    return [
        RunOnItem(one.run, one.features, one.verdict, tuple(readings[one.run.pk])) for one in runs
    ]


def prompt_to_a_judge(item: Item) -> tuple[str, str]:
    """The protocol that matches the annotators' wording, and its prompt with response 1 first."""
    setting = setting_of(item.study)
    return setting, build_prompt(item, setting=setting, shown_first=Side.R1)


def _reading(run: JudgeRun, item: Item, judgment: Judgment) -> ItemReading:
    answer = _LABELS.get(judgment.choice, "")
    if run.is_imported or not judgment.shown_first:
        return ItemReading(judgment, answer, "", None)
    messages = messages_of(run, item, shown_first=judgment.shown_first)
    stored = judgment.prompt_sha256
    is_sent = stored == prompt_sha256(messages) if stored else None
    return ItemReading(judgment, answer, as_text(messages), is_sent)


def _verdict(row: Mapping[str, Any]) -> ItemVerdict:
    answer = row.get("verdict")
    votes = {_LABELS[choice]: row[choice] for choice in Choice.values if row[choice]}
    reason = {"tied": "tied", "no_answers": "no readable reply"}.get(row.get("verdict_reason", ""))
    return ItemVerdict(
        answer=_LABELS[answer] if answer else "",
        reason=reason or "",
        answers=row["answers"],
        votes=votes,
        share=row.get("share"),
        certainty=row.get("certainty"),
        is_right=row.get("correct"),
    )


def _is_right(item: Item, choice: str, *, offers_tie: bool) -> bool | None:
    truth = item.check_answer or item.first_person
    if not truth or (truth == Choice.TIE and not offers_tie):
        return None
    return choice == truth


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
