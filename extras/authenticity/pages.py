"""Results of authenticity checks on the page where one approves and pays."""

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.views.decorators.http import require_http_methods

from annotation.prolific.pages.views import editor_page, user_of
from annotation.prolific.settle.proposals import SettlementPart
from extras.authenticity.models import AuthenticityResult
from extras.authenticity.results import MOST_BYTES, BadAuthenticityFile, import_authenticity
from studies.models import Study


class AuthenticityForm(forms.Form):
    file = forms.FileField(
        label="Results of Prolific’s authenticity checks (CSV)",
        required=False,
        help_text="Prolific’s API does not have them: on Prolific, download the demographic data "
        "of the study. The results are shown with each person, and decide nothing.",
    )


@require_http_methods(["POST"])
@editor_page
def store(request: HttpRequest, study: Study) -> HttpResponse:
    """Store the results of authenticity checks from an export of Prolific."""
    file = request.FILES.get("file")
    if file is None:
        messages.error(request, "Choose the CSV file that you downloaded from Prolific.")
    else:
        try:
            done = import_authenticity(study, file.read(MOST_BYTES + 1), user=user_of(request))
        except BadAuthenticityFile as error:
            messages.error(request, str(error))
        else:
            others = f" Rows of other studies: {done.unknown:,}." if done.unknown else ""
            messages.success(request, f"Submissions with results now: {done.stored:,}.{others}")
    return redirect("people:prolific-settle", study.slug)


def _words(study: Study) -> dict[int, str]:
    found = AuthenticityResult.objects.filter(submission__prolific_study__study=study)
    return {
        result.submission_id: f"On Prolific: {result.words}. Not a reason to reject."
        for result in found
    }


PART = SettlementPart(
    "authenticity", "authenticity/part.html", lambda _study: {"form": AuthenticityForm()}, _words
)

app_name = "authenticity"
urlpatterns = [path("", store, name="store")]
