"""The page “Another view”, which builds a report with something left out or read otherwise."""

from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlencode

from django import forms
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from analysis.data.answer_rows import demographic_answers
from analysis.data.views import TIES, View
from analysis.errors import BadParameters
from analysis.lifecycle.requests import read_view, request_report, run_names_in, written_view
from analysis.lifecycle.storage import reports_for
from analysis.models import Report
from studies.models.studies import Membership, Study
from studies.selectors import get_study, studies_for

_SWITCHES = ("with_excluded", "with_left_out")
_LINES = {"rows": 3, "spellcheck": "false"}


class ViewForm(forms.Form):
    """What a view changes; every field is also a parameter of the page's address."""

    name = forms.CharField(
        label="Name", max_length=120, required=False, help_text="For example: Reviewer 2, point 3."
    )
    without_items = forms.CharField(
        label="Without these items",
        required=False,
        widget=forms.Textarea(_LINES),
        help_text="One id a line.",
    )
    without_people = forms.CharField(
        label="Without these annotators",
        required=False,
        widget=forms.Textarea(_LINES),
        help_text="One pseudonym a line, as in the list of annotators.",
    )
    without_runs = forms.MultipleChoiceField(
        label="Without these runs", required=False, widget=forms.CheckboxSelectMultiple
    )
    people = forms.MultipleChoiceField(
        label="Only annotators who answered",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="One answer for each question.",
    )
    personas = forms.CharField(
        label="Only personas with",
        required=False,
        widget=forms.Textarea(_LINES),
        help_text="One feature a line, as LABEL: VALUE.",
    )
    topics = forms.CharField(
        label="Only these topics",
        required=False,
        widget=forms.Textarea(_LINES),
        help_text="One a line.",
    )
    ties = forms.ChoiceField(
        label="Tied votes",
        required=False,
        choices=[(name, text.capitalize()) for name, text in TIES.items()],
        widget=forms.RadioSelect,
    )
    threshold = forms.IntegerField(
        label="High-certainty threshold", min_value=1, max_value=100, required=False
    )
    with_excluded = forms.BooleanField(label="Count the people whom you excluded", required=False)
    with_left_out = forms.BooleanField(label="Count the items that you took out", required=False)
    as_of = forms.CharField(
        label="As of",
        max_length=40,
        required=False,
        help_text="A moment in UTC, such as 2026-11-27T14:30. Answers, exclusions, items, runs, "
        "the plan and settings count as they did then; withdrawn answers stay out. Empty for now.",
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.study = study
        self.initial.setdefault("ties", "exclude")
        runs = [*run_names_in(study).items()]
        answers = [
            (f"{key}: {answer}", f"{key}: {answer}") for key, answer in demographic_answers(study)
        ]
        for name, choices in (("without_runs", runs), ("people", answers)):
            if choices:
                cast(forms.MultipleChoiceField, self.fields[name]).choices = choices
            else:
                del self.fields[name]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        content = {
            name: cleaned.get(name) or "" for name in ("name", "as_of", "ties") if cleaned.get(name)
        } | {
            name: _lines(cleaned[name])
            for name in ("without_items", "without_people", "topics")
            if cleaned.get(name)
        }
        if cleaned.get("without_runs"):
            content["without_runs"] = cleaned["without_runs"]
        for name in ("people", "personas"):
            if lines := cleaned.get(name):
                content[name] = self._pairs(name, lines if name == "people" else _lines(lines))
        if cleaned.get("threshold"):
            content["threshold"] = cleaned["threshold"]
        content |= {name: True for name in _SWITCHES if cleaned.get(name)}
        if not self.errors:
            try:
                self.view = read_view(self.study, content)
            except BadParameters as error:
                raise forms.ValidationError(str(error)) from None
            if self.view.is_empty:
                raise forms.ValidationError("Change something: this is the study’s own report.")
        return cleaned

    def _pairs(self, name: str, lines: list[str]) -> dict[str, str]:
        pairs: dict[str, str] = {}
        for line in lines:
            key, colon, value = (part.strip() for part in line.partition(":"))
            if not colon or not key or not value:
                self.add_error(name, f"“{line}” is not LABEL: VALUE.")
            elif key in pairs:
                self.add_error(name, f"“{key}” is there twice. Make one view for each value.")
            pairs[key] = value
        return pairs


def _lines(text: str) -> list[str]:
    return list(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))


def query_of(view: Mapping[str, Any]) -> str:
    """The address parameters that fill the form with a stored view."""
    fields: dict[str, Any] = dict(view)
    for name in ("without_items", "without_people", "topics"):
        if name in fields:
            fields[name] = "\n".join(fields[name])
    for name in ("people", "personas"):
        if name in fields:
            fields[name] = [f"{key}: {value}" for key, value in fields[name].items()]
    if "personas" in fields:
        fields["personas"] = "\n".join(fields["personas"])
    fields |= {name: "on" for name in _SWITCHES if fields.get(name)}
    return urlencode(fields, doseq=True)


@require_http_methods(["GET", "POST"])
@login_required
def another_view(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the form, filled from the address, and build the report of a view.

    With `file` in the address, send the view as the file of the command `report --view`.
    """
    sending = request.method == "POST"
    role = Membership.Role.EDITOR if sending else Membership.Role.VIEWER
    study = get_study(request.user, slug, role=role)
    sent: QueryDict = request.POST if sending else request.GET
    form = ViewForm(sent if sending else sent or None, study=study)
    good = form.is_bound and form.is_valid()
    if good and not sending and "file" in sent:
        return JsonResponse(
            written_view(study, form.view),
            headers={"Content-Disposition": f'attachment; filename="{slug}-view.json"'},
            json_dumps_params={"indent": 1, "ensure_ascii": False},
        )
    if good and sending:
        user = cast(User, request.user)
        report = request_report(study_id=study.pk, user=user, view=form.view)
        return redirect("analysis:report", slug=slug, public_id=report.public_id)
    views = reports_for(request.user, slug).exclude(view={})
    names = run_names_in(study) if views else {}
    context = {
        "study": study,
        "form": form,
        "address": f"{reverse('analysis:view', args=[slug])}?{query_of(form.view.content)}"
        if good
        else "",
        "views": [(report, View.of(report.view).changes(names)) for report in views],
        "reports": reports_for(request.user, slug).filter(view={}, state=Report.State.DONE),
        "may_build": studies_for(request.user, role=Membership.Role.EDITOR)
        .filter(slug=slug)
        .exists(),
    }
    status = 422 if form.is_bound and not good else 200
    return render(request, "analysis/view.html", context, status=status)
