"""Second visits: their plan, their pages behind a personal link, and their answers."""

import datetime as dt
import logging
import math
import random
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import (
    require_http_methods,
    require_safe,
)

from analysis.exports.catalogue import Disclosure, ExportTable
from analysis.exports.columns import Column
from analysis.exports.rows import exported_id, to_the_minute
from analysis.exports.table_files import ExportTableFile
from annotation.errors import EntryRefused, WrongStep
from annotation.models import Annotator
from annotation.participants.access import (
    bind,
    code_context,
    find_annotator,
    is_bound,
    no_identity,
    parameters_of,
    see_other,
    study_page,
)
from annotation.participants.added_steps import EndNote, ShownAgain
from annotation.participants.forms import AnswerForm
from annotation.participants.item_context import ItemProgress, ProgressOnItems, item_context
from annotation.seats import flow
from annotation.services.answers import believable_ms
from annotation.services.endings import AtEnd
from annotation.services.identities import identity_hashes
from extras.own_answers.follow_up import verify_return
from extras.own_answers.models import (
    RetestAnswer,
    RetestVisit,
    SecondVisitCode,
    SecondVisitSettings,
)
from extras.own_answers.profiles import forget_profile, own_answers
from studies.models import Item, Side, Study
from studies.pages.responses import REFUSED
from studies.services.studies import record
from studies.statements import clock

logger = logging.getLogger(__name__)
# Its pages have no assignment, but the signed time at which they were shown.
_SHOWN = "annotation.shown"


def second_visits_of(study: Study) -> SecondVisitSettings:
    """The settings; only people who answer for themselves come again."""
    if not study.asks_own_answers:
        return SecondVisitSettings(study=study)
    return SecondVisitSettings.of(study)


def plan_retest(annotator: Annotator) -> None:
    """Draw the items of the second visit of a locked annotator who has completed."""
    study = annotator.study
    wanted = second_visits_of(study)
    if not wanted.retest_share:
        return
    items = [answer.item for answer in own_answers(annotator)]
    if not items or RetestVisit.objects.filter(annotator=annotator):
        return
    rng = random.Random(f"{annotator.seed} retest")  # noqa: S311  for balance, not secrecy
    drawn = rng.sample(items, math.ceil(len(items) * wanted.retest_share / 100))
    visit = RetestVisit.objects.create(
        annotator=annotator, due_at=clock.now() + dt.timedelta(days=wanted.retest_days)
    )
    RetestAnswer.objects.bulk_create(
        RetestAnswer(visit=visit, item=item, position=place, shown_first=_first(item, rng))
        for place, item in enumerate(drawn, start=1)
    )


def _first(item: Item, rng: random.Random) -> str:
    drawn = rng.choice([Side.R1.value, Side.R2.value])
    return item.fixed_first or (drawn if item.shuffle_sides else Side.R1.value)


@transaction.atomic
def answer_again(
    *,
    visit_id: int,
    position: int,
    choice: str,
    certainty: int | None = None,
    active_ms: int | None = None,
    media_missing: bool = False,
) -> RetestVisit:
    """Store an answer as displayed (a, b or tie); the first one is final.

    The last answer ends the visit. Raises `WrongStep` before it is due, and
    `Annotator.DoesNotExist` or `RetestAnswer.DoesNotExist` if there is nothing to answer.
    """
    visit = RetestVisit.objects.select_related("annotator__study").get(pk=visit_id)
    flow.lock(visit.annotator_id)
    if not visit.is_due or visit.annotator.state != Annotator.State.COMPLETED:
        raise WrongStep(f"the second visit of annotator {visit.annotator_id} is not open")
    answer = RetestAnswer.objects.get(visit=visit, position=position)
    if not answer.choice:
        answer.choice, answer.certainty = answer.as_content(choice), certainty
        answer.answered_at, answer.active_ms = clock.now(), active_ms
        answer.media_missing = media_missing
        answer.save(
            update_fields=["choice", "certainty", "answered_at", "active_ms", "media_missing"]
        )
    if not visit.finished_at and not visit.answers.filter(choice="").exists():
        visit.finished_at = clock.now()
        visit.save(update_fields=["finished_at"])
    return visit


def _items(annotator: Annotator) -> QuerySet[Item]:
    """The items of an open second visit."""
    answers = RetestAnswer.objects.filter(
        visit__annotator=annotator,
        visit__annotator__state=Annotator.State.COMPLETED,
        visit__due_at__lte=clock.now(),
        visit__finished_at=None,
    )
    return Item.everything.filter(retest_answers__in=answers)


def forget_retest(annotator: Annotator) -> None:
    """Delete the second visit of a locked annotator who withdraws."""
    RetestAnswer.objects.filter(visit__annotator=annotator).delete()
    RetestVisit.objects.filter(annotator=annotator).delete()


def second_visit_code(study_id: int) -> str:
    """The code of a finished second visit; the first call for a study creates it."""
    code, _ = SecondVisitCode.objects.get_or_create(study_id=study_id)
    return code.code


def pids_due(*, study_id: int, user: User) -> list[str]:
    """The Prolific ids of annotators whose second visit is due, for an allow list there.

    Excluded annotators and deleted ids are left out. The log records who read the ids.
    """
    study = Study.objects.get(pk=study_id)
    wanted = visits_due(study).filter(
        annotator__excluded_at=None, annotator__prolific_identity__isnull=False
    )
    pids = list(wanted.values_list("annotator__prolific_identity__pid", flat=True).order_by("pk"))
    record(study, "ids of second visits downloaded", user=user, ids=len(pids))
    return pids


def visits_of(study: Study) -> dict[str, int]:
    """How many second visits are planned, due and finished."""
    visits = RetestVisit.objects.filter(annotator__study=study)
    finished = visits.exclude(finished_at=None)
    return {
        "planned": visits.count(),
        "due": visits_due(study).count(),
        "finished": finished.count(),
    }


def visits_expected(study: Study) -> QuerySet[RetestVisit]:
    """Unfinished visits, also those that are not due yet."""
    return RetestVisit.objects.filter(
        annotator__study=study, annotator__state=Annotator.State.COMPLETED, finished_at=None
    )


def visits_due(study: Study) -> QuerySet[RetestVisit]:
    """Unfinished visits that annotators can make now."""
    return visits_expected(study).filter(due_at__lte=clock.now())


def _forget(annotator: Annotator) -> None:
    forget_profile(annotator)
    forget_retest(annotator)


AT_END = AtEnd("own_answers", plan_retest, _forget)
AGAIN = ShownAgain("second visits", _items)


@require_safe
@study_page
def retest(request: HttpRequest, study: Study) -> HttpResponse:
    """Find the annotator by the code of their link, their Prolific id or this browser; continue.

    The last page has the completion code for the study on Prolific that brought them back.
    """
    query = parameters_of(request)
    visit, pid = _visit(request, study, query), query.get("PROLIFIC_PID", "")
    if visit is None:
        if pid:
            return _refused_visit(request, study, is_known=False)
        return no_identity(request, study, is_first_page=True)
    if pid:
        if visit.annotator.identity_hash not in identity_hashes(pid):
            return _refused_visit(request, study, is_known=True)
        try:
            is_theirs = verify_return(study, query)
        except EntryRefused:
            return no_identity(request, study)
        # The id is not a secret: the code, the platform or the browser proves who it is.
        has_shown = is_theirs or bool(query.get("code")) or is_bound(request, visit.annotator)
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
    """Show an item for the second time and store the answer."""
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
        fields = {
            name: form.cleaned_data[name] for name in ("choice", "certainty", "media_missing")
        }
        shown_at = _read_shown(request.POST.get("assignment", ""))
        spent = believable_ms(form.active_ms, shown_at) if shown_at else None
        answer_again(visit_id=visit.pk, position=position, active_ms=spent, **fields)
        return see_other(reverse("own_answers:retest", args=[study.slug]))
    places = visit.answers.order_by("position").values_list("position", "choice")
    progress = ProgressOnItems(
        [ItemProgress(n, bool(choice), None, bool(choice)) for n, choice in places]
    )
    context = {
        **item_context(item=item, shown_first=answer.shown_first, form=form, number=position),
        "action": _url(study, position),
        "draft_key": "",
        "token": signing.dumps(clock.now().timestamp(), salt=_SHOWN),
        "number": position,
        "progress": progress,
    }
    status = REFUSED if form.is_bound else 200
    return render(request, "annotation/retest_item.html", context, status=status)


def _open_visits(study: Study) -> QuerySet[RetestVisit]:
    return RetestVisit.objects.filter(
        annotator__study=study, annotator__state=Annotator.State.COMPLETED
    ).select_related("annotator__study")


def _visit(request: HttpRequest, study: Study, query: Mapping[str, str]) -> RetestVisit | None:
    visits = _open_visits(study)
    if code := query.get("code"):
        return visits.filter(code=code).first()
    if pid := query.get("PROLIFIC_PID"):
        return visits.filter(annotator__identity_hash__in=identity_hashes(pid)).first()
    annotator = find_annotator(request, study.slug)
    return visits.filter(annotator=annotator).first() if annotator else None


def _refused_visit(request: HttpRequest, study: Study, *, is_known: bool) -> HttpResponse:
    """Say why this Prolific account has no second visit; `is_known`: another account has one."""
    context = {"study": study, "is_known": is_known}
    return render(request, "annotation/retest_refused.html", context, status=403)


def _url(study: Study, position: int) -> str:
    return reverse("own_answers:retest-item", args=[study.slug, position])


def _shown_at_end(annotator: Annotator) -> Mapping[str, Any]:
    """When to come back, and the annotator's own link."""
    study = annotator.study
    if not second_visits_of(study).retest_share:
        return {}
    visit = RetestVisit.objects.filter(annotator=annotator).first()
    if visit is None or visit.finished_at:
        return {}
    path = f"{reverse('own_answers:retest', args=[study.slug])}?{urlencode({'code': visit.code})}"
    return {"visit": visit, "path": path, "base": settings.PUBLIC_BASE_URL}


NOTE = EndNote("second_visit", "annotation/endings/_second_visit.html", _shown_at_end)


_CHUNK = 500
COLUMNS = (
    Column("study", "text", "Short name of the study."),
    Column("item_id", "text", "The item's id."),
    Column("rater_id", "text", "The person's exported name."),
    Column("position", "integer", "Position of the item in the second visit."),
    Column("shown_first", "text", "The response on side A: r1 or r2."),
    Column("choice", "text", "r1, r2 or tie: the answer in content terms."),
    Column("certainty", "integer", "1 to 100; empty on a tie or if not asked."),
    Column("answered_at", "time", "UTC, to the minute."),
    Column("media_missing", "boolean", "Whether media did not load for this answer."),
)


def answered_again(study: Study) -> QuerySet[RetestAnswer]:
    """The answers of a study's second visits, including those of excluded people."""
    retest_answers = RetestAnswer.objects.exclude(choice="").filter(
        visit__annotator__study=study, visit__annotator__state=Annotator.State.COMPLETED
    )
    return retest_answers.select_related("item", "visit__annotator").order_by(
        "visit__annotator__pseudonym", "position"
    )


def second_visit_table(study: Study, *, times: bool = True) -> Iterator[dict[str, Any]]:
    """One row for each answer of a second visit, by person and position.

    Only people who completed and did not withdraw, under their names in the other tables. Without
    `times`, these cannot match the rows of two exports.
    """
    for row in answered_again(study).iterator(chunk_size=_CHUNK):
        yield {
            "study": study.slug,
            "item_id": row.item.key,
            "rater_id": exported_id(study.export_key, row.visit.annotator.pseudonym),
            "position": row.position,
            "shown_first": row.shown_first,
            "choice": row.choice,
            "certainty": row.certainty,
            "answered_at": to_the_minute(row.answered_at) if times else None,
            "media_missing": row.media_missing,
        }


def _table(study: Study, disclosure: Disclosure) -> ExportTableFile:
    return ExportTableFile(
        "second-visits", COLUMNS, lambda: second_visit_table(study, times=disclosure.times)
    )


SECOND_VISITS = ExportTable(
    "second-visits",
    ("jsonl", "csv", "xlsx"),
    "Second visits: one row per item that a person answered again",
    _table,
)


def _read_shown(token: str) -> dt.datetime | None:
    """When the page was shown; None if this installation did not sign it."""
    try:
        return dt.datetime.fromtimestamp(signing.loads(token, salt=_SHOWN), tz=dt.UTC)
    except signing.BadSignature:
        return None
