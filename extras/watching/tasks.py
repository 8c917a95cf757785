"""Tasks for the worker: the schedule of watched sets, and notices by e-mail."""

import smtplib

from studies.jobs.shared_tasks import shared_task


@shared_task
def tidy() -> None:
    """Finish looks that are answered, and begin those that are due. Runs every minute."""
    from extras.watching.looks import follow_up

    follow_up()


@shared_task(
    autoretry_for=(OSError, smtplib.SMTPException),
    retry_backoff=10,
    retry_backoff_max=300,
    max_retries=5,
)
def send_notice(watched_id: int) -> None:
    """Tell a study's owners and editors by e-mail what has moved."""
    from extras.watching.notices import send_mail_about

    send_mail_about(watched_id)
