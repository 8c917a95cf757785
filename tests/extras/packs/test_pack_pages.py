"""Packs on the page of a run: written and read by a worker."""

import io
import json
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from extras.packs import jobs
from extras.packs.models import PackJob
from judging.models import Attempt, Judgment
from judging.runs import lifecycle
from judging.runs.spec import RunSpec
from judging.runs.start import start_run
from tests.factories import make_items, make_study, sign_in
from tests.judging.conftest import make_judge
from tests.judging.llm_server import completion
from tests.stored import path_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(settings, tmp_path):
    settings.VAR_DIR = tmp_path
    study = make_study(slug="s")
    make_items(study, 4)
    judge = make_judge(base_url="http://127.0.0.1:9/v1")
    spec = RunSpec(study_id=study.pk, judge_id=judge.pk, limit=3)
    run = start_run(spec, enqueue=False)
    lifecycle.pause_run(run_id=run.pk)
    return run


@pytest.fixture
def editor(run) -> Client:
    return sign_in(run.study)


def url(run, name: str, *more: str) -> str:
    return reverse(name, args=["s", run.public_id, *more])


def write(editor, run) -> PackJob:
    """Press the button, and do what a worker does."""
    editor.post(url(run, "packs:write"))
    return jobs.run_job(job_id=PackJob.objects.latest("pk").pk)


def requests_in(data: bytes) -> list[dict]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = [name for name in archive.namelist() if name.endswith("requests.jsonl")]
        return [json.loads(line) for line in archive.read(names[0]).splitlines()]


def replies_to(requests: list[dict]) -> bytes:
    body = json.loads(completion("[[A]]").body)
    rows = [
        {
            "custom_id": request["custom_id"],
            "response": {"status_code": 200, "request_id": "r", "body": body},
        }
        for request in requests
    ]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def upload(editor, run, content: bytes) -> PackJob:
    file = SimpleUploadedFile("replies.jsonl", content)
    response = editor.post(url(run, "packs:replies"), {"replies": file})
    job = PackJob.objects.latest("pk")
    assert response.url == url(run, "packs:job", job.public_id)
    return jobs.run_job(job_id=job.pk)


@pytest.mark.nightly
def test_a_pack_is_written_downloaded_and_its_replies_are_uploaded(run, editor):
    assert "Write pack" in editor.get(url(run, "judging:run")).text

    job = write(editor, run)
    assert "Download pack" in editor.get(url(run, "packs:job", job.public_id)).text
    file = editor.get(url(run, "packs:file", job.public_id))
    requests = requests_in(b"".join(file.streaming_content))
    assert file.headers["Content-Disposition"].endswith(f'"pack-s-{run.public_id}.zip"')
    assert len(requests) == 3  # of the three items of the run, not of all four
    page = editor.get(url(run, "judging:run")).text
    assert "Waiting for the replies to a pack." in page
    assert "Upload replies" in page

    done = upload(editor, run, replies_to(requests))

    assert (done.state, done.message) == ("done", "Read 3 new replies: 3 decided a judgment.")
    assert done.message in editor.get(url(run, "packs:job", done.public_id)).text
    assert not path_of(jobs.folder_of(done)).exists()
    run.refresh_from_db()
    assert run.sentence == "3 of 3 answered."
    page = editor.get(url(run, "judging:run")).text
    assert "All 3 replies have been read." in page
    assert "Write pack" not in page


def test_files_with_faults_are_refused_with_their_lines(run, editor):
    write(editor, run)

    job = upload(editor, run, b'{"custom_id": "x", "response": {"body": {}}}\n')

    page = editor.get(url(run, "packs:job", job.public_id)).text
    assert job.state == "failed"
    assert "Line 1: “x” is not the name of a request" in page
    assert "Upload other files" in page
    assert set(Attempt.objects.values_list("outcome", flat=True)) == {"sent"}
    missing = editor.post(url(run, "packs:replies"), {})
    assert (missing.status_code, "This field is required" in missing.text) == (422, True)


def test_a_discarded_pack_can_be_asked_here(run, editor):
    write(editor, run)

    editor.post(url(run, "packs:discard"))

    page = editor.get(url(run, "judging:run")).text
    assert "Its pack was discarded." in page
    assert set(Judgment.objects.values_list("state", flat=True)) == {"pending"}


def test_a_button_that_is_pressed_twice_writes_one_pack(run, editor):
    first, second = editor.post(url(run, "packs:write")), editor.post(url(run, "packs:write"))

    assert first.url == second.url
    assert PackJob.objects.count() == 1


def test_a_run_that_is_asked_offers_no_pack(run, editor):
    lifecycle.resume_run(run_id=run.pk)

    assert "Write pack" not in editor.get(url(run, "judging:run")).text
    editor.post(url(run, "packs:write"))

    assert not PackJob.objects.exists()


def test_a_worker_that_was_killed_writes_the_pack_again(run, editor, monkeypatch):
    def die(*args):
        raise KeyboardInterrupt

    editor.post(url(run, "packs:write"))
    job = PackJob.objects.get()
    with monkeypatch.context() as patch:
        patch.setattr("extras.packs.jobs.shutil.make_archive", die)
        with pytest.raises(KeyboardInterrupt):
            jobs.run_job(job_id=job.pk)
    PackJob.objects.update(state="queued")

    job = jobs.run_job(job_id=job.pk)

    assert job.message == "The pack holds 3 requests."
    assert Attempt.objects.count() == 3


def test_viewers_see_packs_and_get_none(run, editor):
    job = write(editor, run)
    viewer = sign_in(run.study, "viewer")

    page = viewer.get(url(run, "judging:run")).text

    assert "Waiting for replies" in page
    assert "Upload replies" not in page
    for name, more in {"packs:file": [job.public_id], "packs:replies": []}.items():
        assert viewer.get(url(run, name, *more)).status_code == 404
