"""Exports in the background: the queue, a worker that dies, deletion, expiry."""

import datetime as dt
import hashlib
import os
import stat
import zipfile

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from analysis import tasks
from analysis.errors import ExportError
from analysis.exports.requests import delete_export, request_export
from analysis.lifecycle.storage import export_dir
from analysis.models import Export
from studies.jobs.models import STALLED_AFTER
from studies.models import Membership, Study
from tests.stored import path_of

# Progress is told from a thread, which has to see what the test has stored.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def var_dir(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    return tmp_path


@pytest.fixture(autouse=True)
def queued(monkeypatch):
    ids: list[int] = []
    monkeypatch.setattr(tasks.write_export, "delay_on_commit", ids.append)
    monkeypatch.setattr(tasks.write_export, "delay", ids.append)
    return ids


@pytest.fixture
def owner(study):
    user = User.objects.create_user("owner")
    Membership.objects.create(user=user, study=study, role="owner")
    return user


def ask(study, owner, what="annotations", **options):
    return request_export(study_id=study.pk, user=owner, what=what, **options)


def written(export):
    tasks.write_export(export.pk)
    export.refresh_from_db()
    return export


def long_ago(export, **fields):
    silent_since = timezone.now() - STALLED_AFTER - dt.timedelta(seconds=1)
    Export.objects.filter(pk=export.pk).update(heartbeat_at=silent_since, **fields)


def test_a_worker_writes_the_file_and_says_what_it_is(study, owner, queued):
    export = written(ask(study, owner))

    file = path_of(export_dir(export.public_id)) / export.filename
    assert queued == [export.pk]
    assert (export.state, export.progress, export.rows) == ("done", 100, {"annotations": 2})
    assert export.filename == f"one-annotations-{timezone.now():%Y-%m-%d}.jsonl"
    assert export.size == file.stat().st_size
    assert export.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    assert dt.timedelta(days=13) < export.expires_at - timezone.now() < dt.timedelta(days=15)
    log = study.log.get(event="exported")
    assert (log.user, log.detail["export"]) == (owner, export.public_id)


def test_everything_is_one_zip(study, owner):
    export = written(ask(study, owner, "all"))

    with zipfile.ZipFile(path_of(export_dir(export.public_id)) / export.filename) as bundle:
        (root,) = {name.split("/")[0] for name in bundle.namelist()}
        listed = bundle.read(f"{root}/CHECKSUMS.sha256").decode().splitlines()
        assert len(listed) == len(bundle.namelist()) - 1
    assert [path.name for path in path_of(export_dir(export.public_id)).iterdir()] == [
        export.filename
    ]


def test_a_second_press_of_the_button_is_the_same_export(study, owner, queued):
    first, second = ask(study, owner), ask(study, owner)
    other = ask(study, owner, format="csv")

    assert first == second != other
    assert queued == [first.pk, other.pk]


def test_a_copy_that_names_people_takes_an_owner_and_lasts_a_day(study, owner):
    editor = User.objects.create_user("editor")
    Membership.objects.create(user=editor, study=study, role="editor")

    for leaving in ({"identified": True}, {"free_text": True}):
        with pytest.raises(ExportError, match="Only an owner"):
            ask(study, editor, "annotators", **leaving)

    export = written(ask(study, owner, "annotators", identified=True))
    assert export.expires_at - timezone.now() < dt.timedelta(days=1, minutes=1)
    assert stat.S_IMODE(path_of(export_dir(export.public_id)).stat().st_mode) == 0o700
    assert study.log.get(event="exported").detail["identified"]


def test_an_export_is_started_again_when_its_worker_died(study, owner, queued):
    export = ask(study, owner)
    long_ago(export, state="running", attempts=1)

    tasks.tidy_report_jobs()

    assert queued == [export.pk, export.pk]
    assert written(export).state == "done"
    assert export.attempts == 2


def test_a_full_disk_leaves_a_sentence_and_nothing_else(study, owner, monkeypatch, var_dir):
    def full(study):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("analysis.exports.catalogue.judgment_table", full)

    export = written(ask(study, owner, "all"))

    assert export.state == "failed"
    assert "cannot be written: No space left on device" in export.message
    assert list((var_dir / "exports").iterdir()) == []


def test_deleting_takes_the_file_and_keeps_the_row(study, owner):
    export = written(ask(study, owner))

    delete_export(export_id=export.pk, user=owner)
    delete_export(export_id=export.pk, user=owner)

    export.refresh_from_db()
    assert (export.state, export.message) == ("gone", "Deleted by owner.")
    assert not path_of(export_dir(export.public_id)).exists()
    assert study.log.filter(event="export deleted").count() == 1
    waiting = ask(study, owner)
    delete_export(export_id=waiting.pk, user=owner)
    assert written(waiting).state == "gone"
    assert not path_of(export_dir(waiting.public_id)).exists()


def test_an_expired_file_goes_and_its_row_says_so(study, owner):
    kept, expired = written(ask(study, owner)), written(ask(study, owner, format="csv"))
    Export.objects.filter(pk=expired.pk).update(expires_at=timezone.now())

    tasks.tidy_report_jobs()

    expired.refresh_from_db()
    assert (expired.state, expired.message) == ("gone", "Expired.")
    assert not path_of(export_dir(expired.public_id)).exists()
    assert path_of(export_dir(kept.public_id)).exists()


def test_what_a_killed_worker_left_half_written_is_swept_after_a_day(study, var_dir):
    old, new = var_dir / "exports/.old", var_dir / "exports/.new"
    for folder in (old, new):
        folder.mkdir(parents=True)
    os.utime(old, (0, 0))

    tasks.tidy_report_jobs()

    assert (old.exists(), new.exists()) == (False, True)
    assert Study.objects.count() == 1
