"""The pages of a second visit: some of the items again, by a link of the annotator's own.

And the page for researchers: how many visits are due, and how to bring people back on Prolific.
"""

from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import (
    require_GET,
    require_http_methods,
    require_POST,
    require_safe,
)

from annotation.errors import EntryRefused
from annotation.models import Annotator
from annotation.participants.access import (
    bind,
    code_context,
    find_annotator,
    is_bound,
    no_identity,
    see_other,
    study_page,
)
from annotation.participants.added_steps import EndNote
from annotation.participants.forms import AnswerForm
from annotation.participants.items.context import item_context
from annotation.participants.items.progress import ItemProgress, ProgressOnItems
from annotation.participants.tokens import read_shown_token, shown_token
from annotation.prolific.launch.launch_plan import with_ids
from annotation.prolific.sync.entry import verify_return
from annotation.seats.identity import identity_hashes
from annotation.services.answers import believable_ms
from extras.own_answers.models import RetestAnswer, RetestVisit
from extras.own_answers.second_visits import answer_again, pids_due, second_visit_code, visits_of
from studies.models import Membership, Study
from studies.pages.listing import role_of
from studies.selectors import get_study

_REFUSED = 422


@require_safe
@study_page
def retest(request: HttpRequest, study: Study) -> HttpResponse:
    """Find the annotator by the code of their link, their Prolific id or this browser; go on.

    The last page has the completion code for a study on Prolific that brought them back.
    """
    visit, pid = _visit(request, study), request.GET.get("PROLIFIC_PID", "")
    if visit is None:
        if pid:
            return _not_theirs(request, study, is_known=False)
        return no_identity(request, study, is_first_page=True)
    if pid:
        if visit.annotator.identity_hash not in identity_hashes(pid):
            return _not_theirs(request, study, is_known=True)
        try:
            is_theirs = verify_return(study, request.GET)
        except EntryRefused:
            return no_identity(request, study)
        # The id is no secret: the code, the platform or the own browser shows who it is.
        has_shown = is_theirs or bool(request.GET.get("code")) or is_bound(request, visit.annotator)
        if not has_shown:
            return no_identity(request, study, is_other_device=True)
    opened = visit.answers.filter(choice="").order_by("position").first()
    if opened is None or not visit.is_due:
        on_platform = visit.finished_at and study.entry == Study.Entry.PROLIFIC
        context = {
            "study": study,
            "visit": visit,
            "items": visit.answers.count(),
            **code_context(study, second_visit_code(study.pk) if on_platform else ""),
        }
        response = render(request, "annotation/retest.html", context)
    else:
        response = see_other(_url(study, opened.position))
    return bind(request, response, visit.annotator)


@require_http_methods(["GET", "POST"])
@study_page
def retest_item(request: HttpRequest, study: Study, position: int) -> HttpResponse:
    """Show an item for the second time, and store the answer."""
    annotator = find_annotator(request, study.slug)
    visit = _open_visits(study).filter(annotator=annotator).first() if annotator else None
    if visit is None:
        return no_identity(request, study, is_first_page=False)
    answer = get_object_or_404(
        RetestAnswer.objects.select_related("item__persona"), visit=visit, position=position
    )
    if answer.choice or not visit.is_due:
        return see_other(reverse("own_answers:retest", args=[study.slug]))
    item = answer.item
    item.study = study
    data = request.POST if request.method == "POST" else None
    form = AnswerForm(data, study=study, task=item.task)
    if form.is_valid():
        given = {name: form.cleaned_data[name] for name in ("choice", "certainty", "media_missing")}
        shown_at = read_shown_token(request.POST.get("assignment", ""))
        spent = believable_ms(form.active_ms, shown_at) if shown_at else None
        answer_again(visit_id=visit.pk, position=position, active_ms=spent, **given)
        return see_other(reverse("own_answers:retest", args=[study.slug]))
    places = visit.answers.order_by("position").values_list("position", "choice")
    progress = ProgressOnItems(tuple(ItemProgress(n, bool(choice), None) for n, choice in places))
    context = {
        **item_context(item=item, shown_first=answer.shown_first, form=form, number=position),
        "action": _url(study, position),
        "draft_key": "",
        "token": shown_token(),
        "number": position,
        "progress": progress,
    }
    status = _REFUSED if form.is_bound else 200
    return render(request, "annotation/retest_item.html", context, status=status)


def _open_visits(study: Study) -> QuerySet[RetestVisit]:
    return RetestVisit.objects.filter(
        annotator__study=study, annotator__state=Annotator.State.COMPLETED
    ).select_related("annotator__study")


def _visit(request: HttpRequest, study: Study) -> RetestVisit | None:
    visits = _open_visits(study)
    if code := request.GET.get("code"):
        return visits.filter(code=code).first()
    if pid := request.GET.get("PROLIFIC_PID"):
        return visits.filter(annotator__identity_hash__in=identity_hashes(pid)).first()
    annotator = find_annotator(request, study.slug)
    return visits.filter(annotator=annotator).first() if annotator else None


def _not_theirs(request: HttpRequest, study: Study, *, is_known: bool) -> HttpResponse:
    """Say why this Prolific account has no second visit here; `is_known`: somebody else has."""
    context = {"study": study, "is_known": is_known}
    return render(request, "annotation/retest_refused.html", context, status=403)


def _url(study: Study, position: int) -> str:
    return reverse("own_answers:retest-item", args=[study.slug, position])


def _shown_at_end(annotator: Annotator) -> Mapping[str, Any]:
    """When to come back, and the annotator's own link."""
    study = annotator.study
    visit = RetestVisit.objects.filter(annotator=annotator).first() if study.retest_share else None
    if visit is None or visit.finished_at:
        return {}
    path = f"{reverse('own_answers:retest', args=[study.slug])}?{urlencode({'code': visit.code})}"
    return {"visit": visit, "path": path, "base": settings.PUBLIC_BASE_URL}


NOTE = EndNote("second_visit", "annotation/endings/_second_visit.html", _shown_at_end)


@require_GET
@login_required
def second_visits(request: HttpRequest, slug: str) -> HttpResponse:
    """Show how many second visits are due, and the address and code for a study on Prolific."""
    study = _first_person_study(request, slug, Membership.Role.EDITOR)
    context = {"study": study, "visits": visits_of(study)}
    if study.entry == Study.Entry.PROLIFIC:
        path = reverse("own_answers:retest", args=[study.slug])
        context |= {
            "address": with_ids(f"{settings.PUBLIC_BASE_URL}{path}"),
            "code": second_visit_code(study.pk),
            "may_download": role_of(request.user, study) == Membership.Role.OWNER,
        }
    return render(request, "annotation/researcher/second_visits.html", context)


@require_POST
@login_required
def due_ids(request: HttpRequest, slug: str) -> HttpResponse:
    """Download the Prolific ids of those who are due, one in each line, for owners."""
    study = _first_person_study(request, slug, Membership.Role.OWNER)
    pids = pids_due(study_id=study.pk, user=cast(User, request.user))
    response = HttpResponse(
        "".join(f"{pid}\n" for pid in pids), content_type="text/plain; charset=utf-8"
    )
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-second-visits.txt"'
    return response


def _first_person_study(request: HttpRequest, slug: str, role: str) -> Study:
    study = get_study(request.user, slug, role=role)
    if not study.asks_own_answers:
        raise Http404("only people who answer for themselves are asked again")
    return study
