"""What the migration to one kind of job does to imports, reports and exports of before."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from tests.factories import make_study

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
BEFORE = [("studies", "0006_sign_ins"), ("analysis", "0006_recheck_reports")]
AFTER = [("studies", "0009_constraints_of_imports"), ("analysis", "0007_columns_of_jobs")]


def migrate(targets):
    executor = MigrationExecutor(connection)
    executor.migrate(targets)
    return executor.loader.project_state(targets).apps


@pytest.fixture(autouse=True)
def newest_afterwards():
    """Other tests of this process use the same tables."""
    yield
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


def test_jobs_of_before_keep_who_asked_for_them_when_they_moved_and_how_they_ended():
    """One test, because to migrate there and back takes seconds each time."""
    study = make_study()
    old = migrate(BEFORE)
    user = old.get_model("auth", "User").objects.create(username="ada")
    imports = old.get_model("studies", "ImportJob").objects
    imports.create(study_id=study.pk, user_id=user.pk, public_id="a", message="")
    imports.create(
        study_id=study.pk, public_id="b", state="refused", message="Faults.", progress=100
    )
    import_moved = imports.get(public_id="b").moved_at
    reports = old.get_model("analysis", "Report").objects
    report = reports.create(study_id=study.pk, number=1, threshold=80, bootstrap=10, seed=1)
    exports = old.get_model("analysis", "Export").objects
    export = exports.create(study_id=study.pk, what="all", format="csv", attempts=2)
    rechecks = old.get_model("analysis", "Recheck").objects
    recheck = rechecks.create(report_id=report.pk)
    moved = timezone.now()
    for rows in (reports, exports, rechecks):
        rows.update(moved_at=moved)

    new = migrate(AFTER)

    imports = new.get_model("studies", "ImportJob").objects
    waiting, failed = imports.get(public_id="a"), imports.get(public_id="b")
    assert (waiting.requested_by_id, waiting.state) == (user.pk, "queued")
    assert (waiting.message, waiting.attempts) == ("Waiting for a worker.", 0)
    assert (failed.state, failed.heartbeat_at, failed.finished_at) == (
        *("failed", import_moved, import_moved),
    )
    for name, pk, attempts in (
        ("Report", report.pk, 0),
        ("Export", export.pk, 2),
        ("Recheck", recheck.pk, 0),
    ):
        job = new.get_model("analysis", name).objects.get(pk=pk)
        assert (job.heartbeat_at, job.attempts, job.expires_at) == (moved, attempts, None)

    back = migrate(BEFORE).get_model("studies", "ImportJob").objects
    assert back.get(public_id="b").state == "refused"
