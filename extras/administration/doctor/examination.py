"""All checks in order, their findings and repairs; checks of the installation itself."""

import logging
import re
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.apps import apps
from django.conf import settings
from django.db import connection
from django.db.models import Exists, ForeignKey, OuterRef

from config.health import broker_state, lacks_migrations, newer_database, short_disks, silent_roles
from extras.administration.doctor import annotator_checks, file_checks, judge_checks
from extras.administration.doctor.checks import InvariantCheck, InvariantFault
from studies.file_storage.storage import wrong_location
from studies.models import Heartbeat, Membership, Study, StudyLog
from studies.services.studies import record
from studies.statements.clock import wrong_clock

_NAMED = re.compile(r'(?:CONSTRAINT|INDEX) "(\w+)"')
_LOCAL = {"localhost", "127.0.0.1", "::1"}
_SHORTEST_KEY = 32
_EXAMPLES = ("build-only", "django-insecure", "change-me", "changeme", "secret")


def unsafe_settings() -> Iterator[InvariantFault]:
    public = urlsplit(settings.PUBLIC_BASE_URL)
    is_public = public.hostname not in _LOCAL
    key = settings.SECRET_KEY
    if len(key) < _SHORTEST_KEY or key.startswith(_EXAMPLES):
        yield InvariantFault(
            "SECRET_KEY is short, or an example. Anyone who guesses it can sign in as anybody."
        )
    if settings.DEBUG and is_public:
        yield InvariantFault(
            f"DEBUG is on at {settings.PUBLIC_BASE_URL}: error pages show your data."
        )
    if "*" in settings.ALLOWED_HOSTS:
        yield InvariantFault("ALLOWED_HOSTS is *: the site answers under any name. List its names.")
    elif is_public and public.hostname not in settings.ALLOWED_HOSTS:
        yield InvariantFault(f"ALLOWED_HOSTS lacks {public.hostname}, the host of PUBLIC_BASE_URL.")
    if is_public and public.scheme != "https":
        yield InvariantFault(f"PUBLIC_BASE_URL is {settings.PUBLIC_BASE_URL}, without https.")


def open_files() -> Iterator[InvariantFault]:
    """Private files that other users of the machine can read."""
    folder = Path(settings.VAR_DIR)
    database = Path(str(connection.settings_dict["NAME"]))
    own = [folder, folder / "secret_key"]
    own += [database] if connection.vendor == "sqlite" else []
    for path in own:
        if path.exists() and path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            yield InvariantFault(f"{path} can be read by other users of this machine.")


def lost_owners() -> Iterator[InvariantFault]:
    """Studies with members, none of whose owners can sign in."""
    owners = Membership.objects.filter(
        study=OuterRef("pk"), role=Membership.Role.OWNER, user__is_active=True
    )
    deleted = StudyLog.objects.filter(study=OuterRef("pk"), user=None, detail__has_key="by")
    studies = Study.objects.filter(archived_at=None, is_simulated=False).exclude(Exists(owners))
    had_members = Exists(Membership.objects.filter(study=OuterRef("pk"))) | Exists(deleted)
    for slug in studies.filter(had_members).order_by("slug").values_list("slug", flat=True):
        yield InvariantFault("No owner can sign in.", study=slug)


def other_migrations() -> Iterator[InvariantFault]:
    if sentence := newer_database():
        yield InvariantFault(sentence)
    if lacks_migrations():
        yield InvariantFault("The database is older than the program.")


def missing_constraints() -> Iterator[InvariantFault]:
    """Named constraints that the database lacks, for example after a partial restore."""
    names = _constraint_names()
    for model in apps.get_models():
        for constraint in model._meta.constraints:
            if constraint.name not in names:
                table = model._meta.db_table
                yield InvariantFault(f"Table {table}: the constraint {constraint.name} is missing.")


def _constraint_names() -> set[str]:
    """One query for all tables, because Django's introspection parses the SQL of each."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT conname FROM pg_constraint UNION SELECT indexname FROM pg_indexes"
            )
            return {name for (name,) in cursor.fetchall()}
        cursor.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
        return {name for (sql,) in cursor.fetchall() for name in _NAMED.findall(sql)}


def broken_references() -> Iterator[InvariantFault]:
    """Rows that refer to a row that does not exist."""
    for model in apps.get_models(include_auto_created=True):
        for key in model._meta.local_fields:
            if isinstance(key, ForeignKey):
                there = key.related_model._base_manager.filter(pk=OuterRef(key.attname))
                rows = model._base_manager.filter(**{f"{key.attname}__isnull": False})
                number = rows.exclude(Exists(there)).count()
                if number:
                    yield InvariantFault(
                        f"Table {model._meta.db_table}: {number:,} rows refer by {key.column} to "
                        f"a row of {key.related_model._meta.db_table} that does not exist."
                    )


def damaged_database() -> Iterator[InvariantFault]:
    """Faults that SQLite finds in its file."""
    if connection.vendor != "sqlite":
        return
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA quick_check(20)")
        for (sentence,) in cursor.fetchall():
            if sentence != "ok":
                yield InvariantFault(f"The database file is damaged: {sentence}")


def files_elsewhere() -> Iterator[InvariantFault]:
    if sentence := wrong_location():
        yield InvariantFault(sentence)


def another_clock() -> Iterator[InvariantFault]:
    if sentence := wrong_clock():
        yield InvariantFault(sentence)


def silent_processes() -> Iterator[InvariantFault]:
    """Processes that ran once and are silent now; one that never ran is not missed."""
    for role, state in silent_roles().items():
        if Heartbeat.objects.filter(role=role).exists():
            yield InvariantFault(f"The {Heartbeat.Role(role).label} is {state}.")


def full_disks() -> Iterator[InvariantFault]:
    for sentence in short_disks():
        yield InvariantFault(f"Only {sentence}.")


def broker_away() -> Iterator[InvariantFault]:
    if broker_state() == "unreachable":  # a folder is made when the processes start
        yield InvariantFault("The server of CELERY_BROKER_URL does not answer.")


MIGRATIONS = InvariantCheck(
    "migrations",
    "The database and the program have the same version",
    other_migrations,
    "Run python -m config.migrate of the version that the database needs.",
)
INSTALLATION_CHECKS = [
    InvariantCheck(
        "settings",
        "The settings are safe for the site's address",
        unsafe_settings,
        "Change the setting (docs/configuration.md) and restart the processes.",
    ),
    InvariantCheck(
        "private-files",
        "Only the user who runs the program can read its files",
        open_files,
        "Run make setup, or chmod -R go-rwx the folder VAR_DIR.",
    ),
    MIGRATIONS,
    InvariantCheck(
        "clock",
        "The clock of this machine is that of the database",
        another_clock,
        "Set the clocks, then restart the processes.",
    ),
    InvariantCheck(
        "disk",
        "The disks of the database, of files and of temporary files have space",
        full_disks,
        "Delete what you no longer need there, or give the machine a larger disk.",
    ),
    InvariantCheck(
        "broker",
        "The broker takes tasks for workers",
        broker_away,
        "Check CELERY_BROKER_URL, and start its server.",
    ),
    InvariantCheck(
        "processes",
        "Workers and the schedule sent a heartbeat in the last minute",
        silent_processes,
        "Start python -m config.processes worker, and check the end of its log.",
    ),
    InvariantCheck(
        "files-location",
        "Files are kept where the installation keeps them",
        files_elsewhere,
        "See docs/deployment.md, Several machines.",
    ),
    InvariantCheck(
        "owners",
        "Each study with members has an owner who can sign in",
        lost_owners,
        "An administrator can make a member an owner on the study’s page Team, or invite one.",
    ),
    InvariantCheck(
        "database-file",
        "The database file is intact",
        damaged_database,
        "Restore a backup.",
    ),
    InvariantCheck(
        "constraints",
        "The database has every constraint",
        missing_constraints,
        "Restore a backup into a new database: the program creates its constraints there.",
    ),
    InvariantCheck(
        "references",
        "Every row that others refer to exists",
        broken_references,
        "Restore a backup. doctor --repair deletes drafts without a place.",
    ),
]


logger = logging.getLogger(__name__)

CHECKS = [
    *INSTALLATION_CHECKS,
    *annotator_checks.CHECKS,
    *judge_checks.CHECKS,
    *file_checks.CHECKS,
]
_SHOWN = 20  # of each check


@dataclass
class Examined:
    """The findings of a check: the first faults, and their number."""

    check: InvariantCheck
    count: int = 0
    faults: list[InvariantFault] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {
            "check": self.check.name,
            "title": self.check.title,
            "faults": self.count,
            "first": [{"sentence": f.sentence, "study": f.study} for f in self.faults],
            "repairs": self.repairs,
            "remedy": self.check.remedy if self.count else "",
        }


def examine(checks: Sequence[InvariantCheck] = CHECKS) -> Iterator[Examined]:
    """Run these checks, one at a time as they are consumed. Changes nothing."""
    for check in checks:
        examined = Examined(check)
        for fault in _faults(check):
            examined.count += 1
            if examined.count <= _SHOWN:
                examined.faults.append(fault)
        yield examined
        if check is MIGRATIONS and examined.count:
            return  # other checks may read tables or columns that are missing


def _faults(check: InvariantCheck) -> Iterator[InvariantFault]:
    """The faults of a check, including that it had to stop because files are unavailable."""
    try:
        yield from check.find()
    except OSError as error:
        yield InvariantFault(f"This check could not finish. {error}", unchecked=True)


def repair(checks: Sequence[InvariantCheck] = CHECKS) -> Iterator[Examined]:
    """Repair what can be repaired, then run the checks to find what is left.

    Each repair is its own transaction, logged by the server and in its study.
    """
    done = {check.name: _repair(check) for check in checks if check.repair}
    for examined in examine(checks):
        examined.repairs = done.get(examined.check.name, [])
        yield examined


def _repair(check: InvariantCheck) -> list[str]:
    assert check.repair is not None  # noqa: S101 - as `repair` chose
    sentences, by_study = [], Counter[str]()
    for fault in _faults(check):
        if fault.unchecked:
            continue
        if sentence := check.repair(fault):
            logger.warning("doctor repaired %s: %s", check.name, sentence)
            sentences.append(sentence)
            by_study[fault.study] += 1
    for study in Study.objects.filter(slug__in=by_study.keys()):
        record(study, "repaired by doctor", check=check.name, repairs=by_study[study.slug])
    return sentences
