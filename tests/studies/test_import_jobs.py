"""Files too large for a page to wait for: a worker imports them, whole or not at all."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.utils import timezone

from studies import tasks
from studies.importers.uploads import folder_of, run_import
from studies.jobs import runner
from studies.jobs.models import STALLED_AFTER
from studies.models import ImportJob, Item, Membership, Study
from studies.models.items import ROWS_READ, STORING_SILENCE
from tests.factories import make_study
from tests.stored import path_of
from tests.studies.files import jsonl, raw_item

pytestmark = pytest.mark.django_db
ADDRESS = "/studies/one/import/"


@pytest.fixture(autouse=True)
def small_pages(monkeypatch, settings, tmp_path):
    """Every file is too large to wait for."""
    settings.VAR_DIR = tmp_path
    monkeypatch.setattr("studies.importers.uploads.INLINE_BYTES", 10)


@pytest.fixture
def study(client) -> Study:
    study = make_study(slug="one")
    editor = User.objects.create_user("editor")
    Membership.objects.create(study=study, user=editor, role="editor")
    client.force_login(editor)
    return study


def send(client, data: bytes, **fields) -> ImportJob:
    file = SimpleUploadedFile("items.jsonl", data)
    response = client.post(ADDRESS, {"file": file, "task": "preference"} | fields)
    job = ImportJob.objects.get()
    assert response["Location"] == f"{ADDRESS}{job.public_id}/"
    return job


def page_of(client, job: ImportJob):
    response = client.get(f"{ADDRESS}{job.public_id}/")
    return response, response.content.decode()


def test_a_large_file_waits_for_a_worker_and_the_page_follows_it(client, study):
    job = send(client, jsonl(raw_item(1), raw_item(2)))

    _, page = page_of(client, job)

    assert "Waiting for a worker." in page
    assert 'data-status="?progress"' in page
    assert '<noscript><meta http-equiv="refresh"' in page
    assert (path_of(folder_of(job)) / "items.jsonl").stat().st_size > 0
    assert path_of(folder_of(job)).parent.stat().st_mode & 0o777 == 0o700
    assert not Item.objects.exists()


def test_the_worker_is_asked_when_the_job_is_stored(client, study, monkeypatch):
    asked: list[int] = []
    monkeypatch.setattr("studies.pages.import_views.import_file.delay_on_commit", asked.append)

    job = send(client, jsonl(raw_item(1)))

    assert asked == [job.pk]


def test_the_worker_imports_it_once_however_often_it_is_asked(client, study):
    job = send(client, jsonl(raw_item(1), raw_item(2)))

    run_import(job_id=job.pk)
    run_import(job_id=job.pk)

    _, page = page_of(client, job)
    assert Item.objects.count() == 2
    assert "Imported 2 items and" in page
    assert "data-status" not in page
    assert not path_of(folder_of(job)).exists()
    assert study.log.filter(event="items imported").get().user.username == "editor"


def test_checking_a_large_file_stores_nothing(client, study):
    job = send(client, jsonl(raw_item(1)), check="")

    run_import(job_id=job.pk)

    _, page = page_of(client, job)
    assert "Would import 1 item" in page
    assert "Nothing has been imported yet." in page
    assert not Item.objects.exists()


def test_a_file_with_faults_names_each_and_stores_nothing(client, study):
    job = send(client, jsonl(raw_item(1), raw_item(2, id="a b"), raw_item(3, task="x")))

    run_import(job_id=job.pk)

    _, page = page_of(client, job)
    assert ImportJob.objects.get().state == "failed"
    assert "The file has 2 errors. Nothing was imported" in page
    assert "Line 2" in page
    assert "Download all errors as CSV" in page
    assert not Item.objects.exists()


def test_reading_shows_its_progress(client, study, monkeypatch):
    job = send(client, jsonl(*(raw_item(n) for n in range(1, 5))))
    monkeypatch.setattr(runner, "HEARTBEAT_SECONDS", 0)
    seen = []
    store = runner.JobProgress.store

    def look(progress):
        store(progress)
        seen.append(client.get(f"{ADDRESS}{job.public_id}/?progress").json())

    monkeypatch.setattr(runner.JobProgress, "store", look)

    run_import(job_id=job.pk)

    assert "80 % of its rows" in seen[-3]["message"]
    assert seen[-1] == {
        "progress": ROWS_READ,
        "message": "Storing the items of the file.",
        "open": True,
    }


def test_a_program_error_is_reported_and_leaves_nothing(client, study, monkeypatch):
    job = send(client, jsonl(raw_item(1)))

    def fail(*args, **kwargs):
        raise ZeroDivisionError

    monkeypatch.setattr("studies.importers.items.storage.seat_items", fail)

    with pytest.raises(ZeroDivisionError):
        run_import(job_id=job.pk)

    _, page = page_of(client, job)
    assert "could not be imported: there is an error in the program. Nothing was stored." in page
    assert not Item.objects.exists()
    assert not path_of(folder_of(job)).exists()


@pytest.fixture
def queued(monkeypatch):
    ids: list[int] = []
    monkeypatch.setattr(tasks.import_file, "delay", ids.append)
    return ids


def silent_for(limit, **fields):
    ImportJob.objects.update(heartbeat_at=timezone.now() - limit, **fields)


def test_the_page_says_when_the_worker_was_killed_and_the_next_worker_imports_the_file(
    client, study, queued
):
    job = send(client, jsonl(raw_item(1)))
    silent_for(STALLED_AFTER - timedelta(seconds=30), state="running", progress=40, attempts=1)
    assert "No worker is processing this" not in page_of(client, job)[1]
    silent_for(STALLED_AFTER + timedelta(seconds=1))
    assert "No worker is processing this" in page_of(client, job)[1]

    tasks.tidy_imports()

    assert queued == [job.pk]
    assert "The worker was stopped. Waiting for a worker." in page_of(client, job)[1]
    assert run_import(job_id=job.pk).state == "done"
    assert Item.objects.count() == 1


def test_a_job_whose_message_was_lost_is_found_within_a_minute_and_done_once(client, study, queued):
    job = send(client, jsonl(raw_item(1)))
    silent_for(timedelta(seconds=30))
    tasks.tidy_imports()
    assert queued == []

    silent_for(timedelta(seconds=45))
    for _ in range(3):  # every worker looks each quarter of a minute
        tasks.tidy_imports()

    assert queued == [job.pk]
    assert "Waiting for a worker." in page_of(client, job)[1]
    assert run_import(job_id=job.pk).state == "done"
    # The first message was not lost: it came late.
    assert (run_import(job_id=job.pk).attempts, Item.objects.count()) == (1, 1)


def test_a_file_that_stops_its_worker_three_times_is_given_up_and_deleted(client, study, queued):
    job = send(client, jsonl(raw_item(1)))
    silent_for(STALLED_AFTER + timedelta(seconds=1), state="running", attempts=3)

    tasks.tidy_imports()

    assert queued == []
    assert "The worker was stopped 3 times." in page_of(client, job)[1]
    assert not path_of(folder_of(job)).exists()


def test_on_sqlite_storing_the_items_may_take_long(client, study):
    job = send(client, jsonl(raw_item(1)))
    limit = STORING_SILENCE if connection.vendor == "sqlite" else STALLED_AFTER

    silent_for(limit - timedelta(seconds=30), state="running", progress=ROWS_READ)
    job.refresh_from_db()
    assert not job.is_stalled
    silent_for(limit + timedelta(seconds=1))
    job.refresh_from_db()
    assert job.is_stalled


def test_sending_the_file_again_replaces_an_import_that_no_worker_has(client, study, queued):
    job = send(client, jsonl(raw_item(1)))
    silent_for(STALLED_AFTER + timedelta(seconds=1), state="running")

    client.post(
        ADDRESS,
        {"file": SimpleUploadedFile("b.jsonl", jsonl(raw_item(2))), "task": "preference"},
    )
    tasks.tidy_imports()

    assert "it was uploaded again" in page_of(client, job)[1]
    assert not path_of(folder_of(job)).exists()
    assert ImportJob.objects.count() == 2
    assert queued == []
