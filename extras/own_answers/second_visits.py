"""Plans second visits, and stores what annotators answer then."""

import datetime as dt
import math
import random

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from annotation.errors import WrongStep
from annotation.models import Annotator
from annotation.participants.added_steps import ShownAgain
from annotation.seats import flow
from annotation.services.endings import AtEnd
from extras.own_answers.models import RetestAnswer, RetestVisit, SecondVisitCode
from extras.own_answers.profiles import forget_profile, own_answers
from studies.models import Item, Side, Study
from studies.services.studies import record
from studies.statements import clock


def plan_retest(annotator: Annotator) -> None:
    """Draw the items of the second visit of a locked annotator who has completed."""
    study = annotator.study
    if not study.retest_share:
        return
    items = [answer.item for answer in own_answers(annotator)]
    if not items or RetestVisit.objects.filter(annotator=annotator):
        return
    rng = random.Random(f"{annotator.seed} retest")  # noqa: S311  balance, not secrecy
    drawn = rng.sample(items, math.ceil(len(items) * study.retest_share / 100))
    visit = RetestVisit.objects.create(
        annotator=annotator, due_at=clock.now() + dt.timedelta(days=study.retest_days)
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
    """Store an answer as displayed: a, b or tie; the first one is final.

    The last one ends the visit. Raises `WrongStep` before it is due, and `Annotator.DoesNotExist`
    or `RetestAnswer.DoesNotExist` if there is nothing to answer.
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
    """The items of a second visit that is open."""
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

    Excluded annotators and those whose id was deleted are left out. The log says who read them.
    """
    study = Study.objects.get(pk=study_id)
    wanted = _due(study).filter(
        annotator__excluded_at=None, annotator__prolific_identity__isnull=False
    )
    found = list(wanted.values_list("annotator__prolific_identity__pid", flat=True).order_by("pk"))
    record(study, "ids of second visits downloaded", user=user, ids=len(found))
    return found


def visits_of(study: Study) -> dict[str, int]:
    """How many second visits are planned, due and finished."""
    visits = RetestVisit.objects.filter(annotator__study=study)
    finished = visits.exclude(finished_at=None)
    return {"planned": visits.count(), "due": _due(study).count(), "finished": finished.count()}


def _due(study: Study) -> QuerySet[RetestVisit]:
    """Visits that annotators can make now, and have not finished."""
    return RetestVisit.objects.filter(
        annotator__study=study,
        annotator__state=Annotator.State.COMPLETED,
        due_at__lte=clock.now(),
        finished_at=None,
    )


def _forget(annotator: Annotator) -> None:
    forget_profile(annotator)
    forget_retest(annotator)


AT_END = AtEnd("own_answers", plan_retest, _forget)
AGAIN = ShownAgain("second visits", _items)
