"""The dry run by a button, and by `prolific launch --dry-run`."""

from collections.abc import Iterator

from django.core.management.base import CommandError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotation.prolific.launch.launch import LaunchTrial
from annotation.prolific.pages.views import attempt, editor_page, show, user_of
from extras.prolific_tools.dry_run import DryRun, dry_run
from studies.models import Study
from studies.money import format_money


@require_http_methods(["POST"])
@editor_page
def rehearse(request: HttpRequest, study: Study) -> HttpResponse:
    """A dry run: create drafts, read them back, compare them and delete them."""
    runs: list[DryRun] = []
    done = attempt(
        request,
        lambda: runs.append(dry_run(study_id=study.pk, user=user_of(request))),
        lambda _: "Dry run finished. Nothing was published.",
    )
    if not done:
        return redirect("people:prolific-launch", study.slug)
    return show(request, study, "dry_run", {"found": runs[0], "cost": _cost(runs[0])})


def _cost(dry_run: DryRun) -> str:
    return format_money(sum(draft.cost or 0 for draft in dry_run.drafts), dry_run.currency)


def _lines(study: Study) -> Iterator[str]:
    """What the command prints. Raises `CommandError` if a field differs or a draft is left."""
    run = dry_run(study_id=study.pk)
    yield f"Dry run in {run.workspace}."
    for one in run.requests:
        yield f"{one.method} {one.path}"
    for draft in run.drafts:
        name = f"{draft.label}: " if draft.label else ""
        yield f"{name}{len(draft.same)} fields match."
        for field in draft.differences:
            yield f"{name}{field.name} differs: sent {field.sent}; stored {field.read}"
        if draft.unseen:
            yield f"{name}not returned by Prolific: {', '.join(draft.unseen)}."
        if draft.is_ready is False:
            yield f"{name}Prolific says that it is not ready to publish."
    yield f"Publishing would cost {_cost(run)}."
    if run.left_behind:
        left = ", ".join(run.left_behind)
        raise CommandError(f"Still on Prolific: {left}. The next dry run deletes them.")
    yield "All drafts of the dry run were deleted. Nothing was published."
    if not run.is_clean:
        raise CommandError("Prolific stored some fields differently. See the differences above.")


TRIAL = LaunchTrial(
    "dry-run",
    "create drafts, compare what Prolific stored with what was sent, delete them",
    _lines,
    "prolific_tools:dry-run",
    "Start dry run",
    "A dry run creates the draft on Prolific, compares every field with what we sent, deletes the "
    "draft, and shows every request.",
)
