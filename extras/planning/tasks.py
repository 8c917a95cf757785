from extras.planning.models import PowerForecast
from studies.jobs.retry import tidy_jobs
from studies.jobs.shared_tasks import shared_task


@shared_task
def compute_forecast(forecast_id: int) -> None:
    """Compute a queued forecast; safe to run twice."""
    from extras.planning import assumptions

    assumptions.compute_queued(forecast_id=forecast_id)


@shared_task
def tidy() -> None:
    """Restart forecasts that a killed worker left behind."""
    tidy_jobs(PowerForecast, compute_forecast)
