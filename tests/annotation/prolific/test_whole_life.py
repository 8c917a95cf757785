"""Recruiting from draft to payday: every place paid once, every seat filled."""

import pytest

from annotation import services
from annotation.prolific import bonuses
from annotation.prolific.bonuses import Line
from annotation.prolific.decide import approve
from annotation.prolific.plan import Plan
from annotation.prolific.settle import APPROVE, BONUS, settlement
from annotation.prolific.sync import follow
from studies.models import Item
from tests.annotation.prolific.life import (
    BALANCE,
    answer_some,
    arrive,
    finish,
    make_recruiting,
    paid_there,
    published,
    ready,
    with_quotas,
)
from tests.factories import answer_all

pytestmark = pytest.mark.django_db


def test_thirty_people_from_draft_to_payday(prolific):
    """Returns, time-outs and late finishers: every seat is filled and every place paid once."""
    study = with_quotas(make_recruiting(items=30, per_person=3), each=5)
    row = published(study, Plan(balance=BALANCE))
    left = 0
    while prolific.world.show_study(row.prolific_id)["status"] == "ACTIVE":
        person, annotator = arrive(prolific, row)
        left += 1
        if left in (3, 11):
            answer_some(annotator, 2)
            prolific.world.give_back(person["submission"])
        elif left == 7:
            prolific.world.time_out(person["submission"])
        elif left == 15:
            answer_all(annotator)
            services.complete(annotator_id=annotator.pk)
            prolific.world.time_out(person["submission"])
        else:
            finish(prolific, person, annotator)
        follow(study_id=study.pk)

    found = settlement(study)
    chosen = [r.submission.pk for r in found.proposing(APPROVE)]
    result = approve(study_id=study.pk, submission_ids=chosen, confirmed=len(chosen))
    payment = ready(
        study,
        [Line(r.submission.pk, r.bonus, r.bonus_reason) for r in found.proposing(BONUS)],
    )
    bonuses.pay(payment_id=payment.pk, confirmed=payment.total)

    statuses = [s.status for s in prolific.world.submissions.values()]
    assert result.approved == statuses.count("APPROVED") == 30
    assert (statuses.count("RETURNED"), statuses.count("TIMED-OUT")) == (2, 2)
    assert sorted(b for paid in paid_there(prolific) for b in paid) == [300, 300, 450]
    assert prolific.world.show_study(row.prolific_id)["status"] == "COMPLETED"
    assert set(Item.objects.filter(study=study).values_list("answered", flat=True)) == {3}
