"""The list of studies, and the items of one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db.models import Count, Max, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from studies.importers.items.storage import held_back_words
from studies.models import Item, Membership, Study, StudyLog
from studies.pages.listing import ARCHIVED, ITEM_SORTS, SORTS, find_items, list_studies, role_of
from studies.pages.responses import LongList, csv_response
from studies.pages.workbench import LIST_PARTS, ListCell, column_cells
from studies.selectors import get_study
from studies.services.items import show_partial_profiles


@dataclass(frozen=True)
class StudyListRow:
    """A study, counted by `list_studies`, and what apps add about it."""

    study: Any
    answers: list[ListCell]
    quota: list[ListCell]
    judges: list[ListCell]
    cost: str
    updated: datetime

    @property
    def share(self) -> int | None:
        """The percentage of answers received; None where none are needed."""
        seats: int = self.study.seats
        return int(100 * self.study.answers / seats) if seats else None


def study_rows(listed: Iterable[Study]) -> list[StudyListRow]:
    """One row for each study of `list_studies`, in a fixed number of queries."""
    studies: list[Any] = list(listed)  # with the counts of `list_studies`
    answers = column_cells("answers", [study for study in studies if not study.seats])
    quota, judges = column_cells("quota", studies), column_cells("judges", studies)
    costs, updated = column_cells("cost", studies), column_cells("updated", studies)
    return [
        StudyListRow(
            study,
            answers=answers.get(study.pk, []),
            quota=quota[study.pk],
            judges=judges[study.pk],
            cost=" + ".join(cell.text for cell in costs[study.pk] if cell.text),
            updated=max(
                [study.created_at, *(cell.when for cell in updated[study.pk] if cell.when)]
            ),
        )
        for study in studies
    ]


def logged(studies: Sequence[Study]) -> dict[int, ListCell]:
    """When each study was last changed."""
    rows = (
        StudyLog.objects.filter(study__in=studies)
        .order_by()
        .values_list("study")
        .annotate(latest=Max("created_at"))
    )
    return {pk: ListCell(when=latest) for pk, latest in rows}


_PER_PAGE = 50
_STUDIES_PER_PAGE = 100


@require_GET
@login_required
def list_page(request: HttpRequest) -> HttpResponse:
    """List the studies of the user, with filters."""
    chosen = {name: request.GET.get(name, "") for name in ("search", "state", "sort")}
    sort = chosen["sort"] or "-created"
    studies = list_studies(
        request.user, search=chosen["search"].strip(), state=chosen["state"], sort=sort
    )
    if request.GET.get("format") == "csv":
        return _list_csv(studies)
    page = Paginator(studies, _STUDIES_PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "page": page,
        "rows": study_rows(page.object_list),
        "chosen": chosen,
        "states": [*Study.State.choices, (ARCHIVED, "archived")],
        "is_filtered": bool(chosen["search"] or chosen["state"]),
        "columns": _columns(sort),
        "parts": [
            {"template": part.template, "context": part.context(cast(User, request.user))}
            for part in LIST_PARTS
        ],
    }
    return render(request, "studies/list.html", context)


@require_http_methods(["GET", "POST"])
@login_required
def items(request: HttpRequest, slug: str) -> HttpResponse:
    """List the items with their answers, by key, with search and filters.

    An editor sends `partial_profiles` to agree that annotators get the items that are held back.
    """
    sending = request.method == "POST"
    role = Membership.Role.EDITOR if sending else Membership.Role.VIEWER
    study = get_study(request.user, slug, role=role)
    if sending:
        if "partial_profiles" in request.POST:
            user = cast(User, request.user)
            released = show_partial_profiles(study_id=study.pk, user=user)
            messages.success(request, f"Annotators get {released:,} more items.")
        return redirect("studies:items", slug)
    search = request.GET.get("search", "").strip()
    split = request.GET.get("split", "")
    sort = request.GET.get("sort", "")
    sort = sort if sort in ITEM_SORTS else ""
    rows = find_items(study, search=search, split=split, sort=sort)
    held_back = Item.objects.filter(study=study, is_held_back=True).order_by().values("study")
    rows = rows.annotate(held_back=Subquery(held_back.values(n=Count("pk"))))
    rows = rows.defer("r1", "r2", "metadata")
    items = LongList(rows, _PER_PAGE, name="items", key=(study.pk, study.version, split, search))
    page = items.get_page(request.GET.get("page"))
    first = next(iter(page.object_list), None)
    context = {
        "study": study,
        "page": page,
        "search": search,
        "split": split,
        "splits": Item.Split.choices,
        "sort": sort,
        "sorts": ITEM_SORTS.items(),
        "held_back": held_back_words(first.held_back) if first and first.held_back else "",
        "may_edit": role_of(request.user, study) != Membership.Role.VIEWER,
        "place": urlencode({"list": "items", "search": search, "split": split}),
    }
    return render(request, "studies/items.html", context)


def _columns(sort: str) -> list[dict[str, str]]:
    """Headers of the list: label and, if it sorts, the current order and the effect of a click."""
    headers = {
        "title": "Name",
        "state": "State",
        "items": "Items",
        "answers": "Answers",
        "quota": "Quota",
        "judges": "Judges",
        "cost": "Cost",
        "updated": "Updated",
        "created": "Created",
    }
    columns = []
    for name, label in headers.items():
        if name not in SORTS:
            columns.append({"label": label})
            continue
        down = sort == f"-{name}"
        now = "descending" if down else "ascending" if sort == name else "none"
        then = name if down or sort != name else f"-{name}"
        columns.append({"label": label, "now": now, "then": then})
    return columns


def _list_csv(studies: Any) -> HttpResponse:
    header = ["study", "title", "state", "items", "answers", "seats", "created_at"]
    rows = (
        [
            study.slug,
            study.title,
            study.state,
            study.items,
            study.answers,
            study.seats,
            study.created_at.isoformat(timespec="minutes"),
        ]
        for study in studies
    )
    return csv_response("studies", header, rows)
