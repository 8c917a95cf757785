"""The page of new runs, its estimate, and the page of a run."""

import re

import pytest
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from judging.models import JudgeRun, Judgment
from tests.factories import make_item, sign_in
from tests.judging.conftest import make_judge
from tests.judging.judge_pages.pages import ADDRESS, NEW, Counted, page_of, submit, words
from tests.judging.run_helpers import start


@pytest.mark.nightly
def test_new_runs_start_from_what_the_study_asks(study):
    make_judge(base_url=ADDRESS)

    def ticked(**fields):
        for name, value in fields.items():
            setattr(study, name, value)
        study.save()
        page = sign_in(study).get(reverse("judging:new", args=["s"])).text
        return re.findall(r'name="settings" value="(\w+)"[^>]* checked', page)

    assert ticked(ask_certainty=True, allow_tie=False) == ["certainty"]
    assert ticked(ask_certainty=False, allow_tie=False) == ["standard"]
    assert ticked(ask_certainty=True, allow_tie=True) == ["certainty", "tie"]


def test_new_runs_with_one_judge_tick_it(editor):
    judge = make_judge(base_url=ADDRESS)
    make_judge(name="other", base_url=ADDRESS)

    page = editor.get(reverse("judging:new", args=["s"]) + f"?judge={judge.pk}").text

    assert re.findall(r'name="judges" value="(\w+)"[^>]* checked', page) == ["judge"]


def test_the_estimate_before_the_first_reply_has_a_time(editor):
    make_judge(base_url=ADDRESS, price_input=1, price_output=1, rpm=1)
    plan = {"name": "x", "judges": ["judge"], "settings": ["certainty"], "features": ["all"]}

    page = editor.post(
        reverse("judging:new", args=["s"]),
        plan | {"orders": "both", "samples": "1", "estimate": "yes"},
    )

    assert "2 minutes" in words(page)


def test_the_time_of_replies_is_read_once_for_each_judge(editor, study):
    make_judge(base_url=ADDRESS)
    persona = study.personas.get()
    persona.features = [
        {"key": key, "label": key, "value": "x", "text": key} for key in ("a", "b", "c", "d")
    ]
    persona.save()
    plan = {"name": "x", "judges": ["judge"], "settings": ["certainty"], "orders": "both"}

    def queries(*features):
        with connection.execute_wrapper(counter := Counted()):
            editor.post(NEW, plan | {"features": features, "samples": "1", "estimate": "yes"})
        return counter.statements

    once, sweep = queries("all"), queries("all", "leave-one-out")
    reads = [sql for sql in sweep if '"judging_judgerun"."tokens" > ' in sql]

    assert len(reads) == 1
    assert len(sweep) > len(once)


def test_progress_counts_what_is_done_and_not_what_is_being_asked(editor, study):
    make_item(study=study, key="second")
    run = start(study, make_judge(base_url=ADDRESS))
    Judgment.objects.filter(run=run, item__key="first").update(
        state="leased", leased_until=timezone.now()
    )

    page = editor.get(reverse("judging:run", args=["s", run.public_id]))

    assert "Done 0 of 2 Left 2" in words(page)
    assert '<progress max="2" value="0"' in page.text


@pytest.mark.nightly
def test_a_run_that_continues_at_another_address_records_both(admin, study):
    judge = make_judge(base_url=ADDRESS)
    run = start(study, judge)
    finished = start(study, judge, samples=2)
    JudgeRun.objects.filter(pk=finished.pk).update(state="done", sentence="x")

    change = {"name": "judge", "own_sources": "", "base_url": "http://127.0.0.1:10/v1"}
    assert submit(admin, page_of(judge, "change-judge"), **change).status_code == 302

    page = words(admin.get(reverse("judging:run", args=["s", run.public_id])))
    assert "Server http://127.0.0.1:9/v1, then http://127.0.0.1:10/v1" in page
    page = words(admin.get(reverse("judging:run", args=["s", finished.public_id])))
    assert "Server http://127.0.0.1:9/v1 Temperature" in page
