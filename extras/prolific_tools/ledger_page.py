"""The page and the command that list every amount next to Prolific's figures."""

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotation.prolific.additions import ProlificAction, ProlificPart
from annotation.prolific.pages.views import attempt, editor_page, show
from extras.prolific_tools.ledger import (
    COLUMNS,
    LedgerEntry,
    LedgerLine,
    csv_rows,
    ledger_of,
    read_costs,
)
from studies.exporters.tables import CsvWriter
from studies.models import Study
from studies.money import format_money
from studies.pages.responses import csv_response

_SHOWN = 200


@require_http_methods(["GET", "POST"])
@editor_page
def money_page(request: HttpRequest, study: Study) -> HttpResponse:
    """Every amount that we sent or know of; posting asks Prolific for its figures."""
    if request.method == "POST":
        attempt(
            request,
            lambda: read_costs(study_id=study.pk),
            lambda n: f"Figures of {n} {'study' if n == 1 else 'studies'} refreshed from Prolific.",
        )
        return redirect("prolific_tools:money", study.slug)
    ledger = ledger_of(study)
    context = {
        "found": ledger,
        "lines": [_line(line) for line in ledger.lines],
        "entries": [_entry(entry) for entry in ledger.entries[:_SHOWN]],
        "shown": min(_SHOWN, len(ledger.entries)),
        "number": len(ledger.entries),
    }
    return show(request, study, "payments", context)


def _text(line: LedgerLine, amount: int | None) -> str:
    if amount is None:
        return "unknown"
    return f"{amount:,}" if line.is_count else format_money(amount, line.currency)


def _line(line: LedgerLine) -> dict[str, object]:
    difference = line.difference
    return {
        "name": line.name,
        "ours": _text(line, line.ours),
        "theirs": _text(line, line.theirs),
        "difference": "–" if difference is None else _text(line, difference),
        "differs": line.differs,
    }


def _entry(entry: LedgerEntry) -> dict[str, object]:
    def text(amount: int | None) -> str:
        return "–" if amount is None else format_money(amount, entry.currency)

    return {"entry": entry, "amount": text(entry.amount), "fees": text(entry.fees)}


@require_http_methods(["GET"])
@editor_page
def money_file(request: HttpRequest, study: Study) -> HttpResponse:
    """Every entry of the ledger as CSV."""
    return csv_response(f"{study.slug}-money", COLUMNS, csv_rows(ledger_of(study)))


def _lines(study: Study, options: Mapping[str, Any]) -> Iterator[str]:
    read_costs(study_id=study.pk)
    ledger = ledger_of(study)
    for line in ledger.lines:
        ours, theirs = (_text(line, amount) for amount in (line.ours, line.theirs))
        mark = "DIFFERS " if line.differs else "        "
        yield f"{mark}{line.name:<26} ours {ours:>12}  Prolific {theirs:>12}"
    if ledger.waiting:
        yield f"Unconfirmed bonus payments: {ledger.waiting}."
    if options["out"]:
        with Path(options["out"]).open("w", encoding="utf-8", newline="") as file:
            writer = CsvWriter(file)
            writer.row(COLUMNS)
            writer.rows(csv_rows(ledger))
        yield f"Wrote {len(ledger.entries):,} payments to {options['out']}."


def _options(parser: ArgumentParser) -> None:
    parser.add_argument("--out", metavar="FILE", help="write the payments to this CSV file")


LEDGER = ProlificAction(
    "ledger", "compare every amount with Prolific's figures and mark differences", _lines, _options
)
HOME_LINK = ProlificPart("ledger", "home", "annotation/prolific/payments_on_home.html")
SETTLE_LINK = ProlificPart(
    "ledger of settling", "settle", "annotation/prolific/payments_on_settle.html"
)
