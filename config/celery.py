"""The Celery app, and the heartbeat that /healthz reads when the broker is a folder."""

import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from celery import Celery
from celery.beat import Scheduler, SchedulingError
from celery.contrib.django.task import DjangoTask
from celery.signals import (
    beat_embedded_init,
    beat_init,
    task_postrun,
    task_prerun,
    worker_init,
    worker_ready,
    worker_shutdown,
)
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, InterfaceError, connection, transaction
from kombu.transport import TRANSPORT_ALIASES

from config import log_lines
from config.processes import is_orphaned
from extras import modules
from studies.jobs.queueing import queue

logger = logging.getLogger(__name__)

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
# For Django's checks a worker would import every page, and then ignore the findings.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

TRANSPORT_ALIASES["redis"] = TRANSPORT_ALIASES["rediss"] = "config.broker:RedisTransport"
TRANSPORT_ALIASES["filesystem"] = "config.broker:FolderTransport"


HEARTBEAT_SECONDS = 10.0
_LOOK_SECONDS = 2.0
# The role of a worker, by its queue.
_ROLES = {"celery": "worker", "judging": "judge_worker"}


class DatabaseTask(DjangoTask):
    def delay_on_commit(self, *arguments: Any, **options: Any) -> None:  # type: ignore[override]
        """Queue the task once the data it needs is stored."""
        transaction.on_commit(partial(queue, self, *arguments, **options))


class Schedule(Scheduler):
    """The schedule in memory, which is enough because every task repeats within the hour.

    A full disk, a read-only folder, or a clock that was briefly ahead would stop a schedule kept in
    a file.
    """

    _noted = -HEARTBEAT_SECONDS

    def setup_schedule(self) -> None:
        """Measure the intervals of tasks by a clock that does not jump with the machine's clock.

        Otherwise nothing is due for as long as the machine's clock was set back.
        """
        started, since = self.app.now(), time.monotonic()
        super().setup_schedule()

        def now() -> datetime:
            return started + timedelta(seconds=time.monotonic() - since)

        for entry in self.schedule.values():
            entry.schedule.nowfun = now  # type: ignore[union-attr]

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Queue what is due, and send a heartbeat of the schedule every quarter minute."""
        if time.monotonic() - self._noted >= HEARTBEAT_SECONDS:
            self._noted = time.monotonic()
            store_heartbeat("schedule")
        return float(super().tick(*args, **kwargs))

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        """Queue a task; log a failure in one sentence, and try again when it is next due."""
        logger.info("Sending due task %s", entry.task)
        try:
            self.apply_async(entry, producer=producer, advance=False)
        except SchedulingError as error:
            logger.warning("%s waits until it is due again. %s", entry.task, error)


def _need_settings() -> None:
    """Report missing settings without a traceback when Celery's own command starts a worker."""
    if "celery" not in Path(sys.argv[0]).parts[-2:]:
        return
    try:
        settings.SECRET_KEY  # noqa: B018 - the first access reads them all
    except ImproperlyConfigured as error:
        sys.exit(str(error))


app = Celery("thirdperson", task_cls=DatabaseTask)
_need_settings()
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
task_prerun.connect(log_lines.begin_task)
task_postrun.connect(log_lines.end_task)

RESTART_SECONDS = 15.0
_stop = threading.Event()


def restart_jobs() -> None:
    """Queue jobs of killed workers again, because the schedule may have died with its worker."""
    from analysis.tasks import tidy_report_jobs
    from studies.tasks import tidy_imports

    of_extras = [import_module(module).tidy for module in modules("tasks", settings.EXTRAS)]
    for tidy in (tidy_imports, tidy_report_jobs, *of_extras):
        tidy()


def _watch_jobs() -> None:
    while not _stop.wait(RESTART_SECONDS):
        try:
            restart_jobs()
        except Exception:
            # The database may be down, or another worker may have deleted the same files.
            logger.warning("Jobs could not be checked, trying again.", exc_info=True)
        finally:
            connection.close()


def _beat(path: Path, roles: list[str]) -> None:
    while True:
        try:
            path.touch()
        except OSError as error:
            logger.warning("The heartbeat could not be written: %s", error)
        for role in roles:
            store_heartbeat(role)
        if _stop.wait(HEARTBEAT_SECONDS):
            return


def store_heartbeat(role: str) -> None:
    """Store a heartbeat of this role, or wait for the next one if the database is down."""
    from studies.models import Heartbeat
    from studies.statements import clock
    from studies.version import version

    try:
        Heartbeat.objects.update_or_create(
            role=role,
            defaults={
                "process": f"{socket.gethostname()}:{os.getpid()}"[:200],
                "version": version()[:100],
                "seen_at": clock.now(),
            },
        )
    except (DatabaseError, InterfaceError) as error:
        logger.warning("The heartbeat could not be stored: %s", error)
        connection.close()


@worker_ready.connect
def start_heartbeat(sender: Any, **_: Any) -> None:
    _stop.clear()
    queues = sender.app.amqp.queues.consume_from
    roles = [role for queue, role in _ROLES.items() if queue in queues]
    path = settings.WORKER_HEARTBEAT
    threading.Thread(target=_beat, args=(path, roles), daemon=True).start()
    threading.Thread(target=_watch_jobs, daemon=True).start()


@worker_shutdown.connect
def stop_heartbeat(**_: Any) -> None:
    _stop.set()


@worker_init.connect
def refuse_other_files(sender: Any, **_: Any) -> None:
    """End a worker that does not fit the installation; a judging worker stores no files."""
    from config.health import misfit, refusal

    keeps_files = "celery" in sender.app.amqp.queues.consume_from
    if sentence := refusal() if keeps_files else misfit():
        sys.exit(sentence)


@beat_init.connect
def refuse_another_clock(**_: Any) -> None:
    """End a schedule that does not fit the installation."""
    from config.health import misfit

    if sentence := misfit():
        sys.exit(sentence)


def _end_if(is_alone: Callable[[], bool]) -> None:
    while not is_alone():
        time.sleep(_LOOK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


@beat_embedded_init.connect
def end_with_the_worker(**_: Any) -> None:
    """End the schedule of a killed worker, so that it does not run besides its successor's."""
    worker = os.getppid()
    threading.Thread(target=_end_if, args=(lambda: os.getppid() != worker,), daemon=True).start()


@worker_init.connect
def end_with_the_starter(**_: Any) -> None:
    """End a worker if `config.processes` started it and was killed."""
    threading.Thread(target=_end_if, args=(is_orphaned,), daemon=True).start()
