"""The note and tags on the page of an item."""

from collections.abc import Mapping
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from analysis.data.item_answers import get_item
from analysis.pages.disagreement_views import ItemPart, item_page
from extras.audit import notes
from studies.models import Item, Membership
from studies.selectors import get_study


@require_POST
@login_required
def save_note(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    """Store the note and tags, or show the page again with the input and its faults."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    item = get_item(study, key)
    text = request.POST.get("text", "").replace("\r\n", "\n")
    entered_tags = request.POST.get("tags", "")
    tags = notes.read_tags(entered_tags)
    number = request.POST.get("version", "")
    version = int(number) if number.isdecimal() and len(number) < 9 else 0
    faults = {}
    if fault := notes.fault_of_tags(tags):
        faults["tags"] = fault
    if len(text) > notes.NOTE_LENGTH:
        faults["text"] = f"Use at most {notes.NOTE_LENGTH:,} characters for the note"
    if not faults:
        try:
            notes.save_note(
                study,
                item.pk,
                item.key,
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
    entered = {"text": text, "tags": entered_tags}
    return item_page(request, study, key, entered=entered, faults=faults)


def _context(item: Item) -> Mapping[str, Any]:
    note = notes.note_on(item.pk)
    return {
        "note": note,
        "tags": [tag.name for tag in note.tags.all()] if note else [],
        "known_tags": notes.tags_of(item.study),
    }


ITEM_PART = ItemPart("note", "audit/_note.html", _context)
