"""Runs by batch: what may be asked so, what its files hold, and where they may go."""

import json
from importlib.metadata import version

import pytest
from django.test import TestCase
from django.urls import reverse
from django.utils import timezone
from pytest_httpserver import HTTPServer

from extras.packs import batches, ledger, tasks
from extras.packs.models import Pack
from extras.packs.provider import BatchClient, BatchError
from judging.backends.openai import Server
from judging.models import JudgeRun
from judging.runs.spec import RunSpec
from judging.runs.start import start_run
from judging.worker import runtime
from judging.worker.chunks import questions_of
from tests.factories import make_items, make_study, sign_in
from tests.judging.conftest import make_judge
from tests.judging.run_helpers import start
from tests.judging.test_campaigns import press
from tests.judging.test_probe_pages import PLAN, after, page_of, probed, words
from tests.judging.with_media import HELLO, SEES, away
from tests.judging.with_media import make as with_files
from tests.judging.with_media import of as contents
from tests.studies.media_files import needs_media


@pytest.fixture
def study(transactional_db):
    study = make_study(slug="s")
    make_items(study, 4)
    return study


@pytest.fixture
def editor(study):
    return sign_in(study)


@pytest.fixture
def queued(monkeypatch):
    """The tokens that a page handed to the workers."""
    tokens: list[int] = []
    monkeypatch.setattr("judging.tasks.queue_chunk", tokens.append)
    return tokens


def test_a_batch_hands_in_nothing_before_the_yes(study, llm, engine, editor, queued, monkeypatch):
    handed: list[int] = []
    monkeypatch.setattr(tasks, "queue_batches", handed.append)
    make_judge(name="one", base_url=llm.url, price_input=10, price_output=100, batch_price="0.5")
    campaign = probed(editor, queued, {**PLAN, "judges": ["one"], "batch": "on"})
    run = JudgeRun.objects.get()

    batches.advance_run(run_id=run.pk)
    followed = batches.follow_batches(queue=handed.append)

    assert (followed, handed, run.packs.count(), len(llm.requests)) == (0, [], 0, 1)
    page = words(editor, page_of(campaign))
    assert "about 330 tokens, $0.0030, within a day" in page  # half of the price

    with TestCase.captureOnCommitCallbacks(execute=True):
        after(editor, campaign, "start")
    assert handed == [run.pk]


@needs_media
@pytest.mark.django_db
def test_a_line_of_a_batch_has_the_length_that_was_counted(tmp_path, settings):
    settings.VAR_DIR = tmp_path
    study = with_files(tmp_path)
    run = start(study, away(**SEES), by_batch=True)
    questions = questions_of(run, list(run.judgments.select_related("item__persona")))
    parameters = runtime.backend_of(run.judge).parameters()

    counted = [ledger.length_of(each, parameters) for each in questions]
    lines = [ledger.line_of("n" * 64, each, parameters) for each in questions]

    assert counted == [len(line) for line in lines]
    parts = json.loads(lines[0])["body"]["messages"][0]["content"]
    assert next(each[1] for each in contents(parts) if isinstance(each, tuple)) == HELLO


def test_a_batch_of_a_judge_that_takes_none_is_refused_next_to_its_field(study, editor, tmp_path):
    recording = tmp_path / "replies.jsonl"
    recording.write_text("")
    make_judge(name="recorded", backend="replay", model=str(recording))
    url = reverse("judging:new", args=["s"])

    page = press(editor, url, {**PLAN, "judges": ["recorded"], "batch": "on"})

    (message,) = page.context["form"].errors["batch"]
    assert "Judge “recorded” cannot be asked by batch" in message
    assert "--" not in message


def test_a_run_names_the_package_that_hands_in_its_files(study):
    judge = make_judge(base_url="http://localhost:1/v1")
    spec = RunSpec(study_id=study.pk, judge_id=judge.pk, setting="tie", by_batch=True)

    run = start_run(spec, enqueue=False)

    assert run.parameters["software"] == {
        "httpx2": version("httpx2"),
        "openai": version("openai"),
    }


def batch_client(url, **more):
    return BatchClient(Server(base_url=url, api_key="", timeout=9, **more))


def test_a_batch_asks_no_link_local_address(httpserver, monkeypatch):
    """The address of the connection counts: a name can mean another one at each look."""
    monkeypatch.setattr("judging.backends.connections.is_link_local", lambda address: True)

    with pytest.raises(BatchError, match="is a link-local or metadata address") as caught:
        batch_client(httpserver.url_for("/v1")).status("batch_1")

    assert caught.value.is_final
    assert not httpserver.log
    allowed = batch_client(httpserver.url_for("/v1"), link_local=True)
    with pytest.raises(BatchError, match="does not accept a batch"):
        allowed.status("batch_1")
    assert httpserver.log


@pytest.fixture
def elsewhere():
    """Another server, where a provider keeps its files."""
    with HTTPServer(host="127.0.0.2") as server:
        yield server


def test_a_download_that_is_redirected_to_a_link_local_address_is_refused(
    httpserver, elsewhere, monkeypatch
):
    httpserver.expect_request("/v1/files/f/content").respond_with_data(
        status=302, headers={"Location": elsewhere.url_for("/files/f")}
    )
    monkeypatch.setattr(
        "judging.backends.connections.is_link_local", lambda address: address == "127.0.0.2"
    )

    with pytest.raises(BatchError, match="is a link-local or metadata address"):
        batch_client(httpserver.url_for("/v1")).content("f")

    assert not elsewhere.log


def test_a_download_from_another_address_gets_no_secret(httpserver, elsewhere):
    httpserver.expect_request("/v1/files/f/content").respond_with_data(
        status=302, headers={"Location": elsewhere.url_for("/files/f")}
    )
    elsewhere.expect_request("/files/f").respond_with_data(b"line\n")

    content = batch_client(httpserver.url_for("/v1"), secret={"X-Key": "mine"}).content("f")

    assert content == b"line\n"
    assert httpserver.log[0][0].headers["X-Key"] == "mine"
    assert not {"X-Key", "Authorization"} & set(elsewhere.log[0][0].headers.keys())


def test_a_batch_sends_nothing_that_the_environment_has_for_openai_s_client(
    httpserver, monkeypatch
):
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "secret-of-mine")
    monkeypatch.setenv(
        "OPENAI_CUSTOM_HEADERS", "X-Portal: secret-of-mine\nauthorization: secret-of-mine"
    )
    httpserver.expect_request("/v1/batches/batch_1").respond_with_json(
        {"id": "batch_1", "status": "in_progress"}
    )
    client = batch_client(httpserver.url_for("/v1"), secret={"X-Key": "of this judge"})
    assert client.status("batch_1").status == "in_progress"

    headers = httpserver.log[0][0].headers
    assert headers["X-Key"] == "of this judge"
    assert headers["Authorization"] == "Bearer none"
    assert "secret-of-mine" not in str(headers)


def test_the_run_s_page_lists_its_batches(study, editor):
    judge = make_judge(base_url="http://127.0.0.1:9/v1")
    run = start(study, judge, by_batch=True)
    Pack.objects.create(
        run=run,
        is_batch=True,
        provider_id="batch_x",
        requests=1200,
        submitted_at=timezone.now(),
        sentence="In progress.",
    )

    page = words(editor, reverse("judging:run", args=["s", run.public_id]))

    assert "batch_x" in page
    assert "1,200" in page
    assert "at 50 % of the normal price" in page
