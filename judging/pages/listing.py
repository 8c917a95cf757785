"""Lists of runs and judgments as a page shows them: filtered, sorted, and as CSV."""

from collections.abc import Callable, Iterable
from typing import Any

from django.db.models import F, OrderBy, QuerySet
from django.http import HttpResponse

from judging.models import JudgeRun, Judgment
from judging.selectors import RunRow
from studies.pages.csv_response import csv_response

# Columns of the runs' table: name in the address, words, and what is compared.
RUN_COLUMNS: dict[str, tuple[str, Callable[[RunRow], Any]]] = {
    "judge": ("Judge", lambda row: (row.run.judge.name.casefold(), row.run.pk)),
    "state": ("State", lambda row: row.run.state_words),
    "done": ("Done", lambda row: row.progress.done),
    "left": ("Left", lambda row: row.progress.left),
    "speed": ("Per minute", lambda row: row.speed),
    "unread": ("Unparseable, refused", lambda row: row.progress.unparseable + row.progress.refused),
    "retries": ("Retries", lambda row: row.run.retries),
    "tokens": ("Tokens", lambda row: row.run.tokens),
    "cost": ("Cost", lambda row: row.run.spent_nano),
}
_ITEM = ("item__key", "shown_first", "sample")
JUDGMENT_SORTS: dict[str, tuple[str, tuple[str | OrderBy, ...]]] = {
    "": ("item", _ITEM),
    "latest": ("latest answer", (F("answered_at").desc(nulls_last=True), *_ITEM)),
    "certain": ("highest certainty", (F("certainty").desc(nulls_last=True), *_ITEM)),
    "uncertain": ("lowest certainty", (F("certainty").asc(nulls_last=True), *_ITEM)),
    "replies": ("most replies", ("-replies", *_ITEM)),
}


def sort_runs(rows: list[RunRow], sort: str) -> list[RunRow]:
    """Rows by a column of `RUN_COLUMNS`, downwards with a minus before it; else as they are."""
    column = RUN_COLUMNS.get(sort.removeprefix("-"))
    return sorted(rows, key=column[1], reverse=sort.startswith("-")) if column else rows


def filter_runs(
    runs: QuerySet[JudgeRun], *, state: str = "", search: str = "", campaign: str = ""
) -> QuerySet[JudgeRun]:
    if state:
        runs = runs.filter(state=state)
    if search:
        runs = runs.filter(judge__name__icontains=search)
    if campaign:
        runs = runs.filter(campaigns__public_id=campaign)
    return runs


def runs_csv(rows: Iterable[RunRow], *, name: str) -> HttpResponse:
    header = [
        "run",
        "judge",
        "model",
        "setting",
        "features",
        "orders",
        "samples",
        "state",
        "reason",
        "done",
        "left",
        "unparseable",
        "refused",
        "skipped",
        "failed",
        "retries",
        "tokens",
        "cost_usd",
        "started_at",
    ]
    return csv_response(name, header, (_run_cells(row) for row in rows))


def _run_cells(row: RunRow) -> list[Any]:
    run, progress = row.run, row.progress
    return [
        run.key[:12],
        run.judge.name,
        run.judge.model,
        run.setting,
        run.features,
        run.orders,
        run.samples,
        run.state_words,
        run.sentence,
        progress.done,
        progress.left,
        progress.unparseable,
        progress.refused,
        progress.skipped,
        progress.error,
        run.retries,
        run.tokens,
        run.spent if run.judge.is_priced and not run.is_imported else None,
        run.started_at.isoformat(timespec="seconds") if run.started_at else None,
    ]


def judgments_csv(judgments: QuerySet[Judgment], *, name: str) -> HttpResponse:
    header = [
        "item_id",
        "shown_first",
        "sample",
        "state",
        "choice",
        "certainty",
        "replies",
        "reply",
        "reason",
        "model",
        "answered_at",
    ]
    rows = (_judgment_cells(judgment) for judgment in judgments.iterator(chunk_size=2000))
    return csv_response(name, header, rows)


def _judgment_cells(judgment: Judgment) -> list[Any]:
    answered = judgment.answered_at
    return [
        judgment.item.key,
        judgment.shown_first,
        judgment.sample,
        judgment.state,
        judgment.choice,
        judgment.certainty,
        judgment.replies,
        judgment.raw_text,
        judgment.error,
        judgment.model_snapshot,
        answered.isoformat(timespec="seconds") if answered else None,
    ]
