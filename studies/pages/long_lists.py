"""Pages of long lists: `?page=` works as always, and the last page costs no more than the first."""

from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet

from studies.statements.kept_figures import LARGE, kept


class LongList(Paginator):
    """A paginator that finds the ids of a page of a large list from the nearer end, then its rows.

    `name` and `key` say which list it is: a large one is not counted for every page.
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
            found = list(ids[first:end])
        else:
            found = list(ids.reverse()[self.count - end : self.count - first])[::-1]
        rows = self.object_list.in_bulk(found)
        return Page([rows[pk] for pk in found if pk in rows], number, self)
