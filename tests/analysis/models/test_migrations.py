"""What migrations do to rows that were there before."""

import pytest

from tests.migrating import on_either_database, tables

pytestmark = pytest.mark.django_db
MIGRATIONS = [("analysis", "0004_number_reports"), ("analysis", "0005_report_number_once")]


@on_either_database
def test_reports_of_before_versions_were_counted_are_numbered_by_study_and_age(database):
    with tables(["analysis.Report"], MIGRATIONS) as migrated:
        old = migrated.go_back()
        add = old.get_model("studies", "Study").objects.create
        studies = [add(slug="one", title="One"), add(slug="other", title="Other")]
        for study, seed in ((0, 1), (1, 2), (0, 3), (0, 4)):
            old.get_model("analysis", "Report").objects.create(
                study_id=studies[study].pk,
                public_id=f"report-{seed}",
                number=1 if seed == 4 else 0,
                seed=seed,
                threshold=80,
                bootstrap=10,
            )

        reports = migrated.go_on().get_model("analysis", "Report").objects
        numbers = list(reports.order_by("seed").values_list("number", flat=True))

    assert numbers == [1, 1, 2, 3]
