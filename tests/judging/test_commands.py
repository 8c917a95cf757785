import re
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from kombu.exceptions import OperationalError

import manage
from judging.backends import connections
from judging.models import Attempt, Judge, JudgeRun
from judging.runs import lifecycle
from judging.runs.request_conditions import conditions_of
from judging.selectors import progress_words, run_progress
from tests.factories import make_item, make_study
from tests.judging.conftest import make_judge
from tests.judging.llm_server import completion, error


@pytest.fixture
def study(transactional_db):
    study = make_study(slug="s")
    for _ in range(3):
        make_item(study=study)
    return study


def judge_command(*arguments):
    out = StringIO()
    call_command("judge", "s", "--judge", "judge", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_inline_does_the_work_and_reports_it_in_a_line(study, judge, llm):
    out = judge_command("--inline", "--setting", "certainty")

    run = JudgeRun.objects.get()
    assert out == (
        f"Run {run.public_id}: done. 3 of 3 answered. 3 requests, 330 tokens, price unknown.\n"
    )


def test_a_dry_run_says_the_cost_and_stores_nothing(study, llm):
    judge = make_judge(base_url=llm.url, price_input=1, price_output=2)

    out = judge_command("--setting", "certainty", "--structured", "--dry-run")

    assert re.fullmatch(
        r"3 questions, about \d+ tokens: about \$0\.\d{4}\. Nothing was asked\.\n", out
    )
    assert not judge.runs.exists()
    assert llm.requests == []


def test_without_wait_the_run_is_queued_and_that_is_a_success(study, judge, monkeypatch):
    called: list[int] = []
    monkeypatch.setattr("judging.tasks.queue_chunk", called.append)

    out = judge_command()

    run = JudgeRun.objects.get()
    assert out.startswith(f"Run {run.public_id} is queued: 3 of 3 judgments left for the workers.")
    assert called == [run.pk]


def test_a_broker_that_is_away_is_named_with_what_to_do(
    study, judge, monkeypatch, django_capture_on_commit_callbacks
):
    def refuse(*arguments, **options):
        raise OperationalError("Connection refused.")

    monkeypatch.setattr("judging.tasks.judge_chunk.apply_async", refuse)

    out = judge_command()

    assert "the broker cannot be reached (Connection refused). Start it, or check CELERY" in out
    assert "--inline" in out


def test_wait_follows_the_workers_until_the_end(study, judge, llm, monkeypatch):
    monkeypatch.setattr(
        "judging.tasks.queue_chunk",
        lambda run_id: JudgeRun.objects.filter(pk=run_id).update(
            state="stopped_budget", sentence="Used up."
        ),
    )

    with pytest.raises(CommandError, match=r"stopped: budget\. Used up\."):
        judge_command("--wait")


def test_an_outage_is_a_failure_of_the_command(study, llm, engine):
    make_judge(base_url=llm.url, outage_seconds=1)
    llm.answer = lambda body, n: error(500)

    with pytest.raises(CommandError, match=r"stopped: outage\. The server gave no usable answer"):
        judge_command("--inline")


def test_an_item_that_failed_is_a_failure_of_the_command(study, judge, llm):
    first: list[str] = []

    def answer(body, n):
        first[:] = first or body["messages"]
        return error(400, "odd") if body["messages"] == first else completion("[[A]]")

    llm.answer = answer

    with pytest.raises(CommandError, match="2 of 3 answered, 1 failed"):
        judge_command("--inline")


@pytest.mark.parametrize("reply", ["It depends.", "I'm sorry, I can't judge people."])
def test_what_a_judge_will_not_say_is_no_failure(study, judge, llm, reply):
    llm.answer = lambda body, n: completion(reply)

    assert "0 of 3 answered, 3 " in judge_command("--inline")


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [(["--features", "nonsense"], "nonsense", 1), (["--budget", "-1"], "more than 0", 2)],
)
def test_bad_options_are_told_and_nothing_is_stored(study, judge, arguments, message, code):
    with pytest.raises(CommandError, match=message) as caught:
        judge_command(*arguments)

    assert caught.value.returncode == code
    assert not JudgeRun.objects.exists()


def test_an_unknown_study_or_judge_is_told(study, db):
    with pytest.raises(CommandError, match=r"There is no judge “judge”\. Add it with add_judge"):
        judge_command()
    with pytest.raises(CommandError, match="There is no study “t”"):
        call_command("judge", "t", "--judge", "judge")


def test_recorded_replies_are_judged_without_any_server(study, engine, tmp_path):
    from judging.engine.messages import from_user, prompt_sha256
    from studies.prompts import build_prompt

    item = study.all_items.order_by("key").first()
    prompt = build_prompt(item, setting="standard", shown_first="r2")
    file = tmp_path / "recorded.jsonl"
    file.write_text(f'{{"prompt_sha256": "{prompt_sha256(from_user(prompt))}", "reply": "B]]"}}\n')
    call_command(
        "add_judge", "judge", "--backend", "replay", "--model", str(file), stdout=StringIO()
    )

    out = judge_command("--inline", "--orders", "r2_first", "--limit", "1")

    judgment = JudgeRun.objects.get().judgments.get()
    assert "1 of 1 answered" in out
    assert (judgment.choice, judgment.model_snapshot) == ("r1", "recorded.jsonl")


def add(*arguments):
    out = StringIO()
    call_command("add_judge", "mine", "--model", "m", *arguments, stdout=out)
    return out.getvalue()


def test_spaces_around_an_address_are_removed(db, llm):
    add("--base-url", f" {llm.url} ", "--also-at", "http://127.0.0.1:9/v1 ")

    judge = Judge.objects.get()
    assert judge.base_urls == [llm.url, "http://127.0.0.1:9/v1"]


def test_a_key_that_no_request_can_carry_stops_the_run_and_costs_nothing(
    study, judge, llm, monkeypatch
):
    monkeypatch.setenv("MY_KEY", "sk-ключ")
    make_judge(api_key_env="MY_KEY", price_input=1, price_output=1)

    with pytest.raises(CommandError, match="MY_KEY has a space or a character that no request"):
        judge_command("--inline", "--yes")

    assert (llm.requests, Attempt.objects.count()) == ([], 0)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("ALL_PROXY", "gopher://127.0.0.1:1/", "ALL_PROXY names no proxy"),
        ("SSL_CERT_FILE", "/no/such/file", "its client could not be made"),
    ],
)
def test_a_client_that_cannot_be_made_ends_the_run_with_a_sentence(
    study, engine, monkeypatch, name, value, words
):
    monkeypatch.setenv(name, value)
    connections.certificates.cache_clear()
    make_judge(base_url="https://server.example/v1")

    with pytest.raises(CommandError, match=words) as caught:
        judge_command("--inline")

    assert "Error" not in str(caught.value)
    run = JudgeRun.objects.get()
    assert (run.state, Attempt.objects.count()) == ("stopped_outage", 0)
    connections.certificates.cache_clear()


def test_ctrl_c_is_a_sentence_and_keeps_what_was_answered(study, judge, llm, monkeypatch):
    def interrupt(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(lifecycle, "work_off", interrupt)

    with pytest.raises(CommandError, match="Stopped by hand") as caught:
        judge_command("--inline")

    assert caught.value.returncode == 130


def test_parameters_that_are_left_out_are_never_sent_and_that_is_as_set(study, llm, engine):
    add("--base-url", llm.url, "--leave-out", "seed", "--leave-out", "top_p")
    judge = Judge.objects.get()
    Judge.objects.update(name="judge")

    judge_command("--inline")

    assert judge.model_options == {"leave_out": "seed,top_p"}
    assert all(body.keys().isdisjoint({"seed", "top_p"}) for body in llm.requests)
    assert all("temperature" in body for body in llm.requests)
    [conditions] = conditions_of([JudgeRun.objects.get()]).values()
    assert conditions.sentences == []


def test_progress_says_what_it_cost_so_far_and_what_went_wrong(study, judge, llm):
    make_judge(price_input=Decimal(10), price_output=Decimal(100))
    first: list[str] = []

    def answer(body, n):
        first[:] = first or body["messages"]
        if n == 2:
            return error(500)
        return completion("Hm." if body["messages"] == first else "[[A]]")

    llm.answer = answer

    judge_command("--inline", "--yes")

    run = JudgeRun.objects.get()
    words = progress_words(run, run_progress(run))
    assert words == f"${run.spent:.4f}, 1 retry, 1 unreadable"
    assert run.spent > 0


def test_ctrl_c_ends_any_command_with_a_sentence(monkeypatch, capsys):
    def interrupt(arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("django.core.management.execute_from_command_line", interrupt)

    with pytest.raises(SystemExit) as caught:
        manage.main()

    assert caught.value.code == 130
    assert capsys.readouterr().err == "\nStopped. What was stored until now is kept.\n"
