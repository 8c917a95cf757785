"""What the server stores on its disk, what it has to do, and whether all its parts work."""

import logging
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.db.models import Count, Min, Q

from config.health import database_bytes, disk, health, processes
from config.operations.stored_files import kinds_of_files
from judging.models import JudgeRun
from studies.file_storage.folder import files_below
from studies.file_storage.storage import files_storage
from studies.jobs.models import Job
from studies.models import Backup

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class StoredFiles:
    name: str
    bytes: int
    files: int | None = None  # None for a database


def storage() -> list[StoredFiles]:
    """The database, each kind of generated files and the queue, with their sizes.

    The kinds are missing while the storage does not answer, which the part “storage” says.
    """
    try:
        kinds = [
            StoredFiles(each.title, *files_storage().usage(each.name)) for each in kinds_of_files()
        ]
    except OSError as error:
        logger.warning("the sizes of files are not known: %s", error)
        kinds = []
    waiting = [size for _, size, _ in files_below(Path(settings.VAR_DIR) / "queue")]
    queue = StoredFiles("Queue of the workers", sum(waiting), len(waiting))
    return [StoredFiles("Database", database_bytes()), *kinds, queue]


@dataclass(frozen=True)
class OpenWork:
    """Jobs of one kind that wait or run, and since when the oldest has waited."""

    name: str
    waiting: int
    running: int
    oldest: datetime | None


def work() -> list[OpenWork]:
    """What workers have to do, by kind; kinds without work are left out."""
    jobs = [model for model in apps.get_models() if issubclass(model, Job)]
    runs = OpenWork(
        "Judge runs",
        JudgeRun.objects.filter(state=JudgeRun.State.QUEUED).count(),
        JudgeRun.objects.filter(state=JudgeRun.State.RUNNING).count(),
        JudgeRun.objects.filter(state=JudgeRun.State.QUEUED).aggregate(Min("created_at"))[
            "created_at__min"
        ],
    )
    found = [runs, *(_open_jobs(model) for model in jobs)]
    return [kind for kind in found if kind.waiting or kind.running]


def _open_jobs(model: type[Job]) -> OpenWork:
    waiting = Q(state=Job.State.QUEUED)
    found = model._default_manager.aggregate(
        waiting=Count("pk", filter=waiting),
        running=Count("pk", filter=Q(state=Job.State.RUNNING)),
        oldest=Min("created_at", filter=waiting),
    )
    return OpenWork(str(model._meta.verbose_name_plural).capitalize(), **found)


_BACKUPS_SHOWN = 20


def backups() -> list[tuple[Backup, bool]]:
    """The newest backups, and whether this web server has their files."""
    newest = Backup.objects.order_by("-taken_at")[:_BACKUPS_SHOWN]
    return [(each, Path(each.file).is_file()) for each in newest]


def files_location() -> str:
    """Where generated files are kept."""
    return files_storage().location_id()[1]


@dataclass(frozen=True)
class ServerPart:
    name: str
    state: str

    @property
    def works(self) -> bool:
        return self.state == "ok"


def parts() -> list[ServerPart]:
    """What `/healthz` checks, part by part."""
    found = {**health(), "disk": disk(), **processes()}
    return [ServerPart(name.replace("_", " ").capitalize(), state) for name, state in found.items()]
