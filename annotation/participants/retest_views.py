"""The pages of a second visit: some of the items again, by a link of the annotator's own."""

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from annotation.models import Annotator, RetestAnswer, RetestVisit
from annotation.participants.access import bind, find_annotator, no_identity, see_other, study_page
from annotation.participants.context import item_context
from annotation.participants.forms import AnswerForm
from annotation.participants.progress import ItemProgress, Progress
from annotation.seats.identity import identity_hashes
from annotation.services.retests import answer_again
from studies.models import Study

_REFUSED = 422


@require_safe
@study_page
def retest(request: HttpRequest, study: Study) -> HttpResponse:
    """Find the annotator by the code of their link, their Prolific id or this browser; go on."""
    visit = _visit(request, study)
    if visit is None:
        return no_identity(request, study)
    opened = visit.answers.filter(choice="").order_by("position").first()
    if opened is None or not visit.is_due:
        context = {"study": study, "visit": visit, "items": visit.answers.count()}
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
        return no_identity(request, study)
    answer = get_object_or_404(
        RetestAnswer.objects.select_related("item__persona"), visit=visit, position=position
    )
    if answer.choice or not visit.is_due:
        return see_other(reverse("annotation:retest", args=[study.slug]))
    item = answer.item
    item.study = study
    data = request.POST if request.method == "POST" else None
    form = AnswerForm(data, study=study, task=item.task)
    if form.is_valid():
        given = {name: form.cleaned_data[name] for name in ("choice", "certainty", "active_ms")}
        answer_again(visit_id=visit.pk, position=position, **given)
        return see_other(reverse("annotation:retest", args=[study.slug]))
    places = visit.answers.order_by("position").values_list("position", "choice")
    progress = Progress(tuple(ItemProgress(n, bool(choice), None) for n, choice in places))
    context = {
        **item_context(item=item, shown_first=answer.shown_first, form=form, number=position),
        "action": _url(study, position),
        "draft_key": "",
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


def _url(study: Study, position: int) -> str:
    return reverse("annotation:retest-item", args=[study.slug, position])
