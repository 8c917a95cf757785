"""The money of a study's recruiting: the ledger, Prolific's figures, and the ledger as a file."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotation.prolific.pages.views import attempt, editor_page, show
from annotation.prolific.settle.money_ledger import (
    COLUMNS,
    LedgerEntry,
    LedgerLine,
    csv_rows,
    ledger_of,
    read_costs,
)
from studies.models import Study
from studies.money import format_money
from studies.pages.csv_response import csv_response

_SHOWN = 200


@require_http_methods(["GET", "POST"])
@editor_page
def money(request: HttpRequest, study: Study) -> HttpResponse:
    """Every amount that we sent or know of; posting asks Prolific for its own figures."""
    if request.method == "POST":
        attempt(
            request,
            lambda: read_costs(study_id=study.pk),
            lambda n: f"Figures of {n} {'study' if n == 1 else 'studies'} refreshed from Prolific.",
        )
        return redirect("people:prolific-money", study.slug)
    found = ledger_of(study)
    context = {
        "found": found,
        "lines": [_line(line) for line in found.lines],
        "entries": [_entry(entry) for entry in found.entries[:_SHOWN]],
        "shown": min(_SHOWN, len(found.entries)),
        "number": len(found.entries),
    }
    return show(request, study, "money", context)


def _line(line: LedgerLine) -> dict[str, object]:
    def text(amount: int | None) -> str:
        if amount is None:
            return "unknown"
        return f"{amount:,}" if line.is_count else format_money(amount, line.currency)

    difference = line.difference
    return {
        "name": line.name,
        "ours": text(line.ours),
        "theirs": text(line.theirs),
        "difference": "–" if difference is None else text(difference),
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
