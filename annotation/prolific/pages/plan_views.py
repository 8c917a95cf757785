"""The page of a launch plan, and the list of Prolific's filters that it offers."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotation.prolific.api.client import ProlificClient, connect
from annotation.prolific.api.transport import ProlificError
from annotation.prolific.api.types import Filter, FilterSet
from annotation.prolific.launch import launch
from annotation.prolific.launch.plan_words import filter_words
from annotation.prolific.launch.shares import places_of
from annotation.prolific.pages.plan_form import LaunchPlanForm
from annotation.prolific.pages.views import UNPROCESSABLE, attempt, editor_page, show, user_of
from studies.errors import StaleVersion
from studies.models import Study
from studies.pages.responses import onward

# A page waits this long for the list; without it, users type names.
_PATIENCE = 2.0
_SECONDS = 600


@dataclass(frozen=True)
class FilterList:
    """The filters and filter sets, or the reason why they could not be read."""

    filters: Sequence[Filter] = ()
    problem: str = ""
    sets: Sequence[FilterSet] = ()


def read_filters(study_id: int, workspace: str) -> FilterList:
    """The filters and filter sets of a workspace, cached for ten minutes.

    Without a named workspace, those of the only one, because studies and groups belong to it.
    """
    try:
        client = connect(study_id, patience=_PATIENCE)
        key = f"prolific-filter-list {client.origin} {client.token_fragment} {workspace}"
        filters: FilterList | None = cache.get(key.replace(" ", "-"))
        if filters is None:
            known = [workspace] if workspace else list(client.workspaces())
            only = known[0] if len(known) == 1 else ""
            filters = FilterList(client.filters(workspace=only), sets=_sets(client, only))
            cache.set(key.replace(" ", "-"), filters, _SECONDS)
    except ProlificError as error:
        return FilterList(problem=str(error))
    return filters


def _sets(client: ProlificClient, workspace: str) -> list[FilterSet]:
    """The workspace's filter sets; none if they cannot be read, because few plans have one."""
    try:
        return client.filter_sets(workspace=workspace) if workspace else []
    except ProlificError:
        return []


@require_http_methods(["GET", "POST"])
@editor_page
def plan(request: HttpRequest, study: Study) -> HttpResponse:
    """Show and store the launch plan."""
    if request.method == "POST" and "paper" in request.POST:
        attempt(
            request,
            lambda: launch.apply_paper(study_id=study.pk, user=user_of(request)),
            lambda _: "Launch plan and pay set as in the paper.",
        )
        return redirect("people:prolific-plan", study.slug)
    stored = launch.plan_of(study)
    known = read_filters(study.pk, stored.workspace)
    form = LaunchPlanForm(
        request.POST if request.method == "POST" else None,
        stored=stored,
        currency=study.currency,
        questions=list(study.demographic_questions.all()),
        live=known.filters,
        sets=known.sets,
    )
    if (of_quota := study.quota_groups.exists()) and stored.places is None:
        del form.fields["places"]  # they are those of the groups
    seen = request.POST.get("seen")

    def save() -> None:
        launch.save_plan(study_id=study.pk, plan=form.plan(), seen=seen, user=user_of(request))

    try:
        if form.is_valid() and attempt(request, save, lambda _: "Launch plan saved."):
            return onward(request, study.slug, "people:prolific-launch")
    except StaleVersion as error:
        form.add_error(None, str(error))
        seen = None
    status = UNPROCESSABLE if form.is_bound else 200
    context = {
        "form": form,
        "seen": seen or launch.seen_launch(stored),
        "known": known,
        "filters": [filter_words(one, known.filters) for one in stored.filters],
        "places": places_of(stored, study) if of_quota else None,
    }
    return show(request, study, "plan", context, status=status)
