"""What an extra asks next to the choice: stored before the first answer, and chosen on a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.db import models, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from studies.errors import FrozenStudy, StaleVersion, StudyError
from studies.models import Membership, Study
from studies.pages.listing import role_of
from studies.selectors import get_study
from studies.services.studies import lock_study, record
from studies.services.whole_studies import copy_rows


@dataclass(frozen=True)
class AskedSettings:
    """The row of a study in `model`, with these values where it has none.

    `event` is that of the study's log, and `what` what cannot change after an answer. `problem`
    says why wanted values cannot be asked in a study; empty if they can.
    """

    model: type[models.Model]
    nothing: Mapping[str, Any]
    event: str
    what: str
    problem: Callable[[Study, Mapping[str, Any]], str] = lambda study, wanted: ""

    def values(self, study: Study) -> dict[str, Any]:
        """What a study asks, by field."""
        rows = self.model._default_manager.filter(study=study)
        return rows.values(*self.nothing).first() or dict(self.nothing)

    @transaction.atomic
    def store(
        self,
        *,
        study_id: int,
        wanted: Mapping[str, Any],
        version: int | None = None,
        user: User | None,
    ) -> None:
        """Store what a study asks; the same again changes nothing.

        Raises `FrozenStudy` if the study has answers or judgments, `StaleVersion` if it is no
        longer at `version`, and `StudyError` if there is a `problem`.
        """
        study = lock_study(study_id)
        before = self.values(study)
        if version is not None and version != study.version:
            raise StaleVersion(
                f"Someone else changed “{study.slug}” while you edited this page. Nothing was "
                "saved. Check your choices, then save again."
            )
        if before == wanted:
            return
        if study.frozen_at is not None:
            raise FrozenStudy(
                f"“{study.slug}” has answers or judgments, so {self.what} cannot change. "
                "Nothing was saved. Copy the study to ask something else."
            )
        if problem := self.problem(study, wanted):
            raise StudyError(problem)
        self.model._default_manager.update_or_create(study=study, defaults=dict(wanted))
        study.version += 1
        study.save(update_fields=["version"])
        record(study, self.event, user=user, before=before, after=dict(wanted))

    def copy(self, study: Study, copy: Study) -> None:
        copy_rows(self.model._default_manager.filter(study=study), study_id=copy.pk)

    def page(
        self,
        request: HttpRequest,
        slug: str,
        *,
        form_class: type[forms.Form],
        template: str,
        address: str,
        more: Callable[[Study], Mapping[str, Any]],
    ) -> HttpResponse:
        """Show what annotators are asked, or store it (POST); `more` is for the template."""
        role = Membership.Role.EDITOR if request.method == "POST" else Membership.Role.VIEWER
        study = get_study(request.user, slug, role=role)
        may_edit = role_of(request.user, study) != Membership.Role.VIEWER
        form = form_class(initial=self.values(study) | {"version": study.version})
        if request.method == "POST":
            form = form_class(request.POST)
            if form.is_valid():
                try:
                    self.store(
                        study_id=study.pk,
                        wanted={name: form.cleaned_data[name] for name in self.nothing},
                        version=form.cleaned_data["version"],
                        user=cast(User, request.user),
                    )
                except StudyError as error:
                    # A second press replaces what somebody else saved meanwhile.
                    now = Study.objects.get(pk=study.pk).version
                    form = form_class(request.POST.dict() | {"version": str(now)})
                    form.add_error(None, str(error))
                else:
                    messages.success(request, "Saved. The preview shows the page of an item.")
                    return redirect(address, slug=slug)
        if not may_edit or study.frozen_at:
            for field in form.fields.values():
                field.disabled = True
        context = {
            "study": study,
            "form": form,
            "may_edit": may_edit and not study.frozen_at,
            **more(study),
        }
        return render(request, template, context, status=422 if form.is_bound else 200)
