"""`thirdperson.Client` against the server itself."""

import zipfile
from collections.abc import Iterator

import pytest

from config.celery import app
from studies.models import Study
from tests.api.conftest import program
from tests.factories import answer_all, make_items, walk_in
from thirdperson import Client
from thirdperson.client import ApiError, JobFailed

pytestmark = pytest.mark.django_db(transaction=True)
ROWS = [
    {
        "id": f"q-{n}",
        "persona_id": "p",
        "persona_text": "Somebody who likes books.",
        "question": f"Question {n}?",
        "response_1": f"Read {n}",
        "response_2": f"Dance {n}",
    }
    for n in range(3)
]

JUDGE = {"name": "j", "model": "m", "base_url": "http://127.0.0.1:9/v1"}


@pytest.fixture
def worker() -> Iterator[None]:
    """Every task is done as soon as it is queued."""
    app.conf.task_always_eager = True
    yield
    app.conf.task_always_eager = False


@pytest.fixture
def client(live_server, settings, tmp_path) -> Iterator[Client]:
    settings.VAR_DIR = tmp_path
    root = program(is_superuser=True)
    connected = Client(live_server.url, root.token, progress=False)
    yield connected
    connected.close()


@pytest.mark.nightly
def test_a_study_from_nothing_to_its_export(client, worker, tmp_path):
    study = client.create_study(
        "Every day", preset="pilot", items_per_annotator=3, contact="a@b.org"
    )
    assert (study.slug, study.state, study.settings["items_per_annotator"]) == (
        "every-day",
        "draft",
        3,
    )

    assert study.import_items(ROWS, dry_run=True, timeout=30)["dry_run"]
    assert len(study.items()) == 0
    job = study.import_items(ROWS)
    assert job["state"] == "done"
    assert list(study.items()["id"]) == ["q-0", "q-1", "q-2"]
    study.import_items(ROWS[:2], replace=3)
    assert list(study.items(search="Question 1")["id"]) == ["q-1"]
    with pytest.raises(JobFailed, match="line 1"):
        study.import_items([{"id": "x", "responses": []}])

    study.reload()
    study.change(minutes=7, items_per_annotator=2)
    assert Study.objects.get().minutes == 7
    with pytest.raises(ApiError, match="Say why you open the study"):
        study.open()
    assert study.open(reason="A test with few items").state == "open"

    answer_all(walk_in(Study.objects.get()))
    assert list(study.answers()["item_id"]) == ["q-0", "q-1"]
    assert study.annotators()["answers"].tolist() == [2]
    assert study.pause().state == "paused"

    export = study.export("annotations", format="csv")
    assert export.info["rows"] == {"annotations": 2}
    saved = export.save(tmp_path)
    assert saved.name == export.info["filename"]
    assert b"q-1" in saved.read_bytes() or zipfile.is_zipfile(saved)


def test_quotas_and_judges(client):
    study = client.create_study("S")
    question = {"key": "sex", "label": "Sex?", "options": {"f": "Female", "m": "Male"}}
    groups = [{"target": 2, "criteria": {"sex": "f"}}, {"target": 1}]

    quotas = study.ask("quotas", "PUT", groups=groups, questions=[question])

    assert [group["target"] for group in quotas["groups"]] == [2, 1]
    assert quotas["groups"][1]["is_everyone_else"]
    assert study.ask("quotas", "GET") == quotas
    judge = study.ask("judges", **JUDGE, price_input="0.5", price_output="1.5")
    assert judge["price_output"] == 1.5
    assert study.rows("judges")["name"].tolist() == ["j"]


def test_a_run_is_estimated_started_paused_and_cancelled(client):
    study = client.create_study("S")
    make_items(Study.objects.get(), 3)
    study.ask("judges", **JUDGE)

    assert study.estimate("j", orders="both")["questions"] == 6
    run = study.start_run("j", orders="both", setting="certainty")

    assert (run.state, run.info["progress"]["pending"]) == ("queued", 6)
    assert study.start_run("j", orders="both", setting="certainty").id == run.id
    assert run.act("pause").state == "paused"
    assert run.act("resume").state == "queued"
    assert run.act("cancel").state == "cancelled"
    assert run.wait().state == "cancelled"
    assert study.rows("runs")["state"].tolist() == ["cancelled"]
    assert len(run.judgments()) == len(study.judgments()) == 0
    assert repr(study.run(run.id)) == f"<studies/s/runs/{run.id}: cancelled>"
