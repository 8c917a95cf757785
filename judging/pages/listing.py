"""Lists of runs and judgments for pages: filtered, sorted, and as CSV."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from django.db.models import F, OrderBy, QuerySet
from django.http import HttpResponse

from judging.models import JudgeRun, Judgment
from judging.selectors import RunRow
from studies.pages.csv_response import csv_response

# Columns of the table of runs: name in the address, label, and sort key.
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
    """Rows by a column of `RUN_COLUMNS`, descending with a minus before it; else unchanged."""
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


# Columns of the files: header, and the cell of a row.
_RUN_CSV: dict[str, Callable[[RunRow], Any]] = {
    "run": lambda row: row.run.key[:12],
    "judge": lambda row: row.run.judge.name,
    "model": lambda row: row.run.judge.model,
    "setting": lambda row: row.run.setting,
    "features": lambda row: row.run.features,
    "bias_probe": lambda row: row.run.bias_probe,
    "orders": lambda row: row.run.orders,
    "samples": lambda row: row.run.samples,
    "state": lambda row: row.run.state_words,
    "reason": lambda row: row.run.sentence,
    "done": lambda row: row.progress.done,
    "left": lambda row: row.progress.left,
    "unparseable": lambda row: row.progress.unparseable,
    "refused": lambda row: row.progress.refused,
    "skipped": lambda row: row.progress.skipped,
    "failed": lambda row: row.progress.error,
    "retries": lambda row: row.run.retries,
    "tokens": lambda row: row.run.tokens,
    "cost_usd": lambda row: row.run.spent if row.run.is_billed else None,
    "started_at": lambda row: _seconds(row.run.started_at),
}
_JUDGMENT_CSV: dict[str, Callable[[Judgment], Any]] = {
    "item_id": lambda judgment: judgment.item.key,
    "shown_first": lambda judgment: judgment.shown_first,
    "sample": lambda judgment: judgment.sample,
    "state": lambda judgment: judgment.state,
    "choice": lambda judgment: judgment.choice,
    "certainty": lambda judgment: judgment.certainty,
    "replies": lambda judgment: judgment.replies,
    "reply": lambda judgment: judgment.raw_text,
    "read_as": lambda judgment: (judgment.details or {}).get("read"),
    "reason": lambda judgment: judgment.error,
    "model": lambda judgment: judgment.model_snapshot,
    "answered_at": lambda judgment: _seconds(judgment.answered_at),
}


def runs_csv(rows: Iterable[RunRow], *, name: str) -> HttpResponse:
    cells = ([cell(row) for cell in _RUN_CSV.values()] for row in rows)
    return csv_response(name, [*_RUN_CSV], cells)


def judgments_csv(judgments: QuerySet[Judgment], *, name: str) -> HttpResponse:
    found = judgments.iterator(chunk_size=2000)
    cells = ([cell(judgment) for cell in _JUDGMENT_CSV.values()] for judgment in found)
    return csv_response(name, [*_JUDGMENT_CSV], cells)


def _seconds(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="seconds") if moment else None
