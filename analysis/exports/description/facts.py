"""What a bundle says about itself: how people and models were asked, and what came of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from html import unescape
from typing import Any

import nh3
from django.db.models import Count, Max, Min, Q, QuerySet, Sum
from django.utils import translation

from analysis.exports.tables.catalogue import Leaving
from analysis.exports.tables.columns import Column
from analysis.exports.tables.pseudonyms import K
from annotation.content.texts import consent_text, instructions_text
from annotation.models import Annotation, Annotator, ComprehensionQuestion, QuotaCell
from judging.models import JudgeRun, Judgment
from studies.models import Item, Study


@dataclass(frozen=True)
class File:
    """A file of the bundle: where it lies in it, how large it is, what it hashes to."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Part:
    """A table of the bundle and its files, by format."""

    name: str
    columns: tuple[Column, ...]
    rows: int
    files: dict[str, File]


@dataclass(frozen=True)
class RunFacts:
    judge: str
    model: str
    snapshots: tuple[str, ...]
    backend: str
    setting: str
    features: str
    orders: str
    samples: int
    temperature: float | None
    top_p: float | None
    days: str
    judgments: int
    replies: int
    failed: dict[str, int]


@dataclass
class Score:
    """How often the verdicts of one rater are the persons' own answers."""

    items: int = 0
    tied: int = 0
    scored: int = 0
    correct: int = 0

    def add(self, row: dict[str, Any]) -> None:
        self.items += 1
        self.tied += row["verdict_reason"] == "tied"
        self.scored += row["correct"] is not None
        self.correct += row["correct"] is True


@dataclass(frozen=True)
class Description:
    """Everything that card and metadata tell; nothing in it names a person."""

    study: Study
    on: date
    licence: str
    leaving: Leaving
    parts: tuple[Part, ...]
    left_out: tuple[str, ...]
    report: str
    scores: dict[str, Score]
    people: dict[str, int]
    came: bool
    standings: dict[str, int]
    excluded_people: int
    quota: list[tuple[str, int, str]]
    attention_checks: int
    comprehension_questions: int
    consent: str
    instructions: str
    runs: tuple[RunFacts, ...]
    days: str
    readings: tuple[dict[str, Any], ...]


class ScoreKeeper:
    """Watches the aggregates on their way into a file."""

    def __init__(self) -> None:
        self.scores: dict[str, Score] = {}

    def watch(self, rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for row in rows:
            name = row["rater_id"]
            if row["run"]:
                name = f"{name}, {row['setting']}, {row['features']} ({row['run'][:8]})"
            self.scores.setdefault(name, Score()).add(row)
            yield row


def describe(
    study: Study,
    *,
    on: date,
    licence: str,
    leaving: Leaving,
    parts: tuple[Part, ...],
    left_out: tuple[str, ...],
    report: str,
    scores: dict[str, Score],
) -> Description:
    """Gather it: a dozen queries, however large the study is."""
    answers = Annotation.objects.filter(
        assignment__annotator__study=study, assignment__item__split=Item.Split.MAIN
    )
    times = answers.aggregate(first=Min("answered_at"), last=Max("answered_at"))
    own = Annotator.objects.filter(study=study)
    with translation.override(study.language):
        consent, instructions = _plain(consent_text(study).html), _plain(instructions_text(study))
    return Description(
        study=study,
        on=on,
        licence=licence,
        leaving=leaving,
        parts=parts,
        left_out=left_out,
        report=report,
        scores=scores,
        people=dict(own.values_list("state").annotate(n=Count("pk")).order_by("state")),
        came=own.filter(is_imported=False).exists(),
        standings=dict(
            answers.values_list("standing").annotate(n=Count("pk")).order_by("standing")
        ),
        excluded_people=own.exclude(excluded_at=None).count(),
        quota=[_cell(cell) for cell in QuotaCell.objects.filter(study=study)],
        attention_checks=Item.everything.filter(
            study=study, split=Item.Split.ATTENTION_CHECK
        ).count(),
        comprehension_questions=ComprehensionQuestion.objects.filter(study=study).count(),
        consent=consent,
        instructions=instructions,
        runs=tuple(_runs(study)),
        days=_between(times["first"], times["last"]),
        readings=_readings(study),
    )


def _cell(cell: QuotaCell) -> tuple[str, int, str]:
    """A group, its places, and how many came: small numbers stay inside."""
    return str(cell), cell.target, f"{cell.completed}" if cell.completed >= K else f"under {K}"


def _plain(html: str) -> str:
    """The text, one line a paragraph; headings are bold and entries have a dash, as in Markdown."""
    marked = " ".join(html.split())
    for tag, sign in _MARKS.items():
        marked = marked.replace(tag, sign)
    lines = unescape(nh3.clean(marked, tags=set())).splitlines()
    return "\n".join(filter(None, (" ".join(line.split()) for line in lines)))


_MARKS = {
    "<h2>": "\n**", "</h2>": "**\n", "<p>": "\n", "</p>": "\n", "<li>": "\n- ", "</li>": "\n",
    "<dt>": "\n", "</dt>": ":", "</dd>": "\n",
}  # fmt: skip


def _runs(study: Study) -> Iterator[RunFacts]:
    asked = Judgment.objects.filter(run__study=study, item__split=Item.Split.MAIN)
    failed = ("unparseable", "refused", "skipped", "error")
    counted: QuerySet[Judgment, Any] = (
        asked.exclude(state__in=Judgment.OPEN)
        .values("run")
        .annotate(
            judgments=Count("pk"),
            replies=Sum("replies"),
            first=Min("answered_at"),
            last=Max("answered_at"),
            **{state: Count("pk", filter=Q(state=state)) for state in failed},
        )
        .order_by()
    )
    counts = {row["run"]: row for row in counted}
    snapshots: dict[int, list[str]] = {}
    told = asked.values_list("run", "model_snapshot").distinct().order_by("model_snapshot")
    for run_id, snapshot in told:
        snapshots.setdefault(run_id, []).append(snapshot)
    runs = JudgeRun.objects.filter(pk__in=counts).select_related("judge")
    for run in runs.order_by("judge__name", "setting", "features", "key"):
        found = counts[run.pk]
        yield RunFacts(
            judge=run.judge.name,
            model=run.parameters.get("model") or run.judge.model,
            snapshots=tuple(filter(None, snapshots[run.pk])),
            backend=run.judge.get_backend_display(),
            setting=run.setting,
            features=run.features,
            orders=run.get_orders_display(),
            samples=run.samples,
            temperature=run.parameters.get("temperature"),
            top_p=run.parameters.get("top_p"),
            days=_between(found["first"], found["last"]),
            judgments=found["judgments"],
            replies=found["replies"] or 0,
            failed={state: found[state] for state in failed if found[state]},
        )


def _between(first: datetime | None, last: datetime | None) -> str:
    """The days of the first and the last answer; empty where no time is known."""
    if first is None or last is None:
        return ""
    days = sorted({first.date().isoformat(), last.date().isoformat()})
    return " to ".join(days)


def _readings(study: Study) -> tuple[dict[str, Any], ...]:
    """How the items were read, in the order of reading."""
    entries = study.log.filter(event="items imported").order_by("created_at", "pk")
    return tuple(reading for entry in entries for reading in entry.detail.get("read", []))
