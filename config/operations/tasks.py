"""Tasks of the schedule about the installation as a whole."""

from celery import shared_task

from config.operations import retention


@shared_task
def carry_out_retention() -> None:
    retention.carry_out_retention()
