"""The health of everything that an answer or a judgment needs."""

import functools
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe
from kombu.exceptions import OperationalError

from config.celery import HEARTBEAT_SECONDS, app
from studies.file_storage.storage import (
    StorageUnreachable,
    files_storage,
    note_location,
    wrong_location,
)
from studies.models import Heartbeat
from studies.statements import clock
from studies.statements.clock import wrong_clock

_RETRY_SECONDS = 5
_UP_TO_DATE_FOR = 60.0
# A disk is short of space if less than both is free: a small disk may work although nearly empty.
LEAST_FREE_BYTES = 500_000_000
_LEAST_FREE_SHARE = 0.1
_SILENCE = timedelta(seconds=6 * HEARTBEAT_SECONDS)
# When the database last had every migration; if it lacks some, it is checked again.
_looked_up: float | None = None
# When files were last found to be where the installation keeps them.
_located: float | None = None


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """Answer 200 if the database and the broker work, otherwise 503 with the faults.

    The status is “degraded” if a worker or the schedule is silent, or a disk is short of space.
    """
    checks = health()
    healthy = all(state == "ok" for state in checks.values())
    others = {"disk": disk(), **processes()}
    status = "ok" if set(others.values()) == {"ok"} else "degraded"
    return JsonResponse(
        {"status": status if healthy else "unavailable", **checks, **others},
        status=200 if healthy else 503,
        headers={} if healthy else {"Retry-After": str(_RETRY_SECONDS)},
    )


def health() -> dict[str, str]:
    """The state of each part: “ok”, or what is wrong."""
    return {
        "database": _database(),
        "broker": broker_state(),
        "storage": _storage(),
        "clock": _clock(),
    }


def free_bytes() -> dict[str, int]:
    """The free bytes of each disk that this process writes to, by what it writes."""
    return {name: free for name, (_, free) in _disks().items()}


def short_disks() -> list[str]:
    """Faults of disks, in words without a path, because outsiders may read them."""
    return [
        f"{free / 1e6:,.0f} MB free on the disk of {name}"
        for name, (total, free) in _disks().items()
        if free < min(LEAST_FREE_BYTES, _LEAST_FREE_SHARE * total)
    ]


def disk() -> str:
    """The state of all disks, as `health`.

    Low space does not prevent answers, so `/healthz` reports it and stays at 200.
    """
    return ", ".join(short_disks()) or "ok"


def _disks() -> dict[str, tuple[int, int]]:
    folders = {"files": Path(settings.VAR_DIR), "temporary files": Path(tempfile.gettempdir())}
    if connection.vendor == "sqlite":  # The folder of a database in memory is that of the process.
        folders["the database"] = Path(str(connection.settings_dict["NAME"])).parent
    usages = {name: shutil.disk_usage(path) for name, path in folders.items() if path.is_dir()}
    return {name: (usage.total, usage.free) for name, usage in usages.items()}


def silent_roles() -> dict[str, str]:
    """Silent workers and schedules by role, with their last heartbeat.

    Participants are served without them, so `/healthz` reports them and stays at 200.
    """
    seen = dict(Heartbeat.objects.values_list("role", "seen_at"))
    problems: dict[str, str] = {}
    for role in Heartbeat.Role.values:
        if role not in seen:
            problems[role] = "never heard from"
        elif clock.is_long_ago(seen[role], _SILENCE):
            seconds = (clock.now() - seen[role]).total_seconds()
            problems[role] = f"silent for {max(0, seconds):,.0f} seconds"
    return problems


def processes() -> dict[str, str]:
    """The state of workers and the schedule, as `health`."""
    try:
        silent = silent_roles()
    except (DatabaseError, InterfaceError):
        return dict.fromkeys(Heartbeat.Role.values, "unknown")
    return {role: silent.get(role, "ok") for role in Heartbeat.Role.values}


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        if unknown_migration():
            return "newer than the program"
        return "migrations missing" if lacks_migrations() else "ok"
    except (DatabaseError, InterfaceError):
        return "unreachable"


@functools.cache
def _known_migrations() -> frozenset[tuple[str, str]]:
    """Every migration of this program, which do not change while it runs."""
    return frozenset(MigrationLoader(None).disk_migrations)


def lacks_migrations() -> bool:
    """Whether the database is older than this program; checked at most once a minute."""
    return bool(_known_migrations() - _applied())


def unknown_migration() -> str:
    """A migration that only another version of the program has; empty if there is none.

    Tables of a deleted extra may stay: nothing reads them.
    """
    deleted = {label for label, _ in _applied()} - {app.label for app in apps.get_app_configs()}
    unknown = {
        migration for migration in _applied() - _known_migrations() if migration[0] not in deleted
    }
    return " ".join(min(unknown)) if unknown else ""


def newer_database() -> str:
    """An error sentence if a newer version of the program has migrated the database."""
    if not (unknown := unknown_migration()):
        return ""
    return (
        f"The database is newer than this program: a later version created its tables ({unknown}), "
        "or a draft from before 0.1.0, which cannot be updated. Nothing was changed. Start that "
        "version again, or restore a backup that this version made."
    )


def _applied() -> frozenset[tuple[str, str]]:
    """The applied migrations, read once a minute while they match this program."""
    global _looked_up
    now = time.monotonic()
    if _looked_up is not None and now - _looked_up < _UP_TO_DATE_FOR:
        return _known_migrations()
    applied = frozenset(MigrationRecorder(connection).applied_migrations())
    if _known_migrations() == applied:
        _looked_up = now
    return applied


def _clock() -> str:
    try:
        return "differs from the database's" if clock.wrong_clock() else "ok"
    except (DatabaseError, InterfaceError):
        return "unknown"


def _storage() -> str:
    """Whether this process keeps files where the installation does; checked once a minute."""
    global _located
    now = time.monotonic()
    if _located is None or now - _located > _UP_TO_DATE_FOR:
        try:
            if wrong_location():
                return "differs from that of the other processes"
            # Looks up one name, as every reader does, whether or not it exists.
            files_storage().exists("reports/none/report.html")
        except StorageUnreachable:
            return "unreachable"
        except (DatabaseError, InterfaceError, OSError):
            return "unknown"
        _located = now
    return "ok"


def broker_state() -> str:
    """“ok”, or what is wrong with the broker or with the workers that read it."""
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


logger = logging.getLogger(__name__)


def refusal() -> str:
    """Why a process that stores files must not start; empty if it may."""
    return misfit() or _fault_of(note_location)


def misfit() -> str:
    """Why a process must not start: its tables or its clock differ from the database's."""
    return _fault_of(lambda: newer_database() or wrong_clock())


def _fault_of(find: Callable[[], str]) -> str:
    """The fault that `find` returns.

    Without a database a process may start: `/healthz` says what is missing, and later whether files
    are elsewhere.
    """
    try:
        return find()
    except (DatabaseError, InterfaceError) as error:
        logger.warning("whether this process fits the database could not be checked: %s", error)
        return ""
    finally:
        connection.close()


def database_bytes() -> int:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_database_size(current_database())")
            return int(cursor.fetchone()[0])
    path = Path(str(connection.settings_dict["NAME"]))
    # In WAL mode, the log is part of the database.
    own = [path, path.with_name(path.name + "-wal")]
    return sum(file.stat().st_size for file in own if file.exists())
