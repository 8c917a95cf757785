"""A page with every component of the design system."""

from django import forms
from django.contrib.admin.views.decorators import staff_member_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from studies.models import Study
from studies.pages.overview_views import Setup
from studies.pages.workbench import NavigationLink, Need, SectionLink, SetupTask, TaskState

COLOURS = (
    ("text", "text"),
    ("secondary", "secondary text"),
    ("link", "links, primary buttons"),
    ("border", "borders of controls"),
    ("line", "lines between things"),
    ("surface", "quiet ground"),
    ("selected", "chosen, hovered"),
    ("progress", "every bar of progress"),
    ("error", "errors"),
    ("warning", "warnings"),
    ("ok", "done, open"),
    ("people", "data: people"),
    ("model", "data: models"),
    ("correct", "data: right"),
    ("wrong", "data: wrong"),
)
SPACES = (4, 8, 16, 24, 40)


class _Fields(forms.Form):
    title = forms.CharField(label="Title", help_text="Shown to annotators at the top of every page")
    state = forms.ChoiceField(label="State", choices=[("", "all"), ("open", "open")])
    reason = forms.CharField(label="Reason", widget=forms.Textarea(attrs={"rows": 3}))


@require_GET
@staff_member_required
def components(request: HttpRequest) -> HttpResponse:
    """Show every component of the design system, for developers."""
    context = {
        "colours": COLOURS,
        "spaces": SPACES,
        "states": [Study(state=state) for state in Study.State],
        "form": _Fields({"title": "", "state": "open", "reason": "A pilot."}),
        "may_edit": True,
        "links": [
            NavigationLink("Overview", "#navigation", "page", None, ()),
            NavigationLink("Items", "#navigation", "", 300, ()),
            NavigationLink("Annotators", "#navigation", "", 34, ("3 to approve",)),
            NavigationLink("Judges", "#navigation", "", 9, ("1 stopped",)),
        ],
        "pages": [
            SectionLink("All annotators", "#navigation", "page"),
            SectionLink("Places and quota", "#navigation", ""),
        ],
        "setup": Setup(
            [
                SetupTask(
                    "items",
                    "Items",
                    TaskState.DONE,
                    "300 items with the persona’s own answer",
                    "#tasks",
                ),
                SetupTask(
                    "texts",
                    "Consent",
                    TaskState.ATTENTION,
                    "Not stated yet: who runs the study",
                    "#tasks",
                ),
                SetupTask(
                    "judges", "Judges", TaskState.NOT_STARTED, "No judge asked yet", "#tasks"
                ),
                SetupTask(
                    "plan",
                    "Plan",
                    TaskState.NOT_STARTED,
                    "Not computed yet",
                    "#tasks",
                    is_optional=True,
                ),
            ]
        ),
        "needs": [
            Need("3 submissions wait for approval and pay.", "#cards", "Approve and pay", True),
            Need("2 of 30 quota groups are full.", "#cards", "Places and quota"),
        ],
    }
    return render(request, "administration/components.html", context)
