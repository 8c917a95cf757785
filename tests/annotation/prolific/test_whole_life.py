"""Recruiting from draft to payday: every place paid once, every seat filled."""

import secrets
import subprocess
import sys
from pathlib import Path

import pytest
import requests
from django.core.management import call_command

from annotation import services
from annotation.models import ProlificStudy, QuotaGroup
from demo.prolific.server import TOKEN
from studies.models import Item
from tests.annotation.prolific.life import (
    answer_some,
    arrive,
    finish,
    make_recruiting,
    paid_there,
    with_quotas,
)
from tests.factories import answer_all

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[3]


def run(*args: str) -> None:
    call_command("prolific", *args)


@pytest.mark.nightly
def test_eighteen_people_from_draft_to_payday_from_the_command_line(prolific, capsys, monkeypatch):
    """Returns, time-outs and late finishers; people come while earlier ones are at work."""
    study = with_quotas(make_recruiting(items=18, per_person=3), each=3)
    run(
        "launch",
        study.slug,
        "--country",
        "United States",
        "--age",
        "18-75",
        "--devices",
        "desktop,tablet",
        "--approval-rate",
        "95",
        "--balance",
        "sex=Male,Female",
        "--balance",
        "us-political-affiliation=Democrat,Republican,Independent",
    )
    asked = []

    def confirm(question):
        asked.append(question)
        return "113.40"

    monkeypatch.setattr("builtins.input", confirm)
    run("publish", study.slug)
    assert "$113.40" in asked[0]
    row = ProlificStudy.objects.get(study=study)

    came, late = 0, []
    while prolific.world.show_study(row.prolific_id)["status"] == "ACTIVE":
        person, annotator = arrive(prolific, row)
        came += 1
        if came in (3, 11):
            answer_some(annotator, 2)
            prolific.world.give_back(person["submission"])
        elif came == 7:
            prolific.world.time_out(person["submission"])
        elif came in (9, 15):
            answer_some(annotator, 1)
            prolific.world.time_out(person["submission"])
            late.append(annotator)
        else:
            finish(prolific, person, annotator)
        run("sync", study.slug)
        if came == 20:
            finish_late(*late)
    for _ in range(2):  # the second time there is nothing left to do
        run("settle", study.slug, "--approve", "--bonuses", "--yes")

    statuses = [s.status for s in prolific.world.submissions.values()]
    assert came == 23
    assert statuses.count("APPROVED") == 18
    assert (statuses.count("RETURNED"), statuses.count("TIMED-OUT")) == (2, 3)
    assert sorted(b for paid in paid_there(prolific) for b in paid) == [300, 300, 450, 450]
    assert prolific.world.show_study(row.prolific_id)["status"] == "COMPLETED"
    assert set(Item.objects.filter(study=study).values_list("answered", flat=True)) == {3}
    assert set(QuotaGroup.objects.values_list("completed", "reserved", "target")) == {(3, 0, 3)}
    said = capsys.readouterr()
    assert "Approve" not in said.err
    assert TOKEN not in said.out + said.err
    assert not any(s.participant in said.out for s in prolific.world.submissions.values())


def finish_late(*annotators) -> None:
    """People whose time is over on Prolific, and who finish all the same."""
    for annotator in annotators:
        services.resume(annotator_id=annotator.pk)
        answer_all(annotator)
        services.complete(annotator_id=annotator.pk)


@pytest.fixture
def other_server(tmp_path):
    """A server of its own process, on a port and with a token that nobody else knows of."""
    token = secrets.token_urlsafe(20)
    process = subprocess.Popen(
        # In one word: a token may begin with a hyphen.
        [sys.executable, "-m", "demo.prolific", "--port", "0", f"--token={token}"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    url = process.stdout.readline().strip()
    yield url, token
    process.terminate()
    process.wait(timeout=60)
    process.stdout.close()


def test_another_server_needs_only_its_address_and_token(other_server, settings):
    url, settings.PROLIFIC_API_TOKEN = other_server
    settings.PROLIFIC_BASE_URL = url.removesuffix("/api/v1/")
    study = make_recruiting()

    run("launch", study.slug)
    run("publish", study.slug, "--yes")
    row = ProlificStudy.objects.get()
    place = requests.post(
        f"{url.removesuffix('/api/v1/')}/simulate/arrive",
        json={"study": row.prolific_id},
        timeout=60,
    ).json()
    services.enter(study=study, pid=place["participant"], session_id=place["submission"])
    run("sync", study.slug)
    run("stop", study.slug, "--yes")

    row.refresh_from_db()
    assert (row.status, row.submissions.get().status) == ("COMPLETED", "ACTIVE")
