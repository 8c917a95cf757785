"""Rechecks: a stored report computed again in a worker, and what that found."""

from dataclasses import asdict
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from analysis.errors import AnalysisError
from analysis.models import Report
from extras.report_readers.models import Recheck
from extras.report_readers.tasks import recheck_report
from studies.held_copies import HeldBy, PersonIn
from studies.jobs.retry import same_job
from studies.jobs.runner import JobProgress, carry_out
from studies.services.studies import lock_study, record

# Differences stored with a recheck; the command shows all.
KEPT = 20


@transaction.atomic
def request_recheck(*, report_id: int, user: User | None = None) -> Recheck:
    """Queue a recheck of a finished report, or return the one in progress."""
    report = Report.objects.defer("result").get(pk=report_id, state=Report.State.DONE)
    # The lock makes two presses of the button create one recheck.
    study = lock_study(report.study_id)
    open_ones = Recheck.objects.filter(report=report, state__in=Recheck.OPEN)
    if recheck := same_job(open_ones, recheck_report):
        return recheck
    recheck = Recheck.objects.create(report=report, requested_by=user)
    record(study, "report recheck requested", user=user, report=report.public_id)
    recheck_report.delay_on_commit(recheck.pk)  # type: ignore[attr-defined]
    return recheck


def recheck_queued(*, recheck_id: int) -> Recheck:
    """Recompute the report of a queued recheck and store the changes."""
    return carry_out(Recheck, recheck_id, _recheck, expected=(AnalysisError, OSError))


def _recheck(recheck: Recheck, progress: JobProgress) -> dict[str, Any]:
    # This loads the statistics.
    from extras.report_readers.recomputed.recomputing import read_report, verify_report

    verification = verify_report(read_report(recheck.report.public_id), on_progress=progress)
    return {
        "found": {
            "values": len(verification.differences),
            "first": [asdict(one) for one in verification.differences[:KEPT]],
            "software": [asdict(one) for one in verification.software],
            "reasons": list(verification.reasons),
            "superseded": verification.is_superseded,
            "methods": [
                {"date": one.change.date, "title": one.change.title, "values": one.values}
                for one in verification.methods
            ],
            "unexplained": verification.unexplained,
            "others": verification.others,
        }
    }


def _forget(person: PersonIn) -> None:
    """Delete rechecks that name a person; they can be computed again."""
    Recheck.objects.filter(report__study=person.study, found__icontains=person.name).delete()


HELD = HeldBy("rechecks of reports", forget=_forget)
