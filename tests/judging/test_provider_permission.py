"""Items do not leave for a provider if their source, or an owner, forbids it."""

import html
import re

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from judging.backends.backend import is_own_network
from judging.catalog.connection_test import run_connection_test
from judging.errors import BadJudge, InvalidValue
from judging.models import Judge, JudgeRun
from judging.runs import lifecycle
from judging.runs.judges import add_judge
from judging.worker import chunks
from studies.errors import StudyError
from studies.models import Study, StudyLog
from studies.services.studies import (
    confirm_providers,
    forbid_providers,
    forbids_providers,
)
from studies.services.whole_studies import copy_study
from tests.factories import make_items, make_study, sign_in
from tests.judging.conftest import make_judge
from tests.judging.run_helpers import judge_all, start, study_of

FORBIDDEN = {"redistribution": "forbidden", "licence": "own terms"}
REASON = "Approved by the data owner."
AWAY = "https://gateway.example.com/v1"
PAGE = reverse("studies:providers", args=["s"])


@pytest.fixture
def study(db):
    study = make_study(slug="s", source=FORBIDDEN)
    make_items(study, 3)
    return study


def words(response):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", response.text)).split())


@pytest.mark.parametrize(
    ("address", "is_own"),
    [
        ("http://localhost:8000/v1", True),
        ("http://127.0.0.1:8000/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://10.1.2.3/v1", True),
        ("http://192.168.0.4/v1", True),
        ("http://gpu1:8000/v1", True),
        ("http://models.internal/v1", True),
        ("https://api.openai.com/v1", False),
        ("https://api.anthropic.com", False),
        ("http://8.8.8.8/v1", False),
        ("http://134744072/v1", False),
        ("http://127.0.0.1.example.com/v1", False),
    ],
)
def test_an_address_is_of_this_network_by_its_form(address, is_own):
    assert is_own_network(address) == is_own


def test_a_judge_at_a_provider_is_refused_with_the_way_to_a_decision(study):
    judge = make_judge(base_url=AWAY)

    with pytest.raises(BadJudge, match=r"gateway\.example\.com.*Settings, “Items and providers”"):
        start(study, judge)

    assert not JudgeRun.objects.exists()
    confirm_providers(study_id=study.pk, reason=REASON)
    assert start(study, judge).state == "queued"


def test_one_of_several_addresses_at_a_provider_is_enough(study):
    judge = make_judge(base_url="http://gpu1/v1", more_base_urls=[AWAY])

    assert judge.providers == ["gateway.example.com"]
    with pytest.raises(BadJudge):
        start(study, judge)


def test_own_servers_are_asked_and_others_can_be_marked_as_own(study, llm, engine):
    assert judge_all(study, make_judge(base_url=llm.url)).state == "done"
    marked = make_judge(name="ours", base_url=AWAY, is_own_server=True)
    assert start(study, marked).state == "queued"

    with pytest.raises(InvalidValue, match="Its server is not your own"):
        add_judge(name="x", model="m", base_url="https://api.openai.com/v1", is_own_server=True)


@pytest.mark.django_db(transaction=True)
def test_a_run_under_way_stops_before_the_next_question(llm, engine):
    study = study_of(3)
    run = start(study, make_judge(base_url=llm.url))
    Judge.objects.update(base_url=AWAY)
    forbid_providers(study_id=study.pk)

    chunks.judge_chunk(run_id=run.pk)

    run.refresh_from_db()
    assert run.state == "stopped_outage"
    assert "must not be sent to a provider" in run.sentence
    assert not llm.requests
    lifecycle.resume_run(run_id=run.pk)
    chunks.judge_chunk(run_id=run.pk)
    run.refresh_from_db()
    assert run.state == "stopped_outage"


def test_a_connection_test_sends_a_sample_and_no_item(study, monkeypatch):
    judge = make_judge(base_url="http://127.0.0.1:9/v1")
    assert run_connection_test(judge, study).item
    monkeypatch.setattr("judging.models.judges.is_own_network", lambda address: False)

    assert run_connection_test(judge, study).item == ""


def test_a_confirmation_needs_a_reason_and_ends_with_the_terms_that_it_was_given_for(study):
    with pytest.raises(StudyError, match="Write the reason"):
        confirm_providers(study_id=study.pk, reason=" ok ")
    confirm_providers(study_id=study.pk, reason=REASON)
    study.refresh_from_db()
    assert not forbids_providers(study)
    log = StudyLog.objects.get(event="sharing with providers confirmed")
    assert log.detail["reason"] == REASON

    study.source = {"redistribution": "forbidden", "licence": "other terms"}
    assert forbids_providers(study)


def test_a_copy_has_to_be_confirmed_again(study):
    confirm_providers(study_id=study.pk, reason=REASON)

    copy = copy_study(study_id=study.pk, slug="c", title="C", with_items=True)

    assert forbids_providers(Study.objects.get(pk=copy.pk))


def test_an_owner_decides_on_the_page_and_others_read_it(study):
    owner, editor = sign_in(study, role="owner"), sign_in(study)
    assert "Items must not be sent to providers." in words(editor.get(PAGE))
    assert "Save decision" not in words(editor.get(PAGE))
    assert (
        editor.post(PAGE, {"action": "decide", "decision": "confirm", "reason": REASON}).status_code
        == 404
    )

    refused = owner.post(PAGE, {"action": "decide", "decision": "confirm", "reason": ""})
    assert refused.status_code == 422
    assert "Write the reason" in words(refused)
    owner.post(PAGE, {"action": "decide", "decision": "confirm", "reason": REASON})
    page = words(owner.get(PAGE))
    assert "Items may be sent to providers." in page
    assert REASON in page

    owner.post(PAGE, {"action": "decide", "decision": "forbid"})
    study.refresh_from_db()
    assert forbids_providers(study)
    owner.post(PAGE, {"action": "decide", "decision": "follow"})
    study.refresh_from_db()
    assert (study.sharing, forbids_providers(study)) == ({}, True)
    assert StudyLog.objects.filter(event__startswith="sharing with providers").count() == 3


def test_pages_of_judges_lead_to_the_decision(study):
    judge = make_judge(base_url=AWAY)
    editor = sign_in(study)

    for name, more in (("new", []), ("judge", [judge.pk])):
        assert PAGE in editor.get(reverse(f"judging:{name}", args=["s", *more])).text


def test_the_command_refuses_and_takes_a_reason(study):
    make_judge(base_url=AWAY)

    with pytest.raises(CommandError, match="Items and providers"):
        call_command("judge", "s", "--judge", "judge", "--yes")
    with pytest.raises(CommandError, match="Write the reason"):
        call_command("judge", "s", "--judge", "judge", "--yes", "--confirm-sharing", "ok")
    call_command("judge", "s", "--judge", "judge", "--yes", "--confirm-sharing", REASON)

    assert JudgeRun.objects.get().state == "queued"
