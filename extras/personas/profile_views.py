"""Pages to request and review profile texts that a judge writes from earlier choices."""

from decimal import Decimal
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.db.models import Sum
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from extras.personas.drafting import (
    ASKED,
    LONGEST,
    accept,
    reject,
    request_drafts,
    without_draft,
)
from extras.personas.models import DraftingJob, ProfileDraft
from extras.personas.tasks import write_profile_drafts
from judging.errors import JudgingError
from judging.models import NANO, Judge
from judging.pages.asking_forms import budget_field, offer_judges
from studies.errors import StudyError
from studies.importers.files.faults import Refused
from studies.importers.items.storage import why_not
from studies.jobs.retry import Retry, job_status
from studies.models import Membership, Study
from studies.pages.responses import REFUSED
from studies.pages.workbench import SectionPage
from studies.selectors import get_study

PER_PAGE = 10


class DraftingForm(forms.Form):
    """The judge that writes, and its budget."""

    judge = forms.ModelChoiceField(
        queryset=Judge.objects.none(), label="Judge that writes", empty_label="Choose one"
    )
    budget = budget_field()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer_judges(self, "judge")


@login_required
@require_http_methods(["GET", "POST"])
def profiles_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the texts to review, and let a judge write more."""
    study = _study(request, slug)
    form = DraftingForm(request.POST or None)
    if form.is_valid():
        try:
            job = request_drafts(
                study_id=study.pk, user=cast(User, request.user), **form.cleaned_data
            )
        except (StudyError, JudgingError) as error:
            form.add_error(None, str(error))
        else:
            write_profile_drafts.delay_on_commit(job.pk)  # type: ignore[attr-defined]
            return redirect("personas:profiles", slug)
    latest = _latest(study)
    drafts = ProfileDraft.objects.filter(persona__study=study).select_related("persona", "job")
    waiting = drafts.filter(state=ProfileDraft.State.WRITTEN).order_by("persona__key", "pk")
    used = drafts.aggregate(nano=Sum("spent_nano", default=0))
    context = {
        "study": study,
        "form": form,
        "job": latest,
        "retry": Retry(reverse("personas:profiles", args=[slug]), "Ask again", is_link=True),
        "page": Paginator(waiting, PER_PAGE).get_page(request.GET.get("page")),
        "decided": drafts.filter(reviewed_at__isnull=False)
        .select_related("reviewed_by")
        .order_by("-reviewed_at")[:PER_PAGE],
        "failed": drafts.filter(state=ProfileDraft.State.FAILED).count(),
        "spent": Decimal(used["nano"]) / NANO,
        "open": len(without_draft(study)),
        "in_use": why_not(study),
        "asked": ASKED,
        "longest": LONGEST,
    }
    status = REFUSED if form.errors else 200
    return render(request, "personas/profiles.html", context, status=status)


@login_required
@require_GET
def profiles_status(request: HttpRequest, slug: str) -> JsonResponse:
    """Show the progress that the page fetches while texts are written."""
    return job_status(_latest(_study(request, slug)))


@login_required
@require_POST
def decide_profile(request: HttpRequest, slug: str) -> HttpResponse:
    """Accept a text, as it is or edited, or reject it."""
    study, user = _study(request, slug), cast(User, request.user)
    draft_id = request.POST.get("draft", "")
    if not ProfileDraft.objects.filter(persona__study=study, public_id=draft_id).exists():
        raise Http404("This text does not exist.")
    try:
        if "accept" in request.POST:
            text = request.POST.get("text", "").replace("\r\n", "\n").strip()
            draft = accept(study=study, draft_id=draft_id, text=text, user=user)
            messages.success(request, f"Persona {draft.persona.key} now has this text.")
        else:
            draft = reject(study=study, draft_id=draft_id, user=user)
            messages.success(request, f"Persona {draft.persona.key} is unchanged.")
    except (StudyError, Refused) as error:
        messages.error(request, str(error))
    return redirect("personas:profiles", slug)


def _study(request: HttpRequest, slug: str) -> Study:
    return get_study(request.user, slug, role=Membership.Role.EDITOR)


def _latest(study: Study) -> DraftingJob | None:
    return DraftingJob.objects.filter(study=study).order_by("-pk").first()


def pages(study: Study) -> list[SectionPage]:
    changed = reverse("personas:changed-personas", args=[study.slug])
    others = reverse("personas:other-personas", args=[study.slug])
    texts = reverse("personas:profiles", args=[study.slug])
    return [
        SectionPage("items", "Changed personas", changed, for_editors=True),
        SectionPage("items", "Other personas", others, for_editors=True),
        SectionPage("judges", "Profile texts", texts, for_editors=True),
    ]
