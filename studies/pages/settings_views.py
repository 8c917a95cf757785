"""Forms for a new study and for the settings of one."""

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from studies.errors import FrozenStudy, StaleVersion, StudyError
from studies.models import Membership, Study
from studies.pages.listing import role_of
from studies.pages.settings_form import SettingsForm
from studies.selectors import get_study
from studies.services.items.expected_time import expected_time
from studies.services.presets import PRESETS
from studies.services.settings import save_settings
from studies.services.studies import create_study

_REFUSED = 422
MAY_CREATE = "studies.add_study"


@require_http_methods(["GET", "POST"])
@login_required
def new(request: HttpRequest) -> HttpResponse:
    """Create a study as a draft of this user, from a `?preset=` if one is named."""
    user = cast(User, request.user)
    if not user.has_perm(MAY_CREATE):
        raise PermissionDenied
    chosen = PRESETS.get(request.GET.get("preset", ""))
    data = request.POST if request.method == "POST" else None
    form = SettingsForm(data, instance=Study(), initial=dict(chosen.settings) if chosen else {})
    if form.is_valid():
        try:
            study = create_study(slug=form.cleaned_data["slug"], owner=user, **form.values())
        except StudyError as error:
            form.add_error("slug", str(error))
        except ValidationError as error:
            form.add_error("slug" if "slug" in error.message_dict else None, _plain(error))
        else:
            messages.success(request, "Study created as a draft. Next, import its items.")
            return redirect("studies:detail", study.slug)
    context = {"form": form, "presets": PRESETS, "chosen": request.GET.get("preset", "")}
    return _page(request, "studies/new.html", form, context)


@require_http_methods(["GET", "POST"])
@login_required
def settings(request: HttpRequest, slug: str) -> HttpResponse:
    """Edit a study; settings that answers depend on are fixed with the first answer.

    Viewers see the settings and cannot change them.
    """
    role = Membership.Role.EDITOR if request.method == "POST" else Membership.Role.VIEWER
    study = get_study(request.user, slug, role=role)
    data = request.POST if request.method == "POST" else None
    form = SettingsForm(data, instance=study)
    if form.is_valid():
        try:
            save_settings(
                form.instance,
                changed=form.changed_fields(),
                user=cast(User, request.user),
                version=form.cleaned_data["version"],
            )
        except (StaleVersion, FrozenStudy) as error:
            return _overtaken(request, slug, form, str(error))
        messages.success(request, "Settings saved.")
        return redirect("studies:detail", slug)
    may_edit = role_of(request.user, study) != Membership.Role.VIEWER
    if not may_edit:
        form.lock()
    if expected := expected_time(study):
        form.fields["minutes"].help_text += f" {expected.words}; other pages come on top."
    context = {"study": study, "form": form, "may_edit": may_edit}
    return _page(request, "studies/settings.html", form, context)


def _overtaken(request: HttpRequest, slug: str, form: SettingsForm, fault: str) -> HttpResponse:
    """Show the submitted values next to the stored ones; the user decides whether to save again."""
    stored = Study.objects.get(slug=slug)
    theirs = SettingsForm(instance=stored)
    sent = request.POST.copy()
    sent["version"] = str(stored.version)
    again = SettingsForm(sent, instance=stored)
    differing = [
        (field.label, theirs[field.name].value(), form[field.name].value())
        for _, fields in form.groups()
        for field in fields
        if not field.field.disabled
        and str(theirs[field.name].value() or "") != str(form[field.name].value() or "")
    ]
    context = {"study": stored, "form": again, "fault": fault, "differing": differing}
    context["may_edit"] = True
    return render(request, "studies/settings.html", context, status=_REFUSED)


def _page(
    request: HttpRequest, template: str, form: SettingsForm, context: dict[str, Any]
) -> HttpResponse:
    return render(request, template, context, status=_REFUSED if form.errors else 200)


def _plain(error: ValidationError) -> str:
    return " ".join(text for texts in error.message_dict.values() for text in texts)
