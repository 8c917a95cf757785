"""What migrations do to rows that were there before."""

import pytest

from analysis.models import Report
from tests.factories import make_study
from tests.migrating import on_either_database, sampled_migration, tables_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@sampled_migration
@on_either_database
def test_reports_of_before_versions_were_counted_are_numbered_by_study_and_age(database):
    studies = [make_study(), make_study()]

    with tables_of(("analysis", "0003_exports")) as old:
        for study, seed in ((0, 1), (1, 2), (0, 3), (0, 4)):
            old.get_model("analysis", "Report").objects.create(
                study_id=studies[study].pk,
                public_id=f"report-{seed}",
                number=1 if seed == 4 else 0,
                seed=seed,
                threshold=80,
                bootstrap=10,
            )

    numbers = Report.objects.order_by("seed").values_list("number", flat=True)
    assert list(numbers) == [1, 1, 2, 3]
