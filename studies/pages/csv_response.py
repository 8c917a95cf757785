"""Lists of pages as CSV."""

from collections.abc import Iterable
from typing import Any

from django.http import HttpResponse

from studies.exporters.csv_out import CsvWriter


def csv_response(name: str, header: Iterable[str], rows: Iterable[Iterable[Any]]) -> HttpResponse:
    """The rows as the file `name`.csv; `name` contains only letters, digits, - and _."""
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    writer = CsvWriter(response)
    writer.row(header)
    writer.rows(rows)
    return response
