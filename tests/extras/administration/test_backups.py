"""Backups: everything comes back, on the same database and on another one; or nothing changes."""

import errno
import json
import os
import random
import shutil
import subprocess
import sys
import zipfile
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import override_settings

from analysis.models import Report
from annotation.models import Annotation, ProlificAccount
from config.env import files
from config.operations.stored_files import kept_files
from extras.administration import backups
from extras.administration.backups import BackupError, make_backup, opened, restore_backup
from judging.worker.endpoints import seal
from studies.file_storage.storage import wrong_location
from studies.models import Study
from tests.factories import make_study
from tests.invariants import broken_invariants
from tests.migrated import copy_migrated
from tests.s3_server import S3Server

ROOT = Path(__file__).resolve().parents[3]


def contents(path: Path) -> dict[str, bytes]:
    """The parts of a backup, without what tells one backup from another."""
    with zipfile.ZipFile(path) as bundle:
        left_out = {"manifest.json", "database/studies_backup.jsonl"}
        return {name: bundle.read(name) for name in sorted(set(bundle.namelist()) - left_out)}


def results(study: str, folder: Path) -> dict[str, bytes]:
    """A report and an export of everything, made from the rows as they are."""
    call_command("report", study, out=str(folder / "report"), bootstrap=100, verbosity=0)
    for what in ("annotations", "judgments", "items", "annotators"):
        out = folder / f"{what}.jsonl"
        call_command("export", study, what=what, format="jsonl", out=out, stdout=StringIO())
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def lose_everything(var_dir: Path) -> None:
    backups.empty_tables()
    shutil.rmtree(var_dir)
    var_dir.mkdir(mode=0o700)


def restore(path: Path, *options: str) -> str:
    out = StringIO()
    call_command("backup", str(path), "--restore", *options, stdout=out, stderr=StringIO())
    return out.getvalue()


@pytest.fixture(scope="module")
def made(installation, django_db_blocker, tmp_path_factory):
    """A backup of the installation, without a row that says that it was made."""
    path = tmp_path_factory.mktemp("backup") / "backup.zip"
    settings = override_settings(VAR_DIR=installation.var_dir, JUDGE_STORED_KEYS=True)
    with django_db_blocker.unblock(), settings, transaction.atomic():
        make_backup(path)
        transaction.set_rollback(True)
    return path


@pytest.fixture
def backup(lived_in, made, tmp_path):
    return Path(shutil.copy(made, tmp_path))


def changed(path: Path, **parts: bytes) -> Path:
    """A copy of a backup with some parts replaced, which the manifest does not know."""
    copy = path.with_name("changed.zip")
    with zipfile.ZipFile(path) as bundle, zipfile.ZipFile(copy, "w") as out:
        for name in bundle.namelist():
            out.writestr(name, parts.get(name, bundle.read(name)))
        for name in parts.keys() - set(bundle.namelist()):
            out.writestr(name, parts[name])
    return copy


def with_manifest(path: Path, **facts: object) -> Path:
    with zipfile.ZipFile(path) as bundle:
        manifest = json.loads(bundle.read("manifest.json"))
    return changed(path, **{"manifest.json": json.dumps(manifest | facts).encode()})


@pytest.mark.nightly
def test_everything_is_restored_after_a_total_loss(lived_in, var_dir, backup, tmp_path):
    before = results(lived_in.slug, tmp_path / "before")
    report = Report.objects.get()
    folder = var_dir / "reports" / report.public_id
    kept = {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}
    lose_everything(var_dir)

    said = restore(backup)

    assert "rows" in said
    assert "SECRET_KEY" not in said
    make_backup(tmp_path / "again.zip")
    assert contents(tmp_path / "again.zip") == contents(backup)
    assert {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()} == kept
    assert results(lived_in.slug, tmp_path / "after") == before
    assert broken_invariants() == []


def test_new_rows_get_ids_after_those_that_were_restored(lived_in, var_dir, backup):
    last = Study.objects.order_by("pk").last()
    lose_everything(var_dir)

    restore(backup)

    assert make_study().pk > last.pk


SCRIPT = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings.test"
import django
django.setup()
from django.core.management import call_command
call_command("backup", sys.argv[1], "--restore")
from tests.invariants import broken_invariants
print(broken_invariants())
call_command("backup", sys.argv[2])
"""


@pytest.mark.nightly  # With --all: the same parts, elsewhere.
def test_a_backup_goes_to_an_empty_installation_on_sqlite_and_back(
    lived_in, var_dir, backup, tmp_path, settings
):
    """On PostgreSQL this is the way to the other database, and the way back."""
    before = results(lived_in.slug, tmp_path / "before")
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    copy_migrated(other, "thirdperson.sqlite3")
    environment = os.environ | {
        "VAR_DIR": str(other),
        "DATABASE_URL": f"sqlite:///{other}/thirdperson.sqlite3",
        "SECRET_KEY": settings.SECRET_KEY,
        "JUDGE_STORED_KEYS": "1",
    }
    returned = tmp_path / "returned.zip"

    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(backup), str(returned)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "[]" in done.stdout.splitlines()
    assert contents(returned) == contents(backup)
    lose_everything(var_dir)
    restore(returned)
    assert results(lived_in.slug, tmp_path / "after") == before
    assert broken_invariants() == []


def test_a_database_in_use_is_refused(lived_in, backup):
    with pytest.raises(CommandError, match="The database is in use"):
        restore(backup)


def test_replace_asks_for_a_word_and_restores_everything(lived_in, backup, monkeypatch):
    Annotation.objects.filter(standing="counted", choice="r1").update(choice="r2")
    make_study(slug="later")
    monkeypatch.setattr("builtins.input", lambda _: "yes")
    with pytest.raises(CommandError, match="Nothing changed"):
        restore(backup, "--replace")
    assert Study.objects.filter(slug="later").exists()

    monkeypatch.setattr("builtins.input", lambda _: "replace")
    restore(backup, "--replace")

    assert not Study.objects.filter(slug="later").exists()
    assert Annotation.objects.filter(standing="counted", choice="r1").exists()


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("database/studies_item.jsonl", "database/studies_item.jsonl does not match its checksum"),
        ("files/reports/../../secret_key", "is not in the manifest"),
    ],
)
def test_a_changed_part_is_named_and_nothing_changes(lived_in, var_dir, backup, part, words):
    lose_everything(var_dir)

    with pytest.raises(BackupError, match=words):
        restore_backup(changed(backup, **{part: b"[]\n"}))

    assert backups.first_table_in_use() == ""
    assert list(var_dir.iterdir()) == []


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"format": 2}, "format 2"),
        ({"migrations": ["studies.0001_initial"]}, "lacks the migration"),
        ({"parts": {}}, "The backup lacks database/"),
        ({"parts": []}, "damaged at parts"),
        ({"parts": {"a": 1}}, "damaged at parts, a"),
        ({"migrations": [3]}, "damaged at migrations, 0"),
        ({"taken_at": "soon"}, "damaged at taken_at"),
    ],
)
def test_another_version_is_refused(lived_in, var_dir, backup, facts, words):
    lose_everything(var_dir)

    with pytest.raises(BackupError, match=words):
        restore_backup(with_manifest(backup, **facts))


def test_a_part_outside_the_folder_is_refused(lived_in, var_dir, backup):
    with zipfile.ZipFile(backup) as bundle:
        parts = json.loads(bundle.read("manifest.json"))["parts"]
    lose_everything(var_dir)
    for name in (
        "files/../secret_key/x",
        "files/queue/a/b",
        "files/reports/x",
        "files/reports/x/..",
    ):
        with pytest.raises(BackupError, match="not a file of an installation"):
            restore_backup(with_manifest(backup, parts={**parts, name: {"sha256": ""}}))


def test_a_failure_half_way_changes_neither_rows_nor_files(lived_in, var_dir, backup, monkeypatch):
    before = {p: p.read_bytes() for p in var_dir.rglob("*") if p.is_file()}
    answers = Annotation.objects.count()

    def fail() -> None:
        assert (next(var_dir.glob(".restore.*")) / "old/reports").is_dir()
        raise OSError("the disk is full")

    monkeypatch.setattr(backups, "adopt_location", fail)  # the last step of the transaction
    with pytest.raises(OSError, match="disk is full"):
        restore_backup(backup, replace=True)

    assert {p: p.read_bytes() for p in var_dir.rglob("*") if p.is_file()} == before
    assert Annotation.objects.count() == answers


@pytest.mark.nightly  # With --all: the same parts, elsewhere.
def test_a_backup_fits_another_storage(lived_in, var_dir, backup, tmp_path, settings, monkeypatch):
    server = S3Server()
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    before = {file.path: file.read_bytes() for file in kept_files()}
    rows = {name: part for name, part in contents(backup).items() if name.startswith("database/")}
    settings.STORAGES = {**settings.STORAGES, "files": files("s3://research")}

    restore_backup(backup, replace=True)

    assert {file.path: file.read_bytes() for file in kept_files()} == before
    assert wrong_location() == ""
    again = tmp_path / "again.zip"
    make_backup(again)
    assert {name: part for name, part in contents(again).items() if name.startswith("files/")} == {
        f"files/{name}": content for name, content in before.items()
    }
    assert {name for name in contents(again) if name.startswith("database/")} == set(rows)
    shutil.rmtree(var_dir / "reports")
    settings.STORAGES = {**settings.STORAGES, "files": files("folder")}
    restore_backup(again, replace=True)
    assert {file.path: file.read_bytes() for file in kept_files()} == before
    assert wrong_location() == ""
    server.stop()


@pytest.mark.nightly
def test_the_key_is_in_the_backup_only_if_asked_for(lived_in, var_dir, backup, tmp_path, settings):
    key = settings.SECRET_KEY.encode()
    assert all(key not in part for part in contents(backup).values())
    with_key = tmp_path / "with-key.zip"
    make_backup(with_key, with_secret_key=True)
    assert contents(with_key)["secret_key"] == key
    settings.SECRET_KEY = "another key of this length, which is long enough for all"
    (var_dir / "secret_key").write_text(settings.SECRET_KEY)

    assert "which it does not contain" in _replaced(backup)
    with override_settings(EMBEDDED=False):
        assert "unzip -p" in _replaced(with_key)
    with override_settings(EMBEDDED=True):
        assert "This installation now uses the key" in _replaced(with_key)
    assert (var_dir / "secret_key").read_bytes() == key


def _replaced(path: Path) -> str:
    backups.empty_tables()
    return restore(path)


def test_sessions_are_left_out_passwords_are_hashes_and_keys_are_sealed(lived_in, client, tmp_path):
    assert client.login(username="owner", password="a long password")
    ProlificAccount.objects.create(workspace_id="w", sealed_token=seal("a token of Prolific"))
    make_backup(tmp_path / "backup.zip")

    parts = contents(tmp_path / "backup.zip")

    assert "database/django_session.jsonl" not in parts
    assert b"a token of Prolific" not in parts["database/annotation_prolificaccount.jsonl"]
    assert b"a secret of this installation" not in parts["database/judging_judge.jsonl"]
    assert b"a long password" not in parts["database/auth_user.jsonl"]
    assert (
        b"pbkdf2" in parts["database/auth_user.jsonl"]
        or b"md5" in parts["database/auth_user.jsonl"]
    )


def test_the_list_names_each_backup_and_whether_its_file_is_there(lived_in, tmp_path):
    backup = tmp_path / "backup.zip"
    make_backup(backup)
    out = StringIO()
    call_command("backup", list=True, stdout=out)
    assert str(backup) in out.getvalue()
    assert "not there" not in out.getvalue()

    backup.unlink()
    out = StringIO()
    call_command("backup", list=True, stdout=out)

    assert "no longer there" in out.getvalue()


def test_an_existing_file_is_not_overwritten(lived_in, backup):
    with pytest.raises(CommandError, match="already exists"):
        call_command("backup", str(backup))
    with pytest.raises(CommandError, match="does not exist"):
        restore(backup.with_name("none.zip"))


def test_a_full_disk_is_named_with_what_to_do(db, var_dir, tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)

    with pytest.raises(CommandError) as refused:
        call_command("backup", str(tmp_path / "b.zip"))

    assert str(refused.value) == (
        f"{tmp_path / 'b.zip'} cannot be read or written: No space left on device. Free space on "
        "its disk."
    )
    assert not list(tmp_path.glob("*b.zip*"))


def test_a_backup_goes_to_a_disk_without_links(db, var_dir, tmp_path, monkeypatch):
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr("os.link", refuse)

    call_command("backup", str(tmp_path / "b.zip"))

    _check(tmp_path / "b.zip")
    assert [path.name for path in tmp_path.glob("*b.zip*")] == ["b.zip"]


def _check(path: Path) -> None:
    with opened(path) as archive:
        archive.check()


@pytest.mark.nightly
def test_damaged_bytes_are_reported_in_a_sentence(lived_in, var_dir, backup):
    lose_everything(var_dir)
    whole = backup.read_bytes()
    copy = backup.with_name("damaged.zip")
    chosen = random.Random(1)

    for _ in range(60):
        damaged = bytearray(whole)
        for place in chosen.sample(range(len(whole)), 40):
            damaged[place] ^= 0xFF
        copy.write_bytes(damaged)
        with pytest.raises(BackupError):
            _check(copy)


def test_replace_needs_a_terminal_or_the_word(lived_in, backup, monkeypatch):
    def no_terminal(_: str) -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", no_terminal)

    with pytest.raises(CommandError, match="Nothing changed: there is no terminal"):
        restore(backup, "--replace")


def test_a_file_that_is_not_a_backup_is_refused(db, var_dir, tmp_path):
    path = tmp_path / "other.zip"
    path.write_bytes(b"no zip")
    with pytest.raises(CommandError, match="not a complete zip file"):
        restore(path)
    with zipfile.ZipFile(path, "w") as bundle:
        bundle.writestr("a.txt", "text")
    with pytest.raises(CommandError, match="no backup manifest"):
        restore(path)
