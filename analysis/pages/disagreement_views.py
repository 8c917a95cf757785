"""Pages for disagreements, and for one item."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

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
from analysis.disagreements import comparisons
from analysis.disagreements.comparisons import comparison_for, stored_for
from analysis.disagreements.selection import (
    LISTINGS,
    WITH_NOTE,
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
from analysis.models import ComparedItem, Comparison, ItemNote
from studies.jobs.retry import job_status
from studies.models.studies import Membership, Study
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
    "tags",
    "note",
)


@dataclass(frozen=True)
class DisagreementLine:
    """A list row: an item with its texts and note."""

    row: ComparedItem
    item: Any
    note: ItemNote | None
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
        "lines": _lines(page, run.pk if run else None),
        "has_before": has_before,
        "has_after": has_after,
        "first": page[0].key if page else "",
        "last": page[-1].key if page else "",
        "choices": _choices(comparison),
        "tags": comparisons.tags_of(study),
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


def _status_url(study: Study, chosen: Selection) -> str:
    query = Selection(run=chosen.run).query()
    return f"{reverse('disagreements:status', args=[study.slug])}?{query}"


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


def _lines(rows: Iterable[ComparedItem], run_id: int | None) -> list[DisagreementLine]:
    """Rows with items, notes and reasons. Items deleted meanwhile are left out."""
    rows = list(rows)
    ids = [row.item for row in rows]
    items = items_by_id(ids)
    found = {
        note.item_id: note
        for note in ItemNote.objects.filter(item__in=ids).prefetch_related("tags")
    }
    reasons = reasons_on(ids, run_id)
    return [
        DisagreementLine(row, items[row.item], found.get(row.item), reasons.get(row.item))
        for row in rows
        if row.item in items
    ]


def _csv_rows(rows: Any) -> Iterator[list[Any]]:
    after = ""
    while part := list(rows.filter(key__gt=after)[:_CSV_AT_ONCE]):
        after = part[-1].key
        for line in _lines(part, None):
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


@require_GET
@login_required
def item(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    """Show an item with every annotator's answer and every judge's judgment."""
    study = get_study(request.user, slug)
    return render(request, "analysis/item.html", _item_context(request, study, key))


@require_POST
@login_required
def save_note(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    """Store the note and tags, or show the page again with the input and its faults."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    found = get_item(study, key)
    text = request.POST.get("text", "").replace("\r\n", "\n")
    tags = comparisons.read_tags(request.POST.get("tags", ""))
    given = request.POST.get("version", "")
    version = int(given) if given.isdecimal() and len(given) < 9 else 0
    faults = {"tags": comparisons.fault_of_tags(tags), "text": ""}
    if len(text) > comparisons.NOTE_LENGTH:
        faults["text"] = f"Use at most {comparisons.NOTE_LENGTH:,} characters for the note"
    if not any(faults.values()):
        try:
            comparisons.save_note(
                study,
                found.pk,
                found.key,
                text=text,
                tags=tags,
                version=version,
                user=cast(User, request.user),
            )
        except comparisons.NoteChanged:
            faults["text"] = (
                "Somebody else changed the note while you were writing. Read it above the form, "
                "then save again to replace it"
            )
        else:
            messages.success(request, "Note and tags saved.")
            address = reverse("studies:item", args=[slug, key])
            query = request.GET.urlencode()
            return redirect(f"{address}?{query}#note" if query else f"{address}#note")
    entered = {"text": text, "tags": request.POST.get("tags", "")}
    context = _item_context(request, study, key) | {"entered": entered, "faults": faults}
    return render(request, "analysis/item.html", context, status=422)


def _item_context(request: HttpRequest, study: Study, key: str) -> dict[str, Any]:
    found = get_item(study, key)
    answers = Paginator(answers_to(found), _ANSWERS_PER_PAGE).get_page(
        request.GET.get("answers_page")
    )
    runs = runs_on(found)
    shown = Paginator(runs, _RUNS_PER_PAGE).get_page(request.GET.get("judges_page"))
    note = comparisons.note_on(found.pk)
    majority = majority_on(found)
    setting, prompt = prompt_to_a_judge(found)
    return {
        "study": study,
        "item": found,
        "responses": _responses(found, majority, runs),
        "answers_page": answers,
        "answers": as_given(found, answers),
        "shown_with": shown_with(found),
        "majority": majority,
        "runs": runs,
        "runs_page": shown,
        "readings": with_readings(found, list(shown)),
        "setting": setting,
        "prompt": prompt,
        "note": note,
        "entered": {
            "text": note.text if note else "",
            "tags": ", ".join(tag.name for tag in note.tags.all()) if note else "",
        },
        "faults": {},
        "known_tags": comparisons.tags_of(study),
        "may_edit": role_of(request.user, study) != Membership.Role.VIEWER,
        "walk": _walk(study, found.key, request.GET),
    }


def _responses(found: Any, majority: Any, runs: Any) -> list[dict[str, Any]]:
    """Both responses, each with who chose it."""
    responses = []
    for name, side in (("response 1", "r1"), ("response 2", "r2")):
        responses.append(
            {
                "name": name.capitalize(),
                "content": found.response(side),
                "is_own": found.first_person == side,
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
