"""What migrations do to rows that were there before."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from tests.factories import make_study

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def migrate(name: str):
    """Bring the tables of the reports to migration `name` and return the models of then."""
    executor = MigrationExecutor(connection)
    executor.migrate([("analysis", name)])
    return executor.loader.project_state([("analysis", name)]).apps


@pytest.fixture(autouse=True)
def newest_afterwards():
    """Other tests of this process use the same tables."""
    yield
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


def test_reports_of_before_versions_were_counted_are_numbered_by_study_and_age():
    studies = [make_study(), make_study()]
    before = migrate("0003_exports").get_model("analysis", "Report").objects
    for study, seed in ((0, 1), (1, 2), (0, 3), (0, 4)):
        before.create(
            study_id=studies[study].pk,
            public_id=f"report-{seed}",
            number=1 if seed == 4 else 0,
            seed=seed,
            threshold=80,
            bootstrap=10,
        )

    reports = migrate("0005_report_number_once").get_model("analysis", "Report").objects

    assert list(reports.order_by("seed").values_list("number", flat=True)) == [1, 1, 2, 3]
