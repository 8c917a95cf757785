"""What views of every app share: numbers from requests, long lists, CSV, pages in frames."""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.clickjacking import xframe_options_sameorigin

from studies.exporters.tables import CsvWriter
from studies.statements.kept_figures import LARGE, kept

REFUSED = 422  # the status of a page that shows a form again with its errors
LARGEST_ID = 2**63 - 1  # the largest number that a database can store
_MOST_DIGITS = len(str(LARGEST_ID))


LAUNCH = "launch"  # the value of “back” in addresses of pages that fix a launch check


def onward(request: HttpRequest, slug: str, page: str) -> HttpResponse:
    """Redirect to the next page of a study, or back to the launch page if the user came from it."""
    return redirect("studies:launch" if request.GET.get("back") == LAUNCH else page, slug)


def whole_number(text: str, *, most: int = LARGEST_ID) -> int | None:
    """The whole number from 0 to `most` that `text` states; None for anything else."""
    text = text.strip()
    if not text.isascii() or not text.isdigit() or len(text.lstrip("0")) > _MOST_DIGITS:
        return None
    number = int(text[-_MOST_DIGITS:])
    return number if number <= most else None


class LongList(Paginator):
    """A paginator for large lists: finds the ids of a page from the nearer end, then its rows.

    `name` and `key` identify the list: a large list is not counted for every page.
    """

    object_list: QuerySet[Any]

    def __init__(self, rows: QuerySet[Any], per_page: int, *, name: str, key: object) -> None:
        super().__init__(rows, per_page)
        self.count = kept(name, key, count=rows.count, rows=int)

    def page(self, number: int | str) -> Page:
        if self.count <= LARGE:
            return super().page(number)
        number = self.validate_number(number)
        first = (number - 1) * self.per_page
        end = min(first + self.per_page, self.count)
        ids = self.object_list.prefetch_related(None).values_list("pk", flat=True)
        if first < self.count / 2:
            page_ids = list(ids[first:end])
        else:
            page_ids = list(ids.reverse()[self.count - end : self.count - first])[::-1]
        rows = self.object_list.in_bulk(page_ids)
        return Page([rows[pk] for pk in page_ids if pk in rows], number, self)


def csv_response(name: str, header: Iterable[str], rows: Iterable[Iterable[Any]]) -> HttpResponse:
    """The rows as the file `name`.csv; `name` contains only letters, digits, - and _."""
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    writer = CsvWriter(response)
    writer.row(header)
    writer.rows(rows)
    return response


def framed_here(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Let only this site show the page in a frame; all other pages refuse frames."""

    @wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        response.policy_changes = {"frame-ancestors": "'self'"}  # type: ignore[attr-defined]
        return response

    return xframe_options_sameorigin(wrapper)


def with_frames(response: HttpResponse) -> HttpResponse:
    """Let a page show pages of this site in frames."""
    response.policy_changes = {"frame-src": "'self'"}  # type: ignore[attr-defined]
    return response
