"""The Celery app, and the sign of life that /healthz reads where the broker is a folder."""

import os
import threading
from pathlib import Path
from typing import Any

from celery import Celery
from celery.signals import worker_ready, worker_shutdown

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")

app = Celery("thirdperson")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

HEARTBEAT_SECONDS = 5.0
_stop = threading.Event()


def _beat(path: Path) -> None:
    while True:
        path.touch()
        if _stop.wait(HEARTBEAT_SECONDS):
            return


@worker_ready.connect
def start_heartbeat(**_: Any) -> None:
    from django.conf import settings

    _stop.clear()
    threading.Thread(target=_beat, args=(settings.WORKER_HEARTBEAT,), daemon=True).start()


@worker_shutdown.connect
def stop_heartbeat(**_: Any) -> None:
    _stop.set()
