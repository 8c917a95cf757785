"""Files too large for a page to wait for: a worker imports them, whole or not at all."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from studies.importers import uploads
from studies.importers.uploads import folder_of, run_import
from studies.models import (
    IMPORT_STALLED_AFTER,
    READING_STALLED_AFTER,
    ROWS_READ,
    ImportJob,
    Item,
    Membership,
    Study,
)
from tests.factories import make_study
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

    response, page = page_of(client, job)

    assert "Waiting for a worker." in page
    assert response.headers["Refresh"] == "2"
    assert (folder_of(job) / "items.jsonl").stat().st_size > 0
    assert folder_of(job).parent.stat().st_mode & 0o777 == 0o700
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

    response, page = page_of(client, job)
    assert Item.objects.count() == 2
    assert "Imported 2 items and" in page
    assert "Refresh" not in response.headers
    assert not folder_of(job).exists()
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
    assert ImportJob.objects.get().state == "refused"
    assert "The file has 2 errors. Nothing was imported" in page
    assert "Line 2" in page
    assert "Download all errors as CSV" in page
    assert not Item.objects.exists()


def test_how_far_the_reading_is_shows_while_it_goes_on(client, study, monkeypatch):
    job = send(client, jsonl(*(raw_item(n) for n in range(1, 5))))
    monkeypatch.setattr(uploads, "_EVERY_SECONDS", 0)
    seen = []
    moved = uploads._moved

    def look(job, percent):
        moved(job, percent)
        seen.append(page_of(client, job)[1])

    monkeypatch.setattr(uploads, "_moved", look)

    run_import(job_id=job.pk)

    assert "80 % of its rows" in seen[-2]
    assert "Storing the items of the file." in seen[-1]


def test_a_fault_of_the_program_is_told_and_leaves_nothing(client, study, monkeypatch):
    job = send(client, jsonl(raw_item(1)))

    def fail(*args, **kwargs):
        raise ZeroDivisionError

    monkeypatch.setattr("studies.importers.items.storage.seat_items", fail)

    with pytest.raises(ZeroDivisionError):
        run_import(job_id=job.pk)

    _, page = page_of(client, job)
    assert "could not be imported: ZeroDivisionError. Nothing was stored" in page
    assert not Item.objects.exists()
    assert not folder_of(job).exists()


@pytest.mark.parametrize(
    ("progress", "limit"), [(40, READING_STALLED_AFTER), (ROWS_READ, IMPORT_STALLED_AFTER)]
)
def test_a_job_whose_worker_was_killed_says_so_and_its_file_goes_with_the_next(
    client, study, progress, limit
):
    job = send(client, jsonl(raw_item(1)))
    just_now = timezone.now() - limit + timedelta(seconds=30)
    ImportJob.objects.update(state="running", progress=progress, moved_at=just_now)
    assert "The import stopped because" not in page_of(client, job)[1]
    ImportJob.objects.update(moved_at=just_now - timedelta(seconds=31))

    response, page = page_of(client, job)
    client.post(
        ADDRESS,
        {"file": SimpleUploadedFile("b.jsonl", jsonl(raw_item(2))), "task": "preference"},
    )

    assert "The import stopped because" in page
    assert "Refresh" not in response.headers
    assert not folder_of(job).exists()
    assert ImportJob.objects.count() == 2


def test_nobody_else_sees_a_job(client, study):
    job = send(client, jsonl(raw_item(1)))
    viewer = User.objects.create_user("viewer")
    Membership.objects.create(study=study, user=viewer, role="viewer")

    for user in (viewer, User.objects.create_user("stranger")):
        client.force_login(user)
        assert page_of(client, job)[0].status_code == 404
