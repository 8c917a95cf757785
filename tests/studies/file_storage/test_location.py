"""One place for the files of all processes: noted, refused, adopted."""

import errno
import shutil
from contextlib import nullcontext
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from analysis.lifecycle.requests import request_report
from config import health
from config.celery import refuse_other_files
from studies.file_storage.storage import Stored, note_location, wrong_location
from studies.models import FilesLocation
from tests.factories import make_study

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def in_a_folder(use: Any) -> None:
    use("folder")


def another_folder(settings: Any, tmp_path: Path) -> None:
    settings.VAR_DIR = tmp_path / "another"
    settings.VAR_DIR.mkdir()


def test_the_first_process_notes_its_folder_and_the_others_share_it(settings, tmp_path):
    assert note_location() == ""
    # The same folder at another path, as a mount shows it.
    (tmp_path / "mount").symlink_to(settings.VAR_DIR)
    settings.VAR_DIR = tmp_path / "mount"

    assert note_location() == ""
    assert FilesLocation.objects.count() == 1


def test_a_private_folder_is_refused_with_what_to_do(settings, tmp_path):
    noted = settings.VAR_DIR
    note_location()
    another_folder(settings, tmp_path)

    sentence = note_location()

    assert sentence.startswith(f"This process keeps files in {tmp_path}/another on ")
    assert f"the installation keeps them in {noted} on " in sentence
    assert "set FILES to a bucket" in sentence
    assert "manage.py files --adopt" in sentence


def test_two_folders_with_the_same_path_are_told_apart(settings):
    note_location()
    shutil.rmtree(settings.VAR_DIR)
    settings.VAR_DIR.mkdir()

    assert "manage.py files --adopt" in note_location()


def test_a_moved_folder_is_known(settings, tmp_path):
    note_location()
    settings.VAR_DIR.rename(tmp_path / "moved")
    settings.VAR_DIR = tmp_path / "moved"

    assert note_location() == ""


def test_another_storage_is_refused_and_a_bucket_fits_every_folder(use, s3, settings, tmp_path):
    use("s3://research")
    note_location()
    another_folder(settings, tmp_path)
    assert note_location() == ""

    use("folder")

    assert "the installation keeps them in s3://research/" in note_location()


def test_health_states_it(client, settings, tmp_path, monkeypatch):
    monkeypatch.setattr(health, "_located", None)
    note_location()
    assert client.get("/healthz").json()["storage"] == "ok"
    another_folder(settings, tmp_path)
    monkeypatch.setattr(health, "_located", None)

    response = client.get("/healthz")

    sentence = "differs from that of the other processes"
    assert (response.status_code, response.json()["storage"]) == (503, sentence)


def test_the_command_adopts_a_folder(settings, tmp_path):
    note_location()
    another_folder(settings, tmp_path)
    with pytest.raises(CommandError, match="the installation keeps them in"):
        call_command("files")

    out = StringIO()
    call_command("files", "--adopt", stdout=out)

    assert f"Files are in {settings.VAR_DIR} on " in out.getvalue()
    assert wrong_location() == ""


def content(name: str) -> dict[str, bytes]:
    return {file.path: file.read_bytes() for file in Stored(name).files()}


def test_showing_the_location_stores_nothing(settings):
    out = StringIO()

    call_command("files", stdout=out)

    assert out.getvalue().startswith(f"Files are in {settings.VAR_DIR} on ")
    assert not FilesLocation.objects.exists()


def test_a_file_system_without_links_has_an_id_too(settings, monkeypatch):
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", refuse)

    assert note_location() == ""
    assert note_location() == ""
    assert [path.name for path in settings.VAR_DIR.iterdir()] == ["files_id"]


def test_a_full_disk_keeps_no_draft_of_the_id(settings, monkeypatch):
    def full(path: Path, *_: object, **__: object) -> None:
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)

    with pytest.raises(OSError, match="No space"):
        note_location()
    assert not list(settings.VAR_DIR.iterdir())


@pytest.mark.nightly
def test_the_command_copies_files_to_another_storage_and_back(use, s3, settings):
    report = f"reports/{request_report(study_id=make_study().pk).public_id}"
    with Stored(report).replacing() as draft:
        (draft / "tables").mkdir()
        (draft / "tables/items.csv").write_bytes(b"a,b\n")
        (draft / "report.html").write_bytes(b"<p>" * 300_000)
    before = content(report)
    Stored("reports/unknown/x.csv").save(b"of no row")
    note_location()

    use("s3://research")
    out = StringIO()
    call_command("files", "--copy-from", "folder", stdout=out)

    assert "Copied 2 files." in out.getvalue()
    assert "Files are in s3://research/." in out.getvalue()
    shutil.rmtree(settings.VAR_DIR / "reports")
    assert content(report) == before
    assert content("reports/unknown") == {}

    use("folder")
    call_command("files", "--copy-from", "s3://research", stdout=out)
    assert content(report) == before
    call_command("files", stdout=out)
    assert "reports: 2 files, 900,004 bytes" in out.getvalue()


@pytest.mark.parametrize(("queues", "is_refused"), [(["celery"], True), (["judging"], False)])
def test_a_worker_that_only_asks_judges_keeps_no_files(queues, is_refused, monkeypatch):
    monkeypatch.setattr(health, "refusal", lambda: "elsewhere")
    amqp = SimpleNamespace(queues=SimpleNamespace(consume_from=dict.fromkeys(queues)))
    worker = SimpleNamespace(app=SimpleNamespace(amqp=amqp))

    with pytest.raises(SystemExit, match="elsewhere") if is_refused else nullcontext():
        refuse_other_files(sender=worker)


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("folder", "Files are already in .*. Set FILES to the new storage first."),
        ("ftp://x", "--copy-from must be folder or s3://bucket/prefix, not “ftp://x”."),
    ],
)
def test_a_pointless_copy_is_refused(source, sentence):
    with pytest.raises(CommandError, match=sentence):
        call_command("files", "--copy-from", source)
