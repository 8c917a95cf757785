"""A probe before a run: one question, shown, and part of the run."""

from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from judging.models import JudgeRun
from judging.runs.costs import probe_run
from judging.runs.spec import RunSpec
from judging.runs.start import start_run
from judging.worker import chunks
from tests.factories import make_item, make_study
from tests.judging.conftest import make_judge
from tests.judging.llm_server import completion, error


class Terminal(StringIO):
    def isatty(self):
        return True


@pytest.fixture
def study(transactional_db):
    study = make_study(slug="s")
    for _ in range(5):
        make_item(study=study)
    return study


@pytest.fixture
def paid(llm, engine):
    return make_judge(base_url=llm.url, price_input=10, price_output=100, concurrency=2)


def judge_command(*arguments, out=None):
    out = out or StringIO()
    call_command("judge", "s", "--judge", "judge", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def at_a_terminal(monkeypatch, reply):
    monkeypatch.setattr("sys.stdin", Terminal())
    monkeypatch.setattr("builtins.input", lambda prompt: reply)
    return Terminal()


def test_a_probe_asks_one_question_and_says_what_the_rest_will_take(study, paid, llm):
    llm.answer = lambda body, n: completion("B]] [[61]]")

    out = judge_command("--probe", "--setting", "certainty", "--orders", "r1_first")

    prompt = llm.requests[0]["messages"][0]["content"]
    assert len(llm.requests) == 1
    assert f"{prompt}\n\nReply no. 1 by mock-2024-05-13:\nB]] [[61]]\n\n" in out
    assert "Read as: response 2, certainty 61." in out
    assert "Option probabilities: not requested." in out
    # 100 tokens in and 10 out a question: 0.001 + 0.001 dollars
    assert "Left: 4 judgments, about 440 tokens, " in out
    assert "$0.0080." in out
    run = JudgeRun.objects.get()
    assert (run.state, run.judgments.filter(state="done").count()) == ("paused", 1)


def test_what_the_probe_asked_is_not_asked_again(study, paid, llm):
    judge_command("--probe")
    judge_command("--probe")

    judge_command("--inline")

    run = JudgeRun.objects.get()
    assert (run.state, run.sentence) == ("done", "5 of 5 answered.")
    assert len(llm.requests) == 5
    assert len({body["messages"][0]["content"] for body in llm.requests}) == 5


def test_at_a_terminal_a_no_spends_no_more(study, paid, llm, monkeypatch):
    out = judge_command("--inline", out=at_a_terminal(monkeypatch, "n"))

    assert "Nothing more was sent." in out
    assert (JudgeRun.objects.get().state, len(llm.requests)) == ("paused", 1)


def test_at_a_terminal_a_yes_goes_on_and_is_not_asked_for_again(study, paid, llm, monkeypatch):
    out = judge_command("--inline", out=at_a_terminal(monkeypatch, "y"))
    make_item(study=study)

    judge_command("--inline", out=at_a_terminal(monkeypatch, "n"))

    assert "Left: 4 judgments" in out
    assert (JudgeRun.objects.get().sentence, len(llm.requests)) == ("6 of 6 answered.", 6)


@pytest.mark.parametrize("arguments", [["--yes"], []])
def test_who_says_yes_beforehand_or_pays_nothing_is_not_asked(
    study, llm, engine, monkeypatch, arguments
):
    make_judge(base_url=llm.url, price_input=1 if arguments else 0, price_output=0)

    judge_command("--inline", *arguments, out=at_a_terminal(monkeypatch, "n"))

    assert len(llm.requests) == 5


def test_a_probe_without_a_reply_says_why(study, llm, engine):
    make_judge(base_url=llm.url)
    llm.answer = lambda body, n: error(401, "bad key")

    with pytest.raises(CommandError, match=r"No reply received.*refuses the key"):
        judge_command("--probe")

    assert JudgeRun.objects.get().state == "stopped_outage"


def test_a_run_that_workers_are_at_is_shown_and_not_paused(study, paid, llm, monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK", 2)
    run = start_run(RunSpec(study_id=study.pk, judge_id=paid.pk), enqueue=False)
    chunks.judge_chunk(run_id=run.pk)

    probe = probe_run(run_id=run.pk)

    run.refresh_from_db()
    assert (run.state, probe.left, len(llm.requests)) == ("running", 3, 2)


def test_the_time_is_that_of_the_narrowest_limit(study, llm, engine):
    judge = make_judge(base_url=llm.url, rpm=2, price_input=1, price_output=0)
    run = start_run(RunSpec(study_id=study.pk, judge_id=judge.pk), probe=True, enqueue=False)

    probe = probe_run(run_id=run.pk)

    assert probe.seconds == 120  # four more, two a minute
    assert probe.dollars == Decimal("0.0004")


@pytest.mark.parametrize(
    ("structured", "reply", "words"),
    [
        (True, '{"answer": "A"}', "received as requested"),
        (True, "[[A]]", "requested, none received"),
        (False, "[[A]]", "not requested"),
    ],
)
def test_a_probe_says_whether_a_structured_reply_really_came(
    study, llm, engine, structured, reply, words
):
    llm.answer = lambda body, n: completion(reply)
    make_judge(base_url=llm.url, structured=structured)

    assert f"Structured output: {words}." in judge_command("--probe")
