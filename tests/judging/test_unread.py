"""A run whose replies cannot be read, or are refused, pauses after its first questions."""

from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from judging.runs import lifecycle
from judging.worker import unread
from judging.worker.unread import AnswerCounts, is_too_few, unread_of
from tests.factories import sign_in
from tests.judging.conftest import make_judge
from tests.judging.llm_server import completion
from tests.judging.run_helpers import judge_all, start, states, study_of

READABLE, UNREAD = completion("[[A]]"), completion("Both have merits.")
REFUSED = completion("I'm sorry, but I can't help with that.")
FILTERED = completion(None, finish_reason="content_filter")


@pytest.mark.parametrize(
    ("readable", "answered", "expected"),
    [
        (0, 19, False),
        (0, 20, True),
        (3, 20, True),
        (4, 20, False),
        (19, 100, True),
        (20, 100, False),
    ],
)
def test_too_few_is_fewer_than_one_in_five_of_at_least_twenty(readable, answered, expected):
    assert is_too_few(readable, answered) is expected


@pytest.fixture
def slow_judge(llm, engine, monkeypatch):
    """One request at a time, so that it is known what was sent before a pause after five."""
    monkeypatch.setattr(unread, "LOOKED_AT", 5)
    return make_judge(base_url=llm.url, concurrency=1)


@pytest.mark.parametrize(
    ("reply", "state", "requests", "advice"),
    [
        (UNREAD, "unparseable", 5, "ask for structured replies"),
        (REFUSED, "refused", 5, "The model declines to judge."),
        (FILTERED, "refused", 1, "The model declines to judge."),
    ],
)
def test_a_run_without_readable_replies_pauses_and_a_press_goes_on(
    slow_judge, llm, reply, state, requests, advice
):
    study = study_of(15)
    llm.answer = lambda body, n: reply

    run = judge_all(study, slow_judge)

    assert run.state == "paused"
    assert run.sentence.startswith("Paused, because of 5 questions none got a reply")
    assert states(run)[state] == 5
    assert 5 * requests <= len(llm.requests) <= 5 * requests + 1  # one may have been on its way
    assert advice in unread_of(run).advice

    client = sign_in(study)
    address = reverse("judging:run", args=[study.slug, run.public_id])
    page = client.get(address).text
    assert advice in page.replace("\n", " ")
    assert "Go on all the same" in page
    assert ("Both have merits." in page) == (reply is UNREAD)

    llm.answer = lambda body, n: READABLE
    client.post(reverse("judging:run", args=[study.slug, run.public_id]), {"action": "resume"})
    lifecycle.work_off(run_id=run.pk)
    run.refresh_from_db()
    assert (run.state, states(run)["done"]) == ("done", 10)
    assert unread_of(run) is None


def test_one_readable_reply_in_ten_pauses_a_run_and_one_in_two_does_not(
    slow_judge, llm, monkeypatch
):
    monkeypatch.setattr(unread, "LOOKED_AT", 20)
    study = study_of(30)
    replies = {"every": 10}
    asked = []

    def answer(body, n):
        prompt = body["messages"][0]["content"]
        if prompt not in asked:
            asked.append(prompt)
        return UNREAD if asked.index(prompt) % replies["every"] else READABLE

    llm.answer = answer
    run = judge_all(study, slow_judge)
    assert (run.state, states(run)["done"]) == ("paused", 2)

    replies["every"] = 2
    asked.clear()
    run = judge_all(study, slow_judge, seed=99)
    assert (run.state, states(run)) == ("done", {"done": 15, "unparseable": 15})


def test_a_run_of_few_questions_ends_and_failures_do_not_count(slow_judge, llm):
    llm.answer = lambda body, n: UNREAD

    run = judge_all(study_of(5), slow_judge)

    assert (run.state, states(run)) == ("done", {"unparseable": 5})
    counts = AnswerCounts(run.pk)
    assert not any(counts.add("error") for _ in range(100))


def test_the_command_shows_replies_and_goes_on_with_its_option(slow_judge, llm):
    study = study_of(8)
    llm.answer = lambda body, n: UNREAD
    command = ["judge", study.slug, "--judge", "judge", "--inline", "--yes"]

    for _ in range(2):  # the same command does not go on
        with pytest.raises(CommandError) as caught:
            call_command(*command, stdout=StringIO())
        assert "Both have merits." in str(caught.value)
        assert "repeat this command with --go-on" in str(caught.value)
    before = len(llm.requests)
    assert before <= 5 * 5 + 1

    out = StringIO()
    call_command(*command, "--go-on", stdout=out)

    assert "8 unparseable" in out.getvalue()
    assert len(llm.requests) == 8 * 5


def test_a_run_with_the_option_from_the_start_does_not_pause(slow_judge, llm):
    study = study_of(7)
    llm.answer = lambda body, n: UNREAD

    out = StringIO()
    call_command(
        "judge", study.slug, "--judge", "judge", "--inline", "--yes", "--go-on", stdout=out
    )

    assert "7 unparseable" in out.getvalue()


def test_a_start_from_anywhere_leaves_a_paused_run_paused(slow_judge, llm):
    study = study_of(8)
    llm.answer = lambda body, n: UNREAD
    run = judge_all(study, slow_judge)

    again = start(study, slow_judge)

    assert (again.pk, again.state, again.sentence) == (run.pk, "paused", run.sentence)
