"""Backups: everything that an installation needs after a loss, in one file; and restoring it.

A backup is a zip file: a part for each table, one for each file, and a manifest with all checksums.
Rows are lines of JSON, all of one moment; so a backup of PostgreSQL can be restored on SQLite.
"""

import datetime as dt
import hashlib
import json
import logging
import os
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from typing import IO, Any

from django.apps import apps
from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.management.color import no_style
from django.db import DatabaseError, connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Model
from django.utils.crypto import salted_hmac
from pydantic import AwareDatetime, BaseModel, ValidationError

from analysis.exports.table_files import sha256_of
from config.operations.stored_files import kept_files, kept_in
from studies.file_storage.storage import adopt_location, files_storage
from studies.models import Backup, FilesLocation, Heartbeat
from studies.statements import clock
from studies.version import version

_ROWS_AT_ONCE = 500
# Created by the migrations, even if nothing was ever stored.
_OF_DJANGO = {"django_content_type", "auth_permission"}
_FIRST_QUERY = "SELECT 1 FROM django_migrations LIMIT 1"  # the first query sets the moment


@contextmanager
def snapshot() -> Iterator[None]:
    """Let every query inside see the rows as of its start, without blocking anybody."""
    if connection.in_atomic_block:  # the caller's transaction decides
        yield
    elif connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute(_FIRST_QUERY)
            yield
    else:
        with connection.cursor() as cursor:
            # Unlike `atomic`, this does not take the writers' lock. Meanwhile, others write to the
            # database's log.
            cursor.execute("BEGIN DEFERRED")
            try:
                cursor.execute(_FIRST_QUERY)
                yield
            finally:
                cursor.execute("ROLLBACK")


def kept_models() -> list[type[Model]]:
    """The models whose rows are kept, by table; not sessions, or what processes are doing."""
    every_model = apps.get_models(include_auto_created=True)
    left_out = (Session, FilesLocation, Heartbeat)
    kept = [
        model
        for model in every_model
        if model._meta.managed
        and not model._meta.proxy
        and model not in left_out
        # A model of an extra can say it about itself.
        and getattr(model, "in_backups", True)
    ]
    return sorted(kept, key=lambda model: model._meta.db_table)


def migrations_applied() -> list[str]:
    applied = MigrationRecorder(connection).applied_migrations()
    return sorted(f"{app}.{name}" for app, name in applied)


def lines_of(model: type[Model]) -> Iterator[bytes]:
    """Each row as a line: the values of its fields, in the order of `columns_of`."""
    rows = model._base_manager.order_by("pk").values_list(*columns_of(model))
    for row in rows.iterator(_ROWS_AT_ONCE):
        yield json.dumps(row, default=_as_json, separators=(",", ":")).encode() + b"\n"


def columns_of(model: type[Model]) -> list[str]:
    return [field.attname for field in model._meta.concrete_fields]


def _as_json(value: Any) -> str:
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be kept in a backup")


def insert_lines(model: type[Model], lines: Iterable[bytes]) -> int:
    """Insert rows with their original ids and times; return how many."""
    fields, quoted = list(model._meta.concrete_fields), connection.ops.quote_name
    columns = ", ".join(quoted(str(field.column)) for field in fields)
    into = f"INSERT INTO {quoted(model._meta.db_table)} ({columns})"
    places = f"({', '.join(['%s'] * len(fields))})"
    stored, remaining = 0, iter(lines)
    while some := list(islice(remaining, _ROWS_AT_ONCE)):
        rows = [
            [
                field.get_db_prep_save(field.to_python(value), connection)
                for field, value in zip(fields, json.loads(line), strict=True)
            ]
            for line in some
        ]
        step = connection.ops.bulk_batch_size(fields, rows)
        with connection.cursor() as cursor:
            for start in range(0, len(rows), step):
                part = rows[start : start + step]
                values = ", ".join([places] * len(part))
                cursor.execute(f"{into} VALUES {values}", list(chain.from_iterable(part)))
        stored += len(rows)
    return stored


def first_table_in_use() -> str:
    """A table with rows; empty if nothing was stored since the migrations."""
    for model in kept_models():
        table = model._meta.db_table
        if table not in _OF_DJANGO and model._base_manager.exists():
            return table
    return ""


def lock_tables() -> None:
    """Let nobody read or write until the end of the transaction, which on SQLite has the lock."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {', '.join(_names())} IN ACCESS EXCLUSIVE MODE")


def empty_tables() -> None:
    with connection.cursor() as cursor:
        for name in _names():
            cursor.execute(f"DELETE FROM {name}")  # noqa: S608 - names of our own tables


def _names() -> list[str]:
    models: list[type[Model]] = [*kept_models(), Session]
    tables = [model._meta.db_table for model in models]
    return [connection.ops.quote_name(table) for table in tables]


def reset_sequences() -> None:
    """Give the next row of each table an id after the restored ones."""
    with connection.cursor() as cursor:
        for sql in connection.ops.sequence_reset_sql(no_style(), kept_models()):
            cursor.execute(sql)


logger = logging.getLogger(__name__)

MANIFEST = "manifest.json"
KEY_PART = "secret_key"
_FORMAT = 1
_BLOCK = 1024 * 1024
# Raised by zip files that are damaged, encrypted, or packed by another program.
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)


class BackupError(Exception):
    """A backup cannot be made or restored; the message says why."""


class Part(BaseModel):
    """The manifest's entry for a table or a file; only a table has columns."""

    sha256: str
    bytes: int = 0
    columns: list[str] | None = None


class BackupManifest(BaseModel):
    format: int = _FORMAT
    program: str = "thirdperson"
    version: str
    database: str = ""
    taken_at: AwareDatetime
    migrations: list[str]
    key_fingerprint: str
    parts: dict[str, Part]


@dataclass(frozen=True)
class Made:
    backup: Backup
    rows: int
    files: int


@dataclass(frozen=True)
class Restored:
    """What was restored, and what to do about the installation's key."""

    taken_at: str
    rows: int
    files: int
    key: str  # "same", "missing", "written" or "in the backup"


@dataclass(frozen=True)
class Archive:
    """A backup being read. Nothing in it is used before `check` has returned."""

    bundle: zipfile.ZipFile
    manifest: BackupManifest

    def check(self) -> None:
        """Compare every part with its checksum. Raises `BackupError` that names the first fault."""
        names = set(self.bundle.namelist()) - {MANIFEST}
        if missing := sorted(self.manifest.parts.keys() - names):
            raise BackupError(f"The part {missing[0]} is missing. Use another copy of the file.")
        if unknown := sorted(names - self.manifest.parts.keys()):
            raise BackupError(
                f"The part {unknown[0]} is not in the manifest. Nothing was restored."
            )
        for name, part in self.manifest.parts.items():
            digest = hashlib.sha256()
            try:
                with self.bundle.open(name) as member:
                    for block in _blocks(member):
                        digest.update(block)
            except _DAMAGED as error:
                raise BackupError(f"The part {name} is damaged. Use another copy.") from error
            if digest.hexdigest() != part.sha256:
                raise BackupError(
                    f"The part {name} does not match its checksum in the manifest. Use another "
                    "copy."
                )


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """Open a backup. Raises `BackupError` for any other file."""
    if path.exists() and not path.is_file():
        raise BackupError(f"{path} is no file.")
    try:
        bundle = zipfile.ZipFile(path)
    except FileNotFoundError:
        raise BackupError(f"{path} does not exist.") from None
    except _DAMAGED as error:
        raise BackupError(f"{path} is not a complete zip file: {error}.") from error
    with bundle:
        yield Archive(bundle, _manifest_of(bundle))


def _manifest_of(bundle: zipfile.ZipFile) -> BackupManifest:
    try:
        content = json.loads(bundle.read(MANIFEST))
        number = content["format"]
    except (KeyError, TypeError, *_DAMAGED) as error:
        raise BackupError(
            "The file has no backup manifest. It may be another file, or damaged."
        ) from error
    if number != _FORMAT:
        raise BackupError(
            f"The backup has format {number}, and this program reads format {_FORMAT}. Use the "
            "version of the program that made it."
        )
    try:
        return BackupManifest.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ", ".join(str(step) for step in first["loc"])
        raise BackupError(
            f"The manifest of the backup is damaged at {where}: {first['msg']}. Use another copy."
        ) from error


def key_fingerprint() -> str:
    """A fingerprint that distinguishes keys without revealing them."""
    # The first argument is part of every fingerprint, so it must not change.
    return salted_hmac("config.operations.backups", "", algorithm="sha256").hexdigest()


def make_backup(path: Path, *, with_secret_key: bool = False) -> Made:
    """Write a backup to the new file `path`, which appears once complete.

    The rows are those of one moment, and the files are those that these rows name. Raises
    `BackupError` or `OSError`.
    """
    if path.exists():
        raise BackupError(f"{path} already exists and was not overwritten. Choose another name.")
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("xb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as bundle:
                taken_at = clock.now()
                with snapshot():
                    rows, files = _write(bundle, taken_at, with_secret_key)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)  # fails if somebody created the file meanwhile
        except FileExistsError:
            raise
        except OSError:  # a file system without such links, as of a memory stick
            os.rename(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    backup = Backup.objects.create(
        file=str(path.resolve()),
        sha256=sha256_of(path),
        size=path.stat().st_size,
        holds_secret_key=with_secret_key,
        taken_at=taken_at,
    )
    logger.info("backup %s: %s rows, %s files, %s", path, rows, files, backup.sha256)
    return Made(backup, rows, files)


def _write(bundle: zipfile.ZipFile, taken_at: datetime, with_secret_key: bool) -> tuple[int, int]:
    """Write every part, and then the manifest; returns the numbers of rows and files."""
    parts: dict[str, Part] = {}
    rows = files = 0

    def add(name: str, blocks: Iterable[bytes], columns: list[str] | None = None) -> int:
        digest, size, number = hashlib.sha256(), 0, 0
        with bundle.open(name, "w", force_zip64=True) as member:
            for block in blocks:
                member.write(block)
                digest.update(block)
                size += len(block)
                number += 1
        parts[name] = Part(sha256=digest.hexdigest(), bytes=size, columns=columns)
        return number

    for model in kept_models():
        rows += add(_part_of(model), lines_of(model), columns_of(model))
    for stored in kept_files():
        with suppress(FileNotFoundError), stored.open() as file:  # unless it has just expired
            add(f"files/{stored.path}", _blocks(file))
            files += 1
    if with_secret_key:
        add(KEY_PART, [settings.SECRET_KEY.encode()])
    manifest = BackupManifest(
        version=version(),
        database=connection.vendor,
        taken_at=taken_at,
        migrations=migrations_applied(),
        key_fingerprint=key_fingerprint(),
        parts=parts,
    )
    bundle.writestr(MANIFEST, manifest.model_dump_json(indent=1, exclude_none=True))
    return rows, files


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    while block := file.read(_BLOCK):
        yield block


def _part_of(model: type[Model]) -> str:
    return f"database/{model._meta.db_table}.jsonl"


def restore_backup(path: Path, *, replace: bool = False) -> Restored:
    """Restore a backup's rows and files; without `replace`, only if nothing was stored.

    Every checksum is compared before anything changes. One transaction replaces all rows and files.
    Raises `BackupError`, leaving the installation as it was.
    """
    with opened(path) as archive:
        _check_fit(archive.manifest)
        if not replace and (table := first_table_in_use()):
            raise BackupError(
                f"The database is in use: {table} has rows. Restore into a new database, or add "
                "--replace to delete everything in this one first."
            )
        archive.check()
        try:
            rows, files = _exchange(archive, path)
        except (DatabaseError, ValueError) as error:
            raise BackupError(
                f"The database refused the rows of the backup: {error}. Nothing changed."
            ) from error
        key = _restore_key(archive)
        logger.warning("restored %s: %s rows, %s files", path, rows, files)
        return Restored(archive.manifest.taken_at.isoformat(), rows, files, key)


def _check_fit(manifest: BackupManifest) -> None:
    there, here = set(manifest.migrations), set(migrations_applied())
    if there != here:
        first = sorted(there ^ here)[0]
        missing = "The backup" if first in here else "This database"
        raise BackupError(
            f"The backup was made by version {manifest.version} of the program with different "
            f"tables. {missing} lacks the migration {first}. Restore with the version that made "
            "the backup, then update."
        )
    for model in kept_models():
        part = manifest.parts.get(_part_of(model))
        if part is None:
            raise BackupError(f"The backup lacks {_part_of(model)}. Use another copy.")
        if part.columns != columns_of(model):
            raise BackupError(
                f"The columns of the part {_part_of(model)} differ from those of its table."
            )
    for name in manifest.parts:
        _place_of(name)


def _place_of(name: str) -> PurePosixPath | None:
    """The place of a file below VAR_DIR; None for a part that is not a file."""
    path = PurePosixPath(name)
    if path.parts[:1] != ("files",):
        return None
    inside = path.relative_to("files")
    is_safe = len(inside.parts) > 2 and ".." not in inside.parts and "\\" not in name
    if not is_safe or inside.parts[0] not in kept_in():
        raise BackupError(
            f"The part {name} is not a file of an installation. Nothing was restored."
        )
    return inside


def _exchange(archive: Archive, path: Path) -> tuple[int, int]:
    """Replace the rows and files of the installation by those of the backup."""
    # On the disk of the installation's files, so that renaming works.
    draft = Path(tempfile.mkdtemp(prefix=".restore.", dir=settings.VAR_DIR))
    try:
        files = _unpack(archive, draft / "new")
        with ExitStack() as stack:  # exits after the end of the transaction
            with transaction.atomic():
                rows = _replace_rows(archive)
                _record(archive, path)
                stack.enter_context(files_storage().exchanged(draft / "new", kept_in()))
                adopt_location()
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return rows, files


def _unpack(archive: Archive, folder: Path) -> int:
    folder.mkdir()
    places = {name: inside for name in archive.manifest.parts if (inside := _place_of(name))}
    for name, inside in places.items():
        target = folder / inside
        target.parent.mkdir(parents=True, exist_ok=True)
        with archive.bundle.open(name) as source, target.open("wb") as out:
            shutil.copyfileobj(source, out, _BLOCK)
    return len(places)


def _replace_rows(archive: Archive) -> int:
    lock_tables()
    empty_tables()
    rows = 0
    for model in kept_models():
        with archive.bundle.open(_part_of(model)) as lines:
            rows += insert_lines(model, lines)
    connection.check_constraints()
    reset_sequences()
    return rows


def _record(archive: Archive, path: Path) -> None:
    """Record the file as a backup, because it contains data that may be deleted here later."""
    Backup.objects.get_or_create(
        sha256=sha256_of(path),
        defaults={
            "file": str(path.resolve()),
            "size": path.stat().st_size,
            "holds_secret_key": KEY_PART in archive.manifest.parts,
            "taken_at": archive.manifest.taken_at,
        },
    )


def _restore_key(archive: Archive) -> str:
    """Replace the program's key file, if it has one, by the key of the backup."""
    if archive.manifest.key_fingerprint == key_fingerprint():
        return "same"
    if KEY_PART not in archive.manifest.parts:
        return "missing"
    own = Path(settings.VAR_DIR) / "secret_key"
    if not settings.EMBEDDED or not own.is_file():
        return "in the backup"
    draft = own.with_name(f"{own.name}.{os.getpid()}")
    draft.touch(mode=0o600)
    draft.write_bytes(archive.bundle.read(KEY_PART))
    os.replace(draft, own)
    return "written"
