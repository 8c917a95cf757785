"""The test of a judge: what it asks and says, and the addresses that nothing asks."""

import pytest
from django.urls import reverse

from judging.catalog.connection_test import run_connection_test
from judging.models import JudgeRun, Judgment
from judging.runs.judges import store_judge
from judging.runs.study_content import judges_of
from studies.models import StudyLog
from studies.network import is_link_local
from tests.factories import make_item, make_study, sign_in
from tests.judging.conftest import make_judge
from tests.judging.judge_pages.pages import page_of, words
from tests.judging.llm_server import Answer, completion, error
from tests.judging.run_helpers import start


@pytest.fixture
def served(transactional_db, llm):
    """A study without items, its editor, and a judge at the server."""
    study = make_study(slug="s")
    judge = make_judge(base_url=llm.url, price_input=10, price_output=100)
    return sign_in(study), judge


def test_the_test_shows_prompt_reply_reading_tokens_and_cost_and_stores_no_judgment(served, llm):
    editor, judge = served
    llm.answer = lambda body, n: completion("B]] [[61]]")

    page = words(editor.post(page_of(judge), {"action": "test"}))

    assert "The judge works. We read its reply as: B (response 2), certainty 61." in page
    assert "repairs old bicycles" in page
    assert "Tokens in, out 100, 10 Cost $0.0020" in page
    assert "mock-2024-05-13" in page
    assert "a sample, because this study has no items" in page
    assert not Judgment.objects.exists()
    assert not JudgeRun.objects.exists()
    log = StudyLog.objects.get(event="judge tested")
    assert log.detail == {"judge": "judge", "outcome": "passed", "tokens": 110}


def test_the_list_marks_a_judge_whose_last_test_failed_until_one_passes(served, llm):
    editor, judge = served
    available = reverse("judging:judges", args=["s"])
    llm.answer = lambda body, n: error(401)
    editor.post(page_of(judge), {"action": "test"})
    judge.refresh_from_db()
    assert judge.test_problem
    assert f"▲ Last test failed: {judge.test_problem}" in words(editor.get(available))

    llm.answer = lambda body, n: completion("B]] [[61]]")
    editor.post(page_of(judge), {"action": "test"})

    assert "Last test failed" not in words(editor.get(available))


def test_the_test_asks_an_item_of_the_study_in_the_studys_setting(served, llm):
    _, judge = served
    study = make_study(slug="t", ask_certainty=False)
    make_item(study=study, key="first", question="Tea or coffee?")
    client = sign_in(study)

    page = words(client.post(reverse("judging:judge", args=["t", judge.pk]), {"action": "test"}))

    assert "Item first" in page
    assert "Setting what it is asked Standard" in page
    prompt = llm.requests[0]["messages"][0]["content"]
    assert "Tea or coffee?" in prompt
    assert "how certain" not in prompt


def test_the_test_reads_a_reply_as_runs_read_it(served, llm):
    editor, judge = served

    llm.answer = lambda body, n: completion("The answer is: B\n\nI am 80 % sure.")
    assert "We read its reply as: B (response 2), certainty 80." in words(
        editor.post(page_of(judge), {"action": "test"})
    )

    llm.answer = lambda body, n: completion("[[B]] and I am sure to 8", finish_reason="length")
    assert "The reply states no certainty." in words(
        editor.post(page_of(judge), {"action": "test"})
    )


@pytest.mark.sampled(keep=2)
@pytest.mark.parametrize(
    ("answer", "problem", "advice"),
    [
        (error(401, "no"), "The server wants a key.", "Change the judge and give it a key."),
        (error(404, "The model x does not exist", "model_not_found"), "no model “mock”", "/v1"),
        (error(429, "slow down"), "The server asks us to wait.", "Test again in a minute"),
        (error(402, "pay"), "The account has no credit left.", "Add credit"),
        (error(500, "oh"), "The server reports an error of its own.", "look at its log"),
        (error(400, "too odd"), "The server did not accept the question.", "too odd"),
        (Answer(body=b"<html>"), "The server answers, but not like a model.", "ends in /v1"),
        (Answer(drops=True), "did not accept", "connection lost"),
        (completion("Well."), "The reply names no response.", "up to five times"),
        (completion("I cannot do that."), "The model declined to answer.", "missing, not as wrong"),
        (completion("[[A]]"), "The reply states no certainty.", "structured output"),
        (
            completion("<think>", finish_reason="length"),
            "used all its tokens for thinking",
            "Raise the thinking tokens",
        ),
        (completion("It is", finish_reason="length"), "The reply was cut off", "reply tokens"),
        (completion("", reasoning_content="[[A]]"), "only in the thoughts", "Switch thinking off"),
    ],
)
def test_a_problem_is_said_in_plain_words_with_what_to_do(served, llm, answer, problem, advice):
    editor, judge = served
    llm.answer = lambda body, n: answer

    response = editor.post(page_of(judge), {"action": "test"})

    assert response.status_code == 200
    assert problem in words(response)
    assert advice in words(response)
    assert "<title>Error: " in response.text


def test_a_server_that_is_not_there_or_slow_or_forbidden_is_said(served, llm, monkeypatch):
    editor, judge = served
    llm.answer = lambda body, n: Answer(delay=1.0)
    monkeypatch.setattr("judging.catalog.connection_test.SECONDS", 0.1)
    assert "No reply within 0 seconds." in words(editor.post(page_of(judge), {"action": "test"}))

    store_judge(judge, {"base_url": "http://127.0.0.1:1/v1"})
    page = words(editor.post(page_of(judge), {"action": "test"}))
    assert "No connection to http://127.0.0.1:1/v1." in page

    # A name that means a link-local address at the time of the request.
    monkeypatch.setattr("judging.backends.connections.is_link_local", lambda address: True)
    store_judge(judge, {"base_url": llm.url})
    before = len(llm.requests)
    page = words(editor.post(page_of(judge), {"action": "test"}))
    assert "This address is not allowed." in page
    assert len(llm.requests) == before


def test_a_missing_variable_is_said_before_and_by_the_test(served, llm, monkeypatch):
    editor, judge = served
    store_judge(judge, {"api_key_env": "JUDGE_KEY_NONE"})

    assert "JUDGE_KEY_NONE, which is not set on this web server" in words(
        editor.get(page_of(judge))
    )
    page = words(editor.post(page_of(judge), {"action": "test"}))
    assert "the environment variable JUDGE_KEY_NONE is empty" in page
    assert llm.requests == []


def test_hostile_texts_of_a_server_are_shown_as_text(served, llm):
    editor, judge = served
    llm.answer = lambda body, n: completion("<script>alert(1)</script> [[A]] [[50]]")

    page = editor.post(page_of(judge), {"action": "test"}).text

    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_the_connection_test_asks_every_address(admin, study, llm):
    llm.answer = lambda body, n: completion("[[A]] [[70]]")
    judge = make_judge(base_url=llm.url, more_base_urls=["http://127.0.0.1:9/v1"])

    result = run_connection_test(judge, study)

    assert result.outcome == "problem"
    assert (result.problem, result.address) == ("", llm.url)
    assert result.others[0].problem == "No connection to http://127.0.0.1:9/v1."
    assert "No connection to http://127.0.0.1:9/v1." in words(
        admin.post(page_of(judge), {"action": "test"})
    )


@pytest.mark.parametrize(
    ("address", "is_one"),
    [
        ("169.254.169.254", True),
        ("::ffff:169.254.169.254", True),
        ("fe80::1%eth0", True),
        ("fd00:ec2::254", True),
        ("100.100.100.200", True),
        ("168.63.129.16", True),
        ("192.0.0.192", True),
        ("::169.254.169.254", True),
        ("2002:a9fe:a9fe::", True),
        ("64:ff9b::a9fe:a9fe", True),
        ("64:ff9b:1::a9fe:a9fe", True),
        ("::1", False),
        ("127.0.0.1", False),
        ("10.0.0.4", False),
        ("8.8.8.8", False),
    ],
)
def test_link_local_and_metadata_addresses_are_known(address, is_one):
    assert is_link_local(address) is is_one


def test_a_launch_check_asks_no_link_local_address(study, monkeypatch):
    judge = make_judge(base_url="http://metadata.example/v1")
    start(study, judge)
    monkeypatch.setattr(
        "judging.backends.backend.socket.getaddrinfo",
        lambda *arguments, **named: [(2, 1, 6, "", ("169.254.169.254", 80))],
    )

    (check,) = judges_of(study)
    assert "These judges do not respond: judge." in check.text
