"""Requests for a forecast, and the worker's part of it."""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from analysis.errors import BadParameters
from extras.planning.assumptions import Assumptions
from extras.planning.models import PowerForecast
from extras.planning.tasks import compute_forecast
from studies.jobs.models import WAITING
from studies.jobs.runner import JobProgress, carry_out
from studies.services.studies import lock_study
from studies.statements import clock


def forecast_of(study_id: int) -> PowerForecast | None:
    return PowerForecast.objects.filter(study=study_id).first()


@transaction.atomic
def request_forecast(*, study_id: int, assumed: Assumptions, user: User | None) -> PowerForecast:
    """Queue the forecast of a study; one that is running with other values is stopped."""
    # The lock makes sure that pressing the button twice queues it once.
    study = lock_study(study_id)
    found, _ = PowerForecast.objects.get_or_create(
        study=study, defaults={"state": PowerForecast.State.DONE}
    )
    if found.is_open and not found.is_stalled and found.assumptions == assumed.stored:
        return found
    PowerForecast.objects.filter(pk=found.pk).update(
        state=PowerForecast.State.QUEUED,
        message=WAITING,
        progress=0,
        # A worker of the one before has another number, so that it cannot end this one.
        attempts=found.attempts + 1 if found.is_open else 0,
        requested_by=user,
        assumptions=assumed.stored,
        heartbeat_at=clock.now(),
        finished_at=None,
    )
    compute_forecast.delay_on_commit(found.pk)  # type: ignore[attr-defined]
    found.refresh_from_db()
    return found


def compute_queued(*, forecast_id: int) -> PowerForecast:
    """Compute a queued forecast; running it twice computes it once."""
    return carry_out(PowerForecast, forecast_id, _compute, expected=(BadParameters,))


def _compute(job: PowerForecast, progress: JobProgress) -> Mapping[str, Any]:
    from extras.planning.forecast import forecast

    assumed = Assumptions.read(job.assumptions)
    return {"result": forecast(job.study, assumed, on_progress=progress)}
