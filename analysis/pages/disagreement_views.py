"""Pages for disagreements, and for one item."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from analysis.data.item_answers import (
    answers_to,
    as_given,
    get_item,
    majority_on,
    prompt_to_a_judge,
    reasons_on,
    runs_on,
    shown_with,
    with_readings,
)
from analysis.data.item_comparisons import find_run, labelled, runs_to_compare
from analysis.data.item_texts import items_by_id
from analysis.disagreements.comparisons import comparison_for, stored_for
from analysis.disagreements.notes import WITH_NOTE, ItemNotes, WrittenNote, notes_of
from analysis.disagreements.selection import (
    LISTINGS,
    PatternFact,
    Selection,
    among_words,
    cells,
    count_of,
    listed,
    neighbours,
    page_of,
    rows_of,
    scatter_of,
    sizes,
)
from analysis.models import ComparedItem, Comparison
from studies.extra import Kind
from studies.jobs.retry import job_status
from studies.models.studies import Membership, Study
from studies.pages.addressed import PROGRESS
from studies.pages.listing import find_items, role_of
from studies.pages.responses import csv_response
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
)
_CSV_NOTES = ("tags", "note")


@dataclass(frozen=True)
class DisagreementLine:
    """A list row: an item with its texts and note."""

    row: ComparedItem
    item: Any
    note: WrittenNote | None
    reasons: Any = None

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
    """List items by agreement of annotators and a judge, with filters and a plot."""
    study = get_study(request.user, slug)
    chosen = Selection.read(request.GET)
    runs = runs_to_compare(study)
    run = find_run(study, chosen.run, runs)
    if run is not None:
        # In every link, so that it keeps showing the same run when there are others.
        chosen = replace(chosen, run=run.public_id)
    comparison = comparison_for(study, run.pk if run else None)
    context: dict[str, Any] = {"study": study, "comparison": comparison, "run": run, "runs": runs}
    context["labelled"] = labelled(runs)
    context["status_url"] = f"?{Selection(run=chosen.run).query()}&{PROGRESS}"
    if not comparison.edition:
        return render(request, "analysis/disagreements.html", context)
    rows = rows_of(comparison, chosen)
    notes = notes_of(study)
    if request.GET.get("format") == "csv":
        header = (*_CSV_HEADER, *(_CSV_NOTES if notes else ()))
        return csv_response(f"{study.slug}-disagreements", header, _csv_rows(rows, notes))
    certainty_cells = cells(comparison, chosen)
    counted = sizes(certainty_cells)
    total = count_of(comparison, certainty_cells, chosen)
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
        "scatter": scatter_of(listed(certainty_cells, chosen), chosen),
        "total": total,
        "lines": _lines(page, run.pk if run else None, notes),
        "has_before": has_before,
        "has_after": has_after,
        "first": page[0].key if page else "",
        "last": page[-1].key if page else "",
        "choices": _choices(comparison),
        "has_notes": bool(notes),
        "tags": notes.tags(study) if notes else [],
        "with_note": WITH_NOTE,
        "among": among_words(study, chosen),
        "without_among": chosen.query(among=""),
    }
    return render(request, "analysis/disagreements.html", context)


@require_GET
@login_required
def status(request: HttpRequest, slug: str) -> JsonResponse:
    """Show the progress that the page polls while a worker compares the items."""
    study = get_study(request.user, slug)
    run = find_run(study, request.GET.get("run", ""))
    return job_status(stored_for(study, run.pk if run else None))


def _address(request: HttpRequest, study: Study, chosen: Selection) -> str:
    path = reverse("disagreements:list", args=[study.slug])
    return request.build_absolute_uri(f"{path}?{chosen.query()}")


def _place(chosen: Selection) -> str:
    """The query string of an item's page, which keeps the reader in the same list."""
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
    """Filter values; for features, with their text in an address."""
    features = [
        {
            "label": feature["label"],
            "values": [(f"{feature['key']}={value}", value) for value in feature["values"]],
        }
        for feature in comparison.choices.get("features", [])
    ]
    return comparison.choices | {"features": features}


def _lines(
    rows: Iterable[ComparedItem], run_id: int | None, notes: ItemNotes | None
) -> list[DisagreementLine]:
    """Rows with items, notes and reasons. Items deleted meanwhile are left out."""
    rows = list(rows)
    ids = [row.item for row in rows]
    items = items_by_id(ids)
    written = notes.on_items(ids) if notes else {}
    reasons = reasons_on(ids, run_id)
    return [
        DisagreementLine(row, items[row.item], written.get(row.item), reasons.get(row.item))
        for row in rows
        if row.item in items
    ]


def _csv_rows(rows: Any, notes: ItemNotes | None) -> Iterator[list[Any]]:
    after = ""
    while part := list(rows.filter(key__gt=after)[:_CSV_AT_ONCE]):
        after = part[-1].key
        for line in _lines(part, None, notes):
            row = line.row
            text, tags = line.note or ("", ())
            yield [
                row.key,
                row.topic,
                line.item.first_person,
                row.people,
                row.people_share,
                row.people_certainty,
                row.judge,
                row.judge_certainty,
                *((", ".join(tags), text) if notes else ()),
            ]


_ANSWERS_PER_PAGE = 50
_RUNS_PER_PAGE = 10


@dataclass(frozen=True)
class Walk:
    """The list that the reader came from: name, address and neighbouring items."""

    name: str
    address: str
    query: str
    previous: str
    next: str


@dataclass(frozen=True)
class ItemPart:
    """A part of the page of an item: `template` with `context` of the item as `part`."""

    name: str
    template: str
    context: Callable[[Any], Mapping[str, Any]]


ITEM_PARTS: Kind[ItemPart] = Kind("parts", "item_page")


@require_GET
@login_required
def item(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    """Show an item with every annotator's answer and every judge's judgment."""
    return item_page(request, get_study(request.user, slug), key)


def item_page(
    request: HttpRequest,
    study: Study,
    key: str,
    *,
    entered: Mapping[str, str] | None = None,
    faults: Mapping[str, str] | None = None,
) -> HttpResponse:
    """The page of an item; with `faults` of what was `entered`, by the id of its field."""
    context = _item_context(request, study, key) | {"entered": entered, "faults": faults}
    return render(request, "analysis/item.html", context, status=422 if faults else 200)


def _item_context(request: HttpRequest, study: Study, key: str) -> dict[str, Any]:
    item = get_item(study, key)
    answers = Paginator(answers_to(item), _ANSWERS_PER_PAGE).get_page(
        request.GET.get("answers_page")
    )
    runs = runs_on(item)
    runs_page = Paginator(runs, _RUNS_PER_PAGE).get_page(request.GET.get("judges_page"))
    majority = majority_on(item)
    setting, prompt = prompt_to_a_judge(item)
    return {
        "study": study,
        "item": item,
        "responses": _responses(item, majority, runs),
        "answers_page": answers,
        "answers": as_given(item, answers),
        "shown_with": shown_with(item),
        "majority": majority,
        "runs": runs,
        "runs_page": runs_page,
        "readings": with_readings(item, list(runs_page)),
        "setting": setting,
        "prompt": prompt,
        "parts": [(part.template, part.context(item)) for part in ITEM_PARTS.of(study)],
        "may_edit": role_of(request.user, study) != Membership.Role.VIEWER,
        "walk": _walk(study, item.key, request.GET),
    }


def _responses(item: Any, majority: Any, runs: Any) -> list[dict[str, Any]]:
    """Both responses, each with who chose it."""
    responses = []
    for name, side in (("response 1", "r1"), ("response 2", "r2")):
        responses.append(
            {
                "name": name.capitalize(),
                "content": item.response(side),
                "is_own": item.first_person == side,
                "annotators": (majority.votes or {}).get(name, 0),
                "judges": sum(one.verdict.answer == name for one in runs),
            }
        )
    return responses


def _walk(study: Study, key: str, query: Mapping[str, str]) -> Walk:
    """The previous and next item in the list from the address."""
    if query.get("list") == "disagreements":
        return _walk_disagreements(study, key, Selection.read(query))
    chosen = {name: query.get(name, "").strip() for name in ("search", "split")}
    chosen = {name: value for name, value in chosen.items() if value}
    keys = find_items(study, **chosen).values_list("key", flat=True)
    address = reverse("studies:items", args=[study.slug])
    return Walk(
        name="filtered items" if chosen else "items",
        address=f"{address}?{urlencode(chosen)}" if chosen else address,
        query=urlencode({"list": "items"} | chosen) if chosen else "",
        previous=keys.filter(key__lt=key).order_by("-key").first() or "",
        next=keys.filter(key__gt=key).first() or "",
    )


def _walk_disagreements(study: Study, key: str, chosen: Selection) -> Walk:
    run = find_run(study, chosen.run)
    comparison = stored_for(study, run.pk if run else None)
    before, after = neighbours(comparison, chosen, key) if comparison else (None, None)
    query = chosen.query()
    address = reverse("disagreements:list", args=[study.slug])
    return Walk(
        name=LISTINGS[chosen.show].label,
        address=f"{address}?{query}" if query else address,
        query=f"list=disagreements&{query}" if query else "list=disagreements",
        previous=before.key if before else "",
        next=after.key if after else "",
    )
