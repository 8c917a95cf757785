"""A backup is one moment of the database, while others write."""

import threading
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from extras.administration import backups
from extras.administration.backups import make_backup
from studies.models import Backup, Study
from tests.factories import make_study


@pytest.mark.django_db(transaction=True)
def test_a_backup_excludes_rows_stored_while_it_runs(var_dir, tmp_path, monkeypatch):
    make_study(slug="before")
    read = backups.lines_of

    def store_first(model: Any) -> Iterator[bytes]:
        monkeypatch.setattr(backups, "lines_of", read)
        thread = threading.Thread(target=_store_another)
        thread.start()
        thread.join()
        return read(model)

    monkeypatch.setattr(backups, "lines_of", store_first)
    make_backup(tmp_path / "backup.zip")

    slugs = zipfile.Path(tmp_path / "backup.zip", "database/studies_study.jsonl").read_bytes()
    assert Study.objects.filter(slug="meanwhile").exists()
    assert b'"before"' in slugs
    assert b'"meanwhile"' not in slugs
    assert Backup.objects.count() == 1


def _store_another() -> None:
    try:
        make_study(slug="meanwhile")
    finally:
        connection.close()
