"""Make a backup while the installation is used."""

import logging
import os
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.utils.crypto import salted_hmac

from analysis.exports.table_files import sha256_of
from config.operations.backups import tables
from config.operations.backups.archive import KEY_PART, ArchiveWriter, BackupError, blocks_of
from config.operations.backups.snapshot import snapshot
from config.operations.stored_files import kept_files
from studies.models import Backup
from studies.statements import clock
from studies.version import version

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Made:
    backup: Backup
    rows: int
    files: int


def key_fingerprint() -> str:
    """Tells two keys from each other and reveals neither."""
    return salted_hmac("config.operations.backups", "", algorithm="sha256").hexdigest()


def make_backup(
    path: Path, *, with_secret_key: bool = False, tell: Callable[[str], None] = lambda _: None
) -> Made:
    """Write a backup to the new file `path`, which appears when it is complete.

    The rows are those of one moment, and the files those that these rows name. Raises
    `BackupError` or `OSError`.
    """
    if path.exists():
        raise BackupError(f"{path} exists already. Choose another name: nothing was overwritten.")
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with part.open("xb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as bundle:
                taken_at = clock.now()
                writer = ArchiveWriter(bundle)
                with snapshot():
                    rows, files = _write(writer, with_secret_key, tell)
                    writer.close(
                        {
                            "program": "thirdperson",
                            "version": version(),
                            "database": connection.vendor,
                            "taken_at": taken_at.isoformat(),
                            "migrations": tables.migrations_applied(),
                            "key_fingerprint": key_fingerprint(),
                        }
                    )
            file.flush()
            os.fsync(file.fileno())
        os.link(part, path)  # fails if somebody made the file meanwhile
    finally:
        part.unlink(missing_ok=True)
    backup = Backup.objects.create(
        file=str(path.resolve()),
        sha256=sha256_of(path),
        size=path.stat().st_size,
        holds_secret_key=with_secret_key,
        taken_at=taken_at,
    )
    logger.info("backup %s: %s rows, %s files, %s", path, rows, files, backup.sha256)
    return Made(backup, rows, files)


def _write(
    writer: ArchiveWriter, with_secret_key: bool, tell: Callable[[str], None]
) -> tuple[int, int]:
    rows = files = 0
    for model in tables.kept_models():
        table = model._meta.db_table
        tell(table)
        name = f"database/{table}.jsonl"
        rows += writer.add(name, tables.lines_of(model), columns=tables.columns_of(model))
    for stored in kept_files():
        tell(stored.path)
        with suppress(FileNotFoundError), stored.open() as file:  # unless it has just expired
            writer.add(f"files/{stored.path}", blocks_of(file))
            files += 1
    if with_secret_key:
        writer.add(KEY_PART, [settings.SECRET_KEY.encode()])
    return rows, files
