"""Is everything there that an answer or a judgment needs?"""

import os
import time

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from kombu.exceptions import OperationalError

from config.celery import HEARTBEAT_SECONDS, app


def healthz(request: HttpRequest) -> JsonResponse:
    """200 when the database and the broker answer, otherwise 503 with what does not."""
    checks = {"database": _database(), "broker": _broker()}
    healthy = all(state == "ok" for state in checks.values())
    return JsonResponse(
        {"status": "ok" if healthy else "unavailable", **checks}, status=200 if healthy else 503
    )


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return "unreachable"
    return "ok"


def _broker() -> str:
    if settings.CELERY_BROKER_URL.startswith("filesystem://"):
        if not os.access(settings.VAR_DIR / "queue" / "messages", os.W_OK):
            return "folder not writable"
        try:
            age = time.time() - settings.WORKER_HEARTBEAT.stat().st_mtime
        except FileNotFoundError:
            return "no worker"
        return "ok" if age < 3 * HEARTBEAT_SECONDS else "no worker"
    try:
        with app.connection_for_write(settings.CELERY_BROKER_URL, connect_timeout=2) as broker:
            broker.ensure_connection(max_retries=0, timeout=2)
    except (OperationalError, OSError):
        return "unreachable"
    return "ok"
