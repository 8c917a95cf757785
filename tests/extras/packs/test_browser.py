"""The pages of packs in Chromium: write, download, upload replies, and faults in them."""

import io
import json
import os
import zipfile

import pytest
from django.contrib.auth.models import User

from extras.packs import jobs
from extras.packs.models import PackJob
from judging.runs import lifecycle
from judging.runs.spec import RunSpec
from judging.runs.start import start_run
from studies.models import Membership
from tests.browser.annotators import make_everyday_study
from tests.browser.conftest import PHONE, fits_and_reads_well
from tests.extras.in_browser import browser, open_page, signed_in  # noqa: F401
from tests.judging.conftest import make_judge
from tests.judging.llm_server import completion

pytestmark = [
    pytest.mark.sampled(keep=1, group="packs in browser"),
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
]


@pytest.fixture
def run(live_server, settings, tmp_path):
    settings.VAR_DIR = tmp_path
    study = make_everyday_study(items=3)
    user = User.objects.create_user("researcher")
    Membership.objects.create(user=user, study=study, role="editor")
    judge = make_judge(base_url="http://127.0.0.1:9/v1")
    run = start_run(RunSpec(study_id=study.pk, judge_id=judge.pk), enqueue=False)
    lifecycle.pause_run(run_id=run.pk)
    return run


def look(page, name):
    fits_and_reads_well(page)
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


def replies_to(path) -> bytes:
    body = json.loads(completion("[[A]]").body)
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".jsonl"))
        lines = archive.read(name).splitlines()
    rows = [
        {"custom_id": json.loads(line)["custom_id"], "response": {"status_code": 200, "body": body}}
        for line in lines
    ]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


@pytest.mark.nightly
def test_a_pack_goes_out_and_its_replies_come_in(signed_in, run, tmp_path):  # noqa: F811
    page = signed_in()
    page.goto(f"/studies/{run.study.slug}/judges/{run.public_id}/")
    page.get_by_role("button", name="Write pack").click()
    page.get_by_role("heading", name="Writing the pack").wait_for()
    look(page, "pack-open")
    jobs.run_job(job_id=PackJob.objects.get().pk)
    page.reload()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download pack").click()
    look(page, "pack-done")
    page.get_by_role("link", name="Go to the run").click()
    page.get_by_text("Waiting for the replies to a pack").wait_for()
    look(page, "pack-run")
    page.set_viewport_size(PHONE)
    look(page, "pack-run-phone")

    page.get_by_role("link", name="Upload replies").click()
    look(page, "replies")
    bad = {"name": "bad.jsonl", "mimeType": "text/plain", "buffer": b'{"custom_id": "x"'}
    page.get_by_label("Files of replies").set_input_files(bad)
    page.get_by_role("button", name="Upload replies").click()
    page.get_by_role("heading", name="Reading replies").wait_for()
    jobs.run_job(job_id=PackJob.objects.first().pk)
    page.reload()
    page.get_by_text("the file ends in the middle of this line").wait_for()
    look(page, "replies-faults")

    page.get_by_role("link", name="Upload other files").click()
    good = {**bad, "name": "good.jsonl", "buffer": replies_to(download.value.path())}
    page.get_by_label("Files of replies").set_input_files(good)
    page.get_by_role("button", name="Upload replies").click()
    page.get_by_role("heading", name="Reading replies").wait_for()
    jobs.run_job(job_id=PackJob.objects.first().pk)
    page.reload()
    page.get_by_text("Read 3 new replies: 3 decided a judgment.").wait_for()
    look(page, "replies-done")
