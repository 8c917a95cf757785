"""Sets that are frozen and looked at again, with a model server that moves or does not."""

import json
from datetime import timedelta

import pytest
from django.core import mail
from django.core.management import CommandError, call_command

from annotation.models import Annotation
from extras.watching.freezing import CannotWatch, WatchWish, cost_of, freeze
from extras.watching.looks import (
    begin_look,
    finish_look,
    follow_up,
    look_and_wait,
    mark_as_read,
    stop_watching,
)
from extras.watching.models import Look, WatchedSet
from extras.watching.notices import needs_of, send_mail_about
from extras.watching.results import result_of
from judging.models import Judge, Judgment
from judging.runs import lifecycle
from judging.selectors import run_progress
from studies.models import Item, Membership
from studies.statements import clock
from tests.analysis.builders import answer, make_rater
from tests.analysis.labelled_items import judge_it, make_certifiable
from tests.factories import make_item, sign_in, stored_at_once
from tests.judging.conftest import engine, judge, llm, make_judge  # noqa: F401
from tests.judging.llm_server import completion, error
from tests.judging.run_helpers import judge_all

OTHER = {"A": "B", "B": "A"}


def reply(body, n, *, is_wrong=lambda question: False):
    """The right side with a certainty of 90; the other one where `is_wrong` says so."""
    text = body["messages"][0]["content"]
    _, _, asked = text.rpartition("Question ")
    shown = "A" if asked.find("right") < asked.find("wrong") else "B"
    return completion(f"[[{OTHER[shown] if is_wrong(asked) else shown}]] [[90]]")


def moved(body, n):
    """Every fifth answer is another one."""
    return reply(body, n, is_wrong=lambda question: int(question.split("?")[0]) % 5 == 0)


@stored_at_once()
def answer_otherwise(study, items):
    """Eight annotators who choose what the personas did not."""
    for _ in range(8):
        rater = make_rater(study=study)
        for item in items:
            answer(rater, item, "r2" if item.first_person == "r1" else "r1")


@pytest.fixture
def run(judge, llm):  # noqa: F811
    llm.answer = reply
    study = make_certifiable(40)
    answer_rightly(study)
    return judge_all(study, judge, setting="certainty")


@stored_at_once()
def answer_rightly(study):
    """Twelve annotators who choose what the personas did."""
    items = list(Item.objects.filter(study=study).order_by("key"))
    for _ in range(12):
        rater = make_rater(study=study)
        for item in items:
            answer(rater, item, item.first_person)


@pytest.fixture
def watched(run):
    return freeze(WatchWish(run=run, items=40, at_once=2))


@pytest.mark.nightly
def test_an_unchanged_judge_shows_nothing_and_its_answers_count_nowhere(run, watched, llm):  # noqa: F811
    look_and_wait(watched, inline=True)
    look_and_wait(watched, inline=True)

    watched.refresh_from_db()
    requests = [json.dumps([body["messages"], body["seed"]]) for body in llm.requests]
    assert len(requests) == 5 * 40
    assert {*requests[40:]} == {*requests[:40]}
    assert watched.result["verdict"] == "nothing shown"
    assert watched.result["sentences"][0] == "Nothing shown after 2 looks."
    assert run_progress(run).total == 40
    assert list(needs_of(watched.study)) == []


@pytest.mark.nightly
def test_a_judge_whose_answers_changed_has_moved_and_people_are_told_once(run, watched, llm):  # noqa: F811
    look_and_wait(watched, inline=True)
    llm.answer = moved
    for _ in range(3):
        look_and_wait(watched, inline=True)

    watched.refresh_from_db()
    result = watched.result
    assert result["moved"] == ["judge"]
    assert result["kinds"]["judge"]["evidence"] >= 60
    assert result["kinds"]["judge"]["shown_at"] in (4, 5, 6)
    assert "8 were wrong instead of right, and 0 right instead of wrong" in " ".join(
        result["sentences"]
    )
    [need] = needs_of(watched.study)
    assert "judge moved" in need.sentence
    assert watched.study.log.filter(event="watched set moved").count() == 1
    mark_as_read(watched.pk)
    assert list(needs_of(watched.study)) == []


def test_a_judge_of_another_certainty_is_not_said_to_answer_otherwise(run, watched, llm):  # noqa: F811
    def unsure(body, n):
        answered = reply(body, n)
        answered.body = answered.body.replace(b"[[90]]", b"[[20]]")
        return answered

    look_and_wait(watched, inline=True)
    llm.answer = unsure
    for _ in range(4):
        look_and_wait(watched, inline=True)

    watched.refresh_from_db()
    assert watched.result["moved"] == ["judge"]
    words = " ".join(watched.result["sentences"])
    assert "its answers to the same items, or how certain it is of them, have changed more" in words
    assert "At the last look it had changed 0 of 40 (0.0 %): 0 were wrong" in words
    assert "Its certainty had changed by 70.0 on average, and by 0.0 when it was" in words
    for item in watched.frozen["items"]:
        item["right"] = ""
    assert "At the last look it had changed 0 of 40 (0.0 %)." in result_of(watched)["sentences"]


def test_a_judge_that_begins_to_refuse_has_moved(run, watched, llm):  # noqa: F811
    def refusing(body, n):
        _, _, asked = body["messages"][0]["content"].rpartition("Question ")
        is_refused = int(asked.split("?")[0]) % 2
        return completion("I cannot answer this.") if is_refused else reply(body, n)

    look_and_wait(watched, inline=True)
    llm.answer = refusing
    for _ in range(4):
        look_and_wait(watched, inline=True)

    watched.refresh_from_db()
    words = " ".join(watched.result["sentences"])
    assert watched.result["moved"] == ["judge"], words
    assert "were refused or could not be read: 0 were wrong instead of right" in words


@pytest.mark.nightly
def test_another_model_is_not_asked_and_a_new_version_is_a_move(run, watched, llm):  # noqa: F811
    look_and_wait(watched, inline=True)
    so_far = len(llm.requests)

    def renamed(body, n):
        answered = reply(body, n)
        answered.body = answered.body.replace(b"mock-2024-05-13", b"mock-2025-01-01")
        return answered

    llm.answer = renamed
    look_and_wait(watched, inline=True)
    watched.refresh_from_db()
    assert watched.result["moved"] == ["judge"]
    assert "“mock-2025-01-01”" in " ".join(watched.result["another"])

    Judge.objects.update(temperature=0.1)
    look_and_wait(watched, inline=True)
    watched.refresh_from_db()
    assert len(llm.requests) == so_far + 40
    assert "The temperature was" in " ".join(watched.result["another"])


@pytest.mark.nightly
def test_new_items_and_annotators_are_compared(run, watched):
    look_and_wait(watched, inline=True)
    study = watched.study
    for number in range(40):
        make_item(study=study, key=f"new{number}", question="long " * 200, topic="elsewhere")
    items = list(Item.objects.filter(study=study, key__startswith="i"))
    answer_otherwise(study, items)
    look_and_wait(watched, inline=True)

    watched.refresh_from_db()
    words = " ".join(watched.result["sentences"])
    assert set(watched.result["moved"]) == {"items", "people"}
    assert "40 of them are outside of what was checked: 40 have" in words
    assert "8 new annotators differ from the judge's frozen answers in 100.0 %" in words
    # The next look counts none of them again.
    look_and_wait(watched, inline=True)
    numbers = watched.looks.last().numbers
    assert (numbers["people"], numbers["items"]) == ([], [])


@pytest.mark.nightly
def test_answers_of_people_that_were_changed_are_said_and_not_compared(run, watched):
    look_and_wait(watched, inline=True)
    Annotation.objects.filter(assignment__item__key="i0000").update(choice="tie", certainty=None)
    answer_otherwise(watched.study, list(Item.objects.filter(study=watched.study)))

    look_and_wait(watched, inline=True)

    watched.refresh_from_db()
    assert watched.result["moved"] == []
    assert "have been changed or taken out" in watched.result["sentences"][-1]


@pytest.mark.nightly
def test_a_judge_without_a_version_is_said(run, llm):  # noqa: F811
    Judgment.objects.update(model_snapshot="", fingerprint="")
    watched = freeze(WatchWish(run=run, items=20, at_once=1))

    look_and_wait(watched, inline=True)

    watched.refresh_from_db()
    assert "The server names no version of this model" in " ".join(watched.result["sentences"])


@pytest.mark.nightly
def test_changed_items_are_left_out_and_said(run, watched):
    look_and_wait(watched, inline=True)
    Item.objects.filter(key__in=("i0000", "i0001")).update(content_hash="f" * 64)
    look_and_wait(watched, inline=True)

    watched.refresh_from_db()
    assert "2 items have no new answer or were changed." in watched.result["sentences"]
    Item.objects.update(content_hash="e" * 64)
    with pytest.raises(CannotWatch, match="Every item of this set was changed"):
        begin_look(watched.pk)


@pytest.mark.nightly
def test_the_schedule_asks_the_baseline_and_looks_when_they_are_due(run, llm):  # noqa: F811
    run.study.extras = ["watching"]
    run.study.save()
    watched = freeze(WatchWish(run=run, items=20, at_once=2, every_days=1))
    begin_look(watched.pk)

    def work():
        follow_up()
        lifecycle.work_off(run_id=run.pk)
        follow_up()

    lifecycle.work_off(run_id=run.pk)
    work()
    watched.refresh_from_db()
    assert watched.looks.filter(is_baseline=True, state="done").count() == 2
    assert clock.now() < watched.next_at < clock.now() + timedelta(days=1, minutes=1)

    work()
    assert watched.looks.count() == 2
    WatchedSet.objects.update(next_at=clock.now())
    work()
    assert watched.looks.filter(is_baseline=False, state="done").count() == 1

    WatchedSet.objects.update(next_at=clock.now())
    run.judgments.filter(item__key="i0000").update(state="pending", choice="", certainty=None)
    work()
    last = watched.looks.last()
    assert (last.state, last.is_baseline) == ("failed", False)
    assert "Continue or cancel it first" in last.message
    assert "failed" in " ".join(need.sentence for need in needs_of(run.study))
    run.study.extras = []
    run.study.save()
    WatchedSet.objects.update(next_at=clock.now())
    follow_up()
    assert watched.looks.last() == last


@pytest.mark.nightly
def test_a_look_that_gets_no_answers_fails_and_the_next_one_continues_it(run, watched, llm):  # noqa: F811
    look_and_wait(watched, inline=True)
    llm.answer = lambda body, n: error(400)
    with pytest.raises(CannotWatch, match=r"rejects every request.*continues with the questions"):
        look_and_wait(watched, inline=True)
    llm.answer = reply

    look_and_wait(watched, inline=True)

    states = list(watched.looks.values_list("state", "round"))
    assert states == [("done", 1), ("done", 2), ("done", 3), ("failed", 4), ("done", 4)]


def test_pressing_twice_asks_once_and_a_stopped_set_is_not_asked(run, watched):
    look = begin_look(watched.pk)

    assert begin_look(watched.pk) == look
    assert not finish_look(look.pk)
    lifecycle.work_off(run_id=run.pk)
    assert finish_look(look.pk)
    stop_watching(watched.pk)
    with pytest.raises(CannotWatch, match="was stopped"):
        begin_look(watched.pk)
    assert Look.objects.count() == 1


@pytest.mark.nightly
def test_what_cannot_be_watched_is_refused_in_words(run):
    imported = judge_it(run.study, judge="file", is_imported=True)
    few = judge_it(make_certifiable(5), judge="few")

    for wish, words in (
        (WatchWish(run=imported), "were imported, so it cannot be asked"),
        (WatchWish(run=few), "5 items with an answer. A set needs at least 10"),
        (WatchWish(run=run, items=2), "number of items is 2. Use 10 to 1,000"),
        (WatchWish(run=run, at_once=9), "baseline rounds is 9. Use 1 to 5"),
    ):
        with pytest.raises(CannotWatch, match=words):
            cost_of(wish)
    assert not WatchedSet.objects.exists()


@pytest.mark.nightly
def test_owners_and_editors_get_an_e_mail(run, watched, llm, settings):  # noqa: F811
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    for role in ("owner", "viewer"):
        sign_in(watched.study, role)
    for membership in Membership.objects.filter(study=watched.study).select_related("user"):
        membership.user.email = f"{membership.role}@example.org"
        membership.user.save()
    llm.answer = reply
    look_and_wait(watched, inline=True)
    llm.answer = moved
    for _ in range(3):
        look_and_wait(watched, inline=True)

    send_mail_about(watched.pk)

    [message] = mail.outbox
    assert (message.to, message.subject) == (["owner@example.org"], "judge: judge moved")
    assert f"/watched-sets/{watched.public_id}/" in message.body


@pytest.mark.nightly
def test_the_commands_freeze_look_and_exit_with_the_result(run, llm, capsys):  # noqa: F811
    study = run.study.slug
    freeze_it = ("recheck", f"--study={study}", "--freeze=judge", "--items=30", "--rounds=2")
    so_far = len(llm.requests)

    call_command(*freeze_it, "--dry-run")
    assert "asks 60 questions (30 items, 2 times)" in capsys.readouterr().out
    assert not WatchedSet.objects.exists()
    call_command(*freeze_it, "--inline")
    assert "The baseline is complete." in capsys.readouterr().out
    call_command("recheck", f"--study={study}", "--dry-run")
    assert "judge: 30 questions, price unknown. " in capsys.readouterr().out.replace("\n", " ")
    assert len(llm.requests) == so_far + 60
    call_command("recheck", f"--study={study}", "--inline", "--json")
    assert json.loads(capsys.readouterr().out)["verdict"] == "nothing shown"
    llm.answer = moved
    codes: list[object] = []
    # How soon depends on the items that were drawn.
    while 1 not in codes and len(codes) < 8:
        try:
            call_command("recheck", f"--study={study}", "--inline")
            codes.append(0)
        except SystemExit as ended:
            codes.append(ended.code)
    assert codes[-1] == 1
    for wrong in ([], [f"--study={study}", "--watched=none"]):
        with pytest.raises(CommandError) as refused:
            call_command("recheck", *wrong)
        assert refused.value.returncode == 2
    with pytest.raises(CommandError, match="Judges: judge"):
        call_command("recheck", f"--study={study}", "--freeze=nobody")
