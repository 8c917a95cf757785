"""The page that asks the items of a study also about changed personas, as a linked study."""

from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from extras.personas.changed_items import (
    Changes,
    PersonaChange,
    WantedChange,
    changeable_features,
    counterfactual_study,
    planned_changes,
)
from studies.errors import StudyError
from studies.models import Item, Membership, Study
from studies.pages.settings_views import MAY_CREATE
from studies.selectors import get_study

_SHOWN = 3


class ChangedPersonasForm(forms.Form):
    """The features to change, and the linked study."""

    features = forms.MultipleChoiceField(
        label="Attributes to change",
        widget=forms.CheckboxSelectMultiple,
        help_text="Each one is changed in items of its own.",
        error_messages={"required": "Choose at least one attribute."},
    )
    value = forms.CharField(
        label="New value",
        required=False,
        help_text="Empty: another value of this study’s personas, drawn once for each persona.",
    )
    limit = forms.IntegerField(
        label="Number of items",
        required=False,
        min_value=1,
        help_text="The first ones by id. Empty: all that can be changed.",
    )
    slug = forms.SlugField(
        label="Short name of the new study",
        max_length=60,
        help_text="Letters, digits, - and _. It is part of its address.",
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        known = changeable_features(study)
        self.choices = [
            (key, f"{label} ({values:,} values)") for key, (label, values) in known.items()
        ]
        cast(forms.MultipleChoiceField, self.fields["features"]).choices = self.choices
        self.initial = {"slug": f"{study.slug[:52]}-changed"}

    def wanted(self) -> WantedChange:
        chosen = self.cleaned_data
        return WantedChange(
            features=chosen["features"], value=chosen["value"], limit=chosen["limit"]
        )


@dataclass(frozen=True)
class ChangePreview:
    """What a linked study would have, with a few of its items."""

    items: int
    twins: int
    answers: int
    shown: list[tuple[Item, list[PersonaChange]]]

    @classmethod
    def of(cls, study: Study, changes: Changes) -> "ChangePreview":
        n, features = len(changes.by_item), len(changes.labels)
        keys = list(islice(changes.by_item, _SHOWN))
        items = Item.objects.filter(study=study, key__in=keys).order_by("key")
        return cls(
            n,
            n * features,
            n * (1 + features) * study.annotations_per_item,
            [(item, list(changes.by_item[item.key])) for item in items],
        )


@require_http_methods(["GET", "POST"])
@login_required
def changed_personas(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the form; a POST shows some changed items, or creates the linked study."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    user = cast(User, request.user)
    if request.method == "GET":
        return _page(request, study, ChangedPersonasForm(study=study))
    if not user.has_perm(MAY_CREATE):
        raise PermissionDenied
    form, preview = ChangedPersonasForm(request.POST, study=study), None
    if form.is_valid():
        try:
            if "preview" in request.POST:
                preview = ChangePreview.of(study, planned_changes(study, form.wanted()))
                return _page(request, study, form, preview)
            made = counterfactual_study(
                study_id=study.pk, slug=form.cleaned_data["slug"], wanted=form.wanted(), by=user
            )
        except ValidationError as error:
            form.add_error("slug", " ".join(error.messages))
        except StudyError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, "The new study is a draft with each item and its twins.")
            return redirect("studies:detail", made.slug)
    return _page(request, study, form, preview, status=422)


def _page(
    request: HttpRequest,
    study: Study,
    form: ChangedPersonasForm,
    preview: ChangePreview | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    context = {
        "study": study,
        "form": form,
        "preview": preview,
        "may_create": cast(User, request.user).has_perm(MAY_CREATE),
    }
    return render(request, "personas/changed_personas.html", context, status=status)
