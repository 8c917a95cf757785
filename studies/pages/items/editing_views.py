"""Editing an item or a persona, and deleting items, while a study has no answers."""

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from studies.errors import StudyError
from studies.importers.editing import (
    delete_item,
    delete_items,
    edit_item,
    edit_persona,
    record_of,
    values_of,
)
from studies.importers.files.faults import Refused
from studies.importers.items.replacement import counts, why_not
from studies.models import Item, Membership, Persona, Study
from studies.pages.items.editing_form import DeleteAllForm, ItemForm, PersonaForm, initial_of
from studies.selectors import get_study

_REFUSED = 422


@require_http_methods(["GET", "POST"])
@login_required
def edit(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    """Change the texts of an item that nobody has answered."""
    study, item = _item(request, slug, key)
    if reason := why_not(study):
        return _refused(request, reason, "studies:item", slug, key)
    data = request.POST if request.method == "POST" else None
    form = ItemForm(data, lang=item.lang, initial=initial_of(item, values_of(item)))
    if form.is_valid():
        try:
            edit_item(
                study_id=study.pk,
                key=key,
                values=form.values(),
                seen=form.cleaned_data["seen"],
                user=cast(User, request.user),
            )
        except Refused as refused:
            form.refuse(refused)
        except StudyError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, f"Item {key} is saved.")
            return redirect("studies:item", slug, key)
    context = {"study": study, "item": item, "form": form}
    status = _REFUSED if form.errors else 200
    return render(request, "studies/item_edit.html", context, status=status)


@require_http_methods(["GET", "POST"])
@login_required
def delete(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    """Ask once more, then delete the item."""
    study, item = _item(request, slug, key)
    if reason := why_not(study):
        return _refused(request, reason, "studies:item", slug, key)
    if request.method == "GET":
        return render(request, "studies/item_delete.html", {"study": study, "item": item})
    try:
        delete_item(study_id=study.pk, key=key, user=cast(User, request.user))
    except StudyError as error:
        return _refused(request, str(error), "studies:items", slug)
    messages.success(request, f"Item {key} is deleted.")
    return redirect("studies:items", slug)


@require_http_methods(["GET", "POST"])
@login_required
def delete_all(request: HttpRequest, slug: str) -> HttpResponse:
    """Delete every item once the short name of the study is typed."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    if reason := why_not(study):
        return _refused(request, reason, "studies:items", slug)
    items, personas = counts(study)
    data = request.POST if request.method == "POST" else None
    form = DeleteAllForm(data, slug=slug, initial={"seen": items})
    if form.is_valid():
        try:
            removed, _ = delete_items(
                study_id=study.pk, seen=form.cleaned_data["seen"], user=cast(User, request.user)
            )
        except StudyError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, f"Deleted {removed:,} item{'' if removed == 1 else 's'}.")
            return redirect("studies:items", slug)
    context = {"study": study, "form": form, "items": items, "personas": personas}
    status = _REFUSED if form.errors else 200
    return render(request, "studies/items_delete.html", context, status=status)


@require_http_methods(["GET", "POST"])
@login_required
def persona(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    """Edit the persona of an item, which all its items share."""
    study, item = _item(request, slug, key)
    if reason := why_not(study):
        return _refused(request, reason, "studies:item", slug, key)
    found: Persona = item.persona
    shown = {"seen": record_of(found).fingerprint, "text": found.text}
    data = request.POST if request.method == "POST" else None
    form = PersonaForm(data, persona=found, lang=item.lang, initial=shown)
    if form.is_valid():
        try:
            edit_persona(
                study_id=study.pk,
                key=found.key,
                features=form.features(),
                text=form.cleaned_data["text"],
                seen=form.cleaned_data["seen"],
                user=cast(User, request.user),
            )
        except Refused as refused:
            form.refuse(refused)
        except StudyError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, f"Persona {found.key} is saved.")
            return redirect("studies:item", slug, key)
    context: dict[str, Any] = {
        "study": study,
        "item": item,
        "persona": found,
        "form": form,
        "shared": Item.everything.filter(persona=found).count(),
    }
    status = _REFUSED if form.errors else 200
    return render(request, "studies/persona_edit.html", context, status=status)


def _item(request: HttpRequest, slug: str, key: str) -> tuple[Study, Item]:
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    items = Item.everything.select_related("persona", "study")
    return study, get_object_or_404(items, study=study, key=key)


def _refused(request: HttpRequest, reason: str, view: str, *arguments: str) -> HttpResponse:
    messages.error(request, reason)
    return redirect(view, *arguments)
