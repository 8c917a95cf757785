"""Reports are asked for here; `building` does the work, in a worker."""

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max

from analysis.building import DEFAULT_BOOTSTRAP, DEFAULT_SEED, check_parameters
from analysis.models import Report
from analysis.tasks import build_report
from studies.services import lock_study, record


@transaction.atomic
def request_report(
    *,
    study_id: int,
    user: User | None = None,
    threshold: int | None = None,
    seed: int = DEFAULT_SEED,
    bootstrap: int = DEFAULT_BOOTSTRAP,
) -> Report:
    """Queue a report; while the same one is being built, return that instead.

    `threshold` is the study's own unless given. Raises `BadParameters`.
    """
    # The lock makes a double press of the button one report.
    study = lock_study(study_id)
    wanted = {
        "threshold": study.certainty_threshold if threshold is None else threshold,
        "seed": seed,
        "bootstrap": bootstrap,
    }
    check_parameters(**wanted)
    for report in study.reports.filter(state__in=["queued", "running"], **wanted):
        if report.is_open:
            return report
    last = study.reports.aggregate(last=Max("number"))["last"] or 0
    report = Report.objects.create(
        study=study,
        number=last + 1,
        requested_by=user,
        message="Waiting for a worker.",
        **wanted,
    )
    record(study, "report requested", user=user, report=report.public_id, **wanted)
    build_report.delay_on_commit(report.pk)  # type: ignore[attr-defined]
    return report
