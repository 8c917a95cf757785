"""What the migration to one kind of job does to imports, reports and exports of before."""

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from analysis.models import Export, Recheck, Report
from studies.models import ImportJob
from tests.factories import make_study
from tests.migrating import on_either_database, sampled_migration, tables_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@sampled_migration
@on_either_database
def test_jobs_of_before_keep_who_asked_for_them_when_they_moved_and_how_they_ended(database):
    study = make_study()
    ImportJob.objects.create(study=study, public_id="back", state="failed", message="No.")

    with tables_of(("studies", "0006_sign_ins"), ("analysis", "0006_recheck_reports")) as old:
        user = old.get_model("auth", "User").objects.create(username="ada")
        imports = old.get_model("studies", "ImportJob").objects
        state_after_the_way_back = imports.get(public_id="back").state
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

    assert state_after_the_way_back == "refused"
    waiting, failed = (ImportJob.objects.get(public_id=public_id) for public_id in "ab")
    assert (waiting.requested_by, waiting.state) == (User.objects.get(), "queued")
    assert (waiting.message, waiting.attempts) == ("Waiting for a worker.", 0)
    assert (failed.state, failed.heartbeat_at, failed.finished_at) == (
        *("failed", import_moved, import_moved),
    )
    jobs = [
        (Report.objects.get(pk=report.pk), 0),
        (Export.objects.get(pk=export.pk), 2),
        (Recheck.objects.get(pk=recheck.pk), 0),
    ]
    for job, attempts in jobs:
        assert (job.heartbeat_at, job.attempts, job.expires_at) == (moved, attempts, None)
