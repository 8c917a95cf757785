"""What the migration to one kind of job does to imports, reports and exports of before."""

import pytest
from django.utils import timezone

from tests.migrating import on_either_database, tables

pytestmark = pytest.mark.django_db
MODELS = ["studies.ImportJob", "analysis.Recheck", "analysis.Export"]
MIGRATIONS = [
    ("studies", "0007_imports_as_jobs"),
    ("studies", "0008_states_of_imports"),
    ("studies", "0009_constraints_of_imports"),
    ("analysis", "0007_columns_of_jobs"),
]


def rows_of(models, label):
    return models.get_model(label).objects


@on_either_database
def test_jobs_of_before_keep_who_asked_for_them_when_they_moved_and_how_they_ended(database):
    with tables(MODELS, MIGRATIONS) as migrated:
        study = rows_of(migrated.models, "studies.Study").create(slug="s", title="S")
        imports = rows_of(migrated.models, "studies.ImportJob")
        imports.create(study=study, public_id="back", state="failed", message="No.")

        old = migrated.go_back()
        user = rows_of(old, "auth.User").create(username="ada")
        imports = rows_of(old, "studies.ImportJob")
        state_after_the_way_back = imports.get(public_id="back").state
        imports.create(study_id=study.pk, user_id=user.pk, public_id="a", message="")
        imports.create(
            study_id=study.pk, public_id="b", state="refused", message="Faults.", progress=100
        )
        import_moved = imports.get(public_id="b").moved_at
        reports = rows_of(old, "analysis.Report")
        report = reports.create(study_id=study.pk, number=1, threshold=80, bootstrap=10, seed=1)
        exports = rows_of(old, "analysis.Export")
        exports.create(study_id=study.pk, what="all", format="csv", attempts=2)
        rechecks = rows_of(old, "analysis.Recheck")
        rechecks.create(report_id=report.pk)
        moved = timezone.now()
        for rows in (reports, exports, rechecks):
            rows.update(moved_at=moved)

        new = migrated.go_on()
        imports = rows_of(new, "studies.ImportJob")
        waiting, failed = (imports.get(public_id=public_id) for public_id in "ab")
        jobs = [
            (rows_of(new, f"analysis.{model}").get(), attempts)
            for model, attempts in (("Report", 0), ("Export", 2), ("Recheck", 0))
        ]

    assert state_after_the_way_back == "refused"
    assert (waiting.requested_by_id, waiting.state) == (user.pk, "queued")
    assert (waiting.message, waiting.attempts) == ("Waiting for a worker.", 0)
    assert (failed.state, failed.heartbeat_at, failed.finished_at) == (
        *("failed", import_moved, import_moved),
    )
    for job, attempts in jobs:
        assert (job.heartbeat_at, job.attempts, job.expires_at) == (moved, attempts, None)
