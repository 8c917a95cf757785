"""Put a backup in the place of an installation: everything or nothing."""

import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath

from django.conf import settings
from django.db import DatabaseError, connection, transaction

from analysis.exports.table_files import sha256_of
from config.operations.backups import tables
from config.operations.backups.archive import KEY_PART, Archive, BackupError, opened
from config.operations.backups.creation import key_fingerprint
from config.operations.stored_files import kept_in
from studies.file_storage.location import adopt_location
from studies.file_storage.storage import files_storage
from studies.models import Backup

logger = logging.getLogger(__name__)

_BLOCK = 1024 * 1024


@dataclass(frozen=True)
class Restored:
    """What was restored, and what is left to do about the installation's key."""

    taken_at: str
    rows: int
    files: int
    key: str  # "same", "missing", "written" or "in the backup"


def restore_backup(
    path: Path, *, replace: bool = False, tell: Callable[[str], None] = lambda _: None
) -> Restored:
    """Restore the rows and files of a backup; unless `replace`, only where nothing was stored.

    Every checksum is compared before anything changes. Rows are one transaction, and the files are
    exchanged in it. Raises `BackupError`; then the installation is as it was.
    """
    with opened(path) as archive:
        _check_fit(archive)
        if not replace and (table := tables.first_table_in_use()):
            raise BackupError(
                f"The database is in use: {table} has rows. Restore into a new database, or use "
                "--replace to delete everything that is in this one first."
            )
        tell("Comparing checksums.")
        archive.check()
        with _laid_out(archive) as draft:
            try:
                rows, files = _exchange(archive, draft, path, tell)
            except (DatabaseError, ValueError) as error:
                raise BackupError(
                    f"The database refused the rows of the backup: {error}. Nothing changed."
                ) from error
        key = _restore_key(archive)
        logger.warning("restored %s: %s rows, %s files", path, rows, files)
        return Restored(str(archive.manifest["taken_at"]), rows, files, key)


def _check_fit(archive: Archive) -> None:
    there, here = set(archive.manifest["migrations"]), set(tables.migrations_applied())
    if there != here:
        first = sorted(there ^ here)[0]
        missing = "The backup" if first in here else "This database"
        raise BackupError(
            f"The backup was made by version {archive.manifest['version']} of the program with "
            f"other tables. {missing} lacks the migration {first}. Restore with the version that "
            "made the backup, then update."
        )
    wanted = {f"database/{model._meta.db_table}.jsonl" for model in tables.kept_models()}
    if missing_tables := sorted(wanted - archive.parts.keys()):
        raise BackupError(f"The backup lacks {missing_tables[0]}. Use another copy.")
    for name in archive.parts:
        _place_of(name)


def _place_of(name: str) -> PurePosixPath | None:
    """Where a file goes below VAR_DIR; None for a part that is no file."""
    path = PurePosixPath(name)
    if path.parts[:1] != ("files",):
        return None
    inside = path.relative_to("files")
    is_safe = len(inside.parts) > 2 and ".." not in inside.parts and "\\" not in name
    if not is_safe or inside.parts[0] not in kept_in() or PurePosixPath(name).is_absolute():
        raise BackupError(f"The part {name} is no file of an installation. Nothing was restored.")
    return inside


@contextmanager
def _laid_out(archive: Archive) -> Iterator[Path]:
    """The files of the backup in a draft folder on the disk of those of the installation."""
    draft = Path(tempfile.mkdtemp(prefix=".restore.", dir=settings.VAR_DIR))
    try:
        (draft / "new").mkdir()
        for name in archive.parts:
            if (inside := _place_of(name)) is not None:
                target = draft / "new" / inside
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(name) as source, target.open("wb") as out:
                    shutil.copyfileobj(source, out, _BLOCK)
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _exchange(
    archive: Archive, draft: Path, path: Path, tell: Callable[[str], None]
) -> tuple[int, int]:
    new = draft / "new"
    with ExitStack() as stack:  # left after the end of the transaction
        with transaction.atomic():
            rows = _replace_rows(archive, tell)
            _record(archive, path)
            stack.enter_context(files_storage().exchanged(new, kept_in()))
            adopt_location()
    return rows, sum(_place_of(name) is not None for name in archive.parts)


def _replace_rows(archive: Archive, tell: Callable[[str], None]) -> int:
    tables.lock_tables()
    tables.empty_tables()
    rows = 0
    for model in tables.kept_models():
        name = f"database/{model._meta.db_table}.jsonl"
        tell(name)
        if archive.parts[name].get("columns") != tables.columns_of(model):
            raise BackupError(f"The part {name} has other columns than its table.")
        rows += tables.insert_lines(model, archive.lines(name))
    connection.check_constraints()
    tables.reset_sequences()
    return rows


def _record(archive: Archive, path: Path) -> None:
    """Note the file as a backup: it holds what may be deleted here later."""
    Backup.objects.get_or_create(
        sha256=sha256_of(path),
        defaults={
            "file": str(path.resolve()),
            "size": path.stat().st_size,
            "holds_secret_key": KEY_PART in archive.parts,
            "taken_at": datetime.fromisoformat(archive.manifest["taken_at"]),
        },
    )


def _restore_key(archive: Archive) -> str:
    """Put the key of the backup where the program keeps its own, if it keeps one in a file."""
    if archive.manifest["key_fingerprint"] == key_fingerprint():
        return "same"
    if KEY_PART not in archive.parts:
        return "missing"
    own = Path(settings.VAR_DIR) / "secret_key"
    if not settings.EMBEDDED or not own.is_file():
        return "in the backup"
    draft = own.with_name(f"{own.name}.{os.getpid()}")
    draft.touch(mode=0o600)
    draft.write_bytes(archive.read(KEY_PART))
    os.replace(draft, own)
    return "written"
