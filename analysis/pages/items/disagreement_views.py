"""The items on which annotators and a judge agree or not, with filters, a drawing and a list."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from analysis.data.items.comparisons import find_run, labelled, runs_to_compare
from analysis.data.items.texts import items_by_id
from analysis.disagreements import notes
from analysis.disagreements.freshness import comparison_for, stored_for
from analysis.disagreements.patterns import LISTINGS, PatternFact
from analysis.disagreements.scatter import scatter_of
from analysis.disagreements.selection import (
    WITH_NOTE,
    Selection,
    cells,
    count_of,
    listed,
    page_of,
    rows_of,
    sizes,
)
from analysis.models import ComparedItem, Comparison, ItemNote
from studies.jobs.pages import job_status
from studies.models.studies import Study
from studies.pages.csv_response import csv_response
from studies.selectors import get_study

PER_PAGE = 25
_CSV_AT_ONCE = 2_000
_CSV_HEADER = (
    "item_id",
    "topic",
    "first_person",
    "annotators",
    "annotators_share",
    "annotators_certainty",
    "judge",
    "judge_certainty",
    "tags",
    "note",
)


@dataclass(frozen=True)
class DisagreementLine:
    """An item as a row of the list, with its texts and its note."""

    row: ComparedItem
    item: Any
    note: ItemNote | None

    @property
    def people_right(self) -> bool | None:
        return _truth(
            PatternFact(self.row.pattern), PatternFact.PEOPLE_RIGHT, PatternFact.PEOPLE_WRONG
        )

    @property
    def judge_right(self) -> bool | None:
        return _truth(
            PatternFact(self.row.pattern), PatternFact.JUDGE_RIGHT, PatternFact.JUDGE_WRONG
        )

    @property
    def people_percent(self) -> int | None:
        share = self.row.people_share
        return None if share is None else round(share * 100)


def _truth(fact: PatternFact, right: PatternFact, wrong: PatternFact) -> bool | None:
    return True if right in fact else False if wrong in fact else None


@require_GET
@login_required
def disagreements(request: HttpRequest, slug: str) -> HttpResponse:
    """List the items on which annotators and a judge agree or not, with filters and a drawing."""
    study = get_study(request.user, slug)
    chosen = Selection.read(request.GET)
    runs = runs_to_compare(study)
    run = find_run(study, chosen.run, runs)
    if run is not None:
        # Named in every link, so that a link shows the same run when there are others.
        chosen = replace(chosen, run=run.public_id)
    comparison = comparison_for(study, run.pk if run else None)
    context: dict[str, Any] = {"study": study, "comparison": comparison, "run": run, "runs": runs}
    context["labelled"] = labelled(runs)
    context["status_url"] = _status_url(study, chosen)
    if not comparison.edition:
        return render(request, "analysis/disagreements.html", context)
    rows = rows_of(comparison, chosen)
    if request.GET.get("format") == "csv":
        return csv_response(f"{study.slug}-disagreements", _CSV_HEADER, _csv_rows(rows))
    found = cells(comparison, chosen)
    counted = sizes(found)
    total = count_of(comparison, found, chosen)
    page, has_before, has_after = page_of(
        rows if total else rows.none(),
        after=request.GET.get("after", ""),
        before=request.GET.get("before", ""),
        size=PER_PAGE,
    )
    context |= {
        "chosen": chosen,
        "query": chosen.query(),
        "unfiltered": Selection(show=chosen.show, run=chosen.run).query(),
        "everything": Selection(show="all", run=chosen.run).query(),
        "address": _address(request, study, chosen),
        "place": _place(chosen),
        "listings": _listings(counted, chosen, has_judge=run is not None),
        "scatter": scatter_of(listed(found, chosen), chosen),
        "total": total,
        "lines": _lines(page),
        "has_before": has_before,
        "has_after": has_after,
        "first": page[0].key if page else "",
        "last": page[-1].key if page else "",
        "choices": _choices(comparison),
        "tags": notes.tags_of(study),
        "with_note": WITH_NOTE,
    }
    return render(request, "analysis/disagreements.html", context)


@require_GET
@login_required
def status(request: HttpRequest, slug: str) -> JsonResponse:
    """Show the progress that the page fetches while a worker compares the items."""
    study = get_study(request.user, slug)
    run = find_run(study, request.GET.get("run", ""))
    return job_status(stored_for(study, run.pk if run else None))


def _status_url(study: Study, chosen: Selection) -> str:
    query = Selection(run=chosen.run).query()
    return f"{reverse('disagreements:status', args=[study.slug])}?{query}"


def _address(request: HttpRequest, study: Study, chosen: Selection) -> str:
    path = reverse("disagreements:list", args=[study.slug])
    return request.build_absolute_uri(f"{path}?{chosen.query()}")


def _place(chosen: Selection) -> str:
    """What the address of an item holds, so that its page leads through the same list."""
    query = chosen.query()
    return f"list=disagreements&{query}" if query else "list=disagreements"


def _listings(
    counted: dict[str, int], chosen: Selection, *, has_judge: bool
) -> list[dict[str, Any]]:
    return [
        {
            "label": listing.label,
            "items": counted[name],
            "query": chosen.query(show=name),
            "is_chosen": name == chosen.show,
        }
        for name, listing in LISTINGS.items()
        if has_judge or name in ("all", "split", chosen.show)
    ]


def _choices(comparison: Comparison) -> dict[str, Any]:
    """Values to filter by; those of features with the text that stands for them in an address."""
    features = [
        {
            "label": feature["label"],
            "values": [(f"{feature['key']}={value}", value) for value in feature["values"]],
        }
        for feature in comparison.choices.get("features", [])
    ]
    return comparison.choices | {"features": features}


def _lines(rows: Iterable[ComparedItem]) -> list[DisagreementLine]:
    """Rows with items and notes; three queries. An item deleted meanwhile has no line."""
    rows = list(rows)
    ids = [row.item for row in rows]
    items = items_by_id(ids)
    found = {
        note.item_id: note
        for note in ItemNote.objects.filter(item__in=ids).prefetch_related("tags")
    }
    return [
        DisagreementLine(row, items[row.item], found.get(row.item))
        for row in rows
        if row.item in items
    ]


def _csv_rows(rows: Any) -> Iterator[list[Any]]:
    after = ""
    while part := list(rows.filter(key__gt=after)[:_CSV_AT_ONCE]):
        after = part[-1].key
        for line in _lines(part):
            row = line.row
            yield [
                row.key,
                row.topic,
                line.item.first_person,
                row.people,
                row.people_share,
                row.people_certainty,
                row.judge,
                row.judge_certainty,
                ", ".join(tag.name for tag in line.note.tags.all()) if line.note else "",
                line.note.text if line.note else "",
            ]
