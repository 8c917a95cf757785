"""Celery tasks; each calls one service."""

from celery import shared_task

from annotation.services.expiry import release_expired


@shared_task
def release_expired_seats() -> None:
    release_expired()
