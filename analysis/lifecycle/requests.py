"""Requests for reports and rechecks; a worker does the work with `build_job`."""

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max

from analysis.lifecycle.parameters import check_parameters
from analysis.lifecycle.plans import registered
from analysis.models import Recheck, Report
from analysis.tasks import build_report, recheck_report
from studies.jobs.retry import same_job
from studies.services.studies import lock_study, record


@transaction.atomic
def request_report(
    *,
    study_id: int,
    user: User | None = None,
    threshold: int | None = None,
    seed: int | None = None,
    bootstrap: int | None = None,
) -> Report:
    """Queue a report, or return the same one if it is already being built.

    A value that is not given comes from the study's plan, else from the defaults.
    Raises `BadParameters`.
    """
    # The lock makes sure that pressing the button twice creates one report.
    study = lock_study(study_id)
    default = registered(study)
    parameters = {
        "threshold": default.threshold if threshold is None else threshold,
        "seed": default.seed if seed is None else seed,
        "bootstrap": default.bootstrap if bootstrap is None else bootstrap,
    }
    check_parameters(**parameters)
    same = study.reports.filter(state__in=Report.OPEN, **parameters)
    if report := same_job(same, build_report):
        return report
    last = study.reports.aggregate(last=Max("number"))["last"] or 0
    report = Report.objects.create(
        study=study,
        number=last + 1,
        requested_by=user,
        **parameters,
    )
    record(study, "report requested", user=user, report=report.public_id, **parameters)
    build_report.delay_on_commit(report.pk)  # type: ignore[attr-defined]
    return report


@transaction.atomic
def request_recheck(*, report_id: int, user: User | None = None) -> Recheck:
    """Queue a recheck of a finished report, or return the one that is already in progress."""
    report = Report.objects.defer("result").get(pk=report_id, state=Report.State.DONE)
    # As above, pressing the button twice creates one recheck.
    study = lock_study(report.study_id)
    if recheck := same_job(report.rechecks.filter(state__in=Recheck.OPEN), recheck_report):
        return recheck
    recheck = Recheck.objects.create(report=report, requested_by=user)
    record(study, "report recheck requested", user=user, report=report.public_id)
    recheck_report.delay_on_commit(recheck.pk)  # type: ignore[attr-defined]
    return recheck
