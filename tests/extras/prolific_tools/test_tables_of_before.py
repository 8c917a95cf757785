"""Figures and demographics that were read when each was an extra of its own are still there."""

import pytest
from django.db import connection
from django.utils import timezone

from annotation.models import ProlificSubmission
from annotation.prolific.sync.sync import follow
from extras.prolific_tools.models import ProlificCosts, StatedDemographics
from tests.annotation.prolific.life import arrive, make_recruiting, published
from tests.moved import update_from_before


@pytest.mark.django_db(transaction=True)
def test_an_update_keeps_the_rows_of_both_tables(prolific):
    row = published(make_recruiting())
    arrive(prolific, row)
    follow(study_id=row.study_id)
    submission = ProlificSubmission.objects.get()
    ProlificCosts.objects.create(prolific_study=row, so_far={"total": 120}, read_at=timezone.now())
    StatedDemographics.objects.create(submission=submission, answers={"age": "34"})

    update_from_before("prolific_tools")

    assert ProlificCosts.objects.get().so_far == {"total": 120}
    assert StatedDemographics.objects.get().answers == {"age": "34"}
    with connection.cursor() as cursor:
        for table in ("prolific_ledger_prolificcosts", "prolific_demographics_stateddemographics"):
            cursor.execute(f"SELECT count(*) FROM {table}")
            assert cursor.fetchone() == (1,)
