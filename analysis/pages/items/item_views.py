"""The page of one item: every answer and judgment, the note, and the way through a list."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from analysis.data.items.comparisons import find_run
from analysis.data.items.item_answers import (
    answers_to,
    as_given,
    get_item,
    majority_on,
    prompt_to_a_judge,
    runs_on,
    shown_with,
    with_readings,
)
from analysis.disagreements import notes
from analysis.disagreements.freshness import stored_for
from analysis.disagreements.patterns import LISTINGS
from analysis.disagreements.selection import Selection, neighbours
from studies.models.studies import Membership, Study
from studies.pages.listing import find_items, role_of
from studies.selectors import get_study

_ANSWERS_PER_PAGE = 50
_RUNS_PER_PAGE = 10


@dataclass(frozen=True)
class Walk:
    """The list that the reader came from: its name and address, and the items next to this one."""

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
    return render(request, "analysis/item.html", _context(request, study, key))


@require_POST
@login_required
def save_note(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    """Store the note and the tags; a fault shows the page again with what was entered."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    found = get_item(study, key)
    text = request.POST.get("text", "").replace("\r\n", "\n")
    tags = notes.read_tags(request.POST.get("tags", ""))
    given = request.POST.get("version", "")
    version = int(given) if given.isdecimal() and len(given) < 9 else 0
    faults = {"tags": notes.fault_of_tags(tags), "text": ""}
    if len(text) > notes.NOTE_LENGTH:
        faults["text"] = f"Use at most {notes.NOTE_LENGTH:,} characters for the note"
    if not any(faults.values()):
        try:
            notes.save_note(
                study,
                found.pk,
                found.key,
                text=text,
                tags=tags,
                version=version,
                user=cast(User, request.user),
            )
        except notes.NoteChanged:
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
    context = _context(request, study, key) | {"entered": entered, "faults": faults}
    return render(request, "analysis/item.html", context, status=422)


def _context(request: HttpRequest, study: Study, key: str) -> dict[str, Any]:
    found = get_item(study, key)
    answers = Paginator(answers_to(found), _ANSWERS_PER_PAGE).get_page(
        request.GET.get("answers_page")
    )
    runs = runs_on(found)
    shown = Paginator(runs, _RUNS_PER_PAGE).get_page(request.GET.get("judges_page"))
    note = notes.note_on(found.pk)
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
        "known_tags": notes.tags_of(study),
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
    """The previous and the next item of the list that the address names."""
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
