"""The Celery app, and the heartbeat that /healthz reads when the broker is a folder."""

import logging
import os
import signal
import socket
import sys
import threading
import time
from datetime import datetime, timedelta
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from celery import Celery
from celery.beat import Scheduler, SchedulingError
from celery.contrib.django.task import DjangoTask
from celery.signals import beat_embedded_init, beat_init, worker_init, worker_ready, worker_shutdown
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, InterfaceError, connection, transaction
from kombu.transport import TRANSPORT_ALIASES

from extras import TASKS
from studies.jobs.queueing import queue

logger = logging.getLogger(__name__)

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
# A worker would import every page for Django's checks, and ignore what they find.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

TRANSPORT_ALIASES["redis"] = TRANSPORT_ALIASES["rediss"] = "config.broker:RedisTransport"
TRANSPORT_ALIASES["filesystem"] = "config.broker:FolderTransport"


HEARTBEAT_SECONDS = 10.0
# What a worker of each queue is for.
_ROLES = {"celery": "worker", "judging": "judge_worker"}


class DatabaseTask(DjangoTask):
    def delay_on_commit(self, *arguments: Any, **options: Any) -> None:  # type: ignore[override]
        """Queue the task once the data it needs is stored."""
        transaction.on_commit(partial(queue, self, *arguments, **options))


class Schedule(Scheduler):
    """The schedule in memory, where all of it is repeated within the hour.

    A full disk, a folder that cannot be written, or a clock that was ahead for a moment would stop
    one that is kept in a file.
    """

    _noted = -HEARTBEAT_SECONDS

    def setup_schedule(self) -> None:
        """Count the intervals of tasks by a clock that does not jump when that of the machine does.

        Otherwise nothing is due for as long as the machine's clock was set back.
        """
        started, since = self.app.now(), time.monotonic()
        super().setup_schedule()

        def now() -> datetime:
            return started + timedelta(seconds=time.monotonic() - since)

        for entry in self.schedule.values():
            entry.schedule.nowfun = now  # type: ignore[union-attr]

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Queue what is due, and say that the schedule lives; it does so every quarter minute."""
        if time.monotonic() - self._noted >= HEARTBEAT_SECONDS:
            self._noted = time.monotonic()
            note_alive("schedule")
        return float(super().tick(*args, **kwargs))

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        """Queue a task; what fails is said in one sentence, and tried again when it is next due."""
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
        settings.SECRET_KEY  # noqa: B018 - the first look reads them all
    except ImproperlyConfigured as error:
        sys.exit(str(error))


app = Celery("thirdperson", task_cls=DatabaseTask)
_need_settings()
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

RESTART_SECONDS = 15.0
_stop = threading.Event()


def restart_jobs() -> None:
    """Queue the jobs again whose worker was killed; the schedule may have died with it."""
    from analysis.tasks import tidy_report_jobs
    from studies.tasks import tidy_imports

    of_extras = [import_module(module).tidy for module in TASKS]
    for tidy in (tidy_imports, tidy_report_jobs, *of_extras):
        tidy()


def _look_after_jobs() -> None:
    while not _stop.wait(RESTART_SECONDS):
        try:
            restart_jobs()
        except Exception:
            # The database may be away, or another worker may have deleted the same files.
            logger.warning("Jobs could not be looked after, trying again.", exc_info=True)
        finally:
            connection.close()


def _beat(path: Path, roles: list[str]) -> None:
    while True:
        try:
            path.touch()
        except OSError as error:
            logger.warning("The sign of life could not be written: %s", error)
        for role in roles:
            note_alive(role)
        if _stop.wait(HEARTBEAT_SECONDS):
            return


def note_alive(role: str) -> None:
    """Store that a process of this role lives; a database that is away is told soon enough."""
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
        logger.warning("The sign of life could not be stored: %s", error)
        connection.close()


@worker_ready.connect
def start_heartbeat(sender: Any, **_: Any) -> None:
    _stop.clear()
    queues = sender.app.amqp.queues.consume_from
    roles = [role for queue, role in _ROLES.items() if queue in queues]
    path = settings.WORKER_HEARTBEAT
    threading.Thread(target=_beat, args=(path, roles), daemon=True).start()
    threading.Thread(target=_look_after_jobs, daemon=True).start()


@worker_shutdown.connect
def stop_heartbeat(**_: Any) -> None:
    _stop.set()


@worker_init.connect
def refuse_other_files(sender: Any, **_: Any) -> None:
    """End a worker that does not fit the installation; one that only asks judges keeps no files."""
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


def _end_after(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(HEARTBEAT_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


@beat_embedded_init.connect
def end_with_the_worker(**_: Any) -> None:
    """End the schedule of a killed worker, so that it does not run next to its successor's."""
    threading.Thread(target=_end_after, args=(os.getppid(),), daemon=True).start()
