"""Runs that grow by a page, and answers that are taken over: shown first, asked once."""

from collections import Counter
from decimal import Decimal

import pytest
from django.urls import reverse

from judging.errors import BadPlan
from judging.models import Judge, JudgeRun
from judging.runs import lifecycle
from judging.runs.campaigns import read_plan
from judging.runs.costs import estimate_plan, estimate_run
from judging.runs.row_creation import count_missing, missing_judgments
from judging.runs.spec import RunSpec
from judging.runs.start import extended
from tests.factories import make_item, make_items, make_study, sign_in
from tests.judging.conftest import make_judge
from tests.judging.run_helpers import asked, judge_all, new_runs, start, study_of
from tests.judging.test_campaigns import press

SAME = {"limit": "", "samples": "1", "orders": "r1_first", "budget": "", "token_budget": ""}


@pytest.fixture
def study(transactional_db):
    study = make_study(slug="s")
    make_items(study, 4)
    return study


@pytest.fixture
def judge(llm, engine):
    return make_judge(base_url=llm.url, price_input=10, price_output=100, concurrency=1)


@pytest.fixture
def run(study, judge):
    return judge_all(study, judge, orders="r1_first")


@pytest.fixture
def editor(study):
    return sign_in(study)


@pytest.fixture(autouse=True)
def no_broker(monkeypatch):
    monkeypatch.setattr("judging.tasks.queue_chunk", lambda run_id: None)


def url_of(run):
    return reverse("judging:extend", args=["s", run.public_id])


def facts(page):
    estimate = page.context["estimate"]
    return estimate.answered, estimate.reused, estimate.questions


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("change", "new"),
    [({"samples": "3"}, 8), ({"orders": "both", "samples": "2"}, 12)],
)
def test_more_samples_and_the_other_order_ask_only_what_they_add(run, editor, llm, change, new):
    before = asked(llm)
    page = editor.post(url_of(run), {**SAME, **change, "estimate": "yes"})
    assert facts(page) == (4, 0, new)
    # As the run's own replies: 100 tokens in and 10 out, 0.002 dollars each.
    assert f"{110 * new:,}</dd>" in page.content.decode()
    assert f"${0.002 * new:.4f}</dd>" in page.content.decode()
    assert f"Send {new} questions" in page.content.decode()
    assert asked(llm) == before

    response = press(editor, url_of(run), {**SAME, **change})
    lifecycle.work_off(run_id=run.pk)

    assert response.url == reverse("judging:run", args=["s", run.public_id])
    run.refresh_from_db()
    assert (JudgeRun.objects.count(), run.state) == (1, "done")
    assert len(llm.requests) == 4 + new
    seeds = Counter((body["messages"][0]["content"], body["seed"]) for body in llm.requests)
    assert set(seeds.values()) == {1}


def test_a_run_on_some_items_offers_to_stay_with_them(study, judge, editor, llm):
    run = judge_all(study, judge, orders="r1_first", limit=2)

    assert editor.get(url_of(run)).context["form"]["limit"].value() == 2
    few = editor.post(url_of(run), {**SAME, "limit": "2", "samples": "2", "estimate": "yes"})
    all_ = editor.post(url_of(run), {**SAME, "estimate": "yes"})
    assert (facts(few), facts(all_)) == ((2, 0, 2), (2, 0, 2))


@pytest.mark.nightly
def test_answers_of_other_runs_are_taken_over_only_when_told_so(run, study, judge, editor, llm):
    judge_all(study, judge, orders="both")  # another run: all four of both orders
    assert len(llm.requests) == 4 + 8

    alone = editor.post(url_of(run), {**SAME, "samples": "2", "estimate": "yes"})
    told = {**SAME, "samples": "2", "reuse": "same_prompt"}
    page = editor.post(url_of(run), {**told, "estimate": "yes"})
    press(editor, url_of(run), told)
    lifecycle.work_off(run_id=run.pk)

    assert (facts(alone), facts(page)) == ((4, 0, 4), (4, 4, 0))
    assert "Reuse 4 judgments" in page.content.decode()
    assert len(llm.requests) == 12
    run.refresh_from_db()
    assert (run.state, run.samples) == ("done", 2)
    assert run.judgments.exclude(reused_from=None).count() == 4


def test_nothing_new_offers_no_button(run, editor):
    page = editor.post(url_of(run), {**SAME, "estimate": "yes"}).content.decode()

    assert "These settings add no questions" in page
    assert 'name="start"' not in page


def test_what_was_not_shown_is_not_asked(run, editor, llm):
    shown = editor.post(url_of(run), {**SAME, "samples": "2", "estimate": "yes"})
    digest = shown.context["form"].digest

    sent = {**SAME, "samples": "50", "shown": digest, "start": "yes"}
    page = editor.post(url_of(run), sent).content.decode()

    assert "The cost changed since you opened this page" in page
    run.refresh_from_db()
    assert (run.samples, run.state) == (1, "done")


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("change", "field"),
    [({"samples": "0"}, "samples"), ({"orders": "r2_first"}, "orders"), ({"limit": "-1"}, "limit")],
)
def test_a_run_does_not_shrink_or_turn(run, editor, change, field):
    page = editor.post(url_of(run), {**SAME, **change, "estimate": "yes"})

    assert page.status_code == 422
    assert f'href="#id_{field}"' in page.content.decode()


def test_a_budget_without_a_price_is_refused_by_the_name_of_the_field(run, editor):
    Judge.objects.update(price_input=None, price_output=None)

    page = press(editor, url_of(run), {**SAME, "samples": "2", "budget": "5"})

    (message,) = page.context["form"].errors["budget"]
    assert page.status_code == 422
    assert "so “Budget, US dollars” cannot be checked" in message
    assert "or use “Budget, tokens”" in message
    assert "--" not in message


def test_other_words_by_now_need_a_run_of_their_own(run, study, editor):
    study.persona_style = "sentences" if study.persona_style == "facts" else "facts"
    study.save(update_fields=["persona_style"])

    page = editor.post(url_of(run), {**SAME, "samples": "2", "estimate": "yes"})

    assert page.status_code == 422
    assert "wording or the reading of replies has changed" in page.content.decode()


@pytest.mark.nightly
def test_a_higher_budget_lets_a_run_that_stopped_go_on(study, judge, editor, llm):
    run = judge_all(study, judge, orders="r1_first", budget=Decimal("0.003"))
    assert run.state == "stopped_budget"
    page = editor.get(reverse("judging:run", args=["s", run.public_id])).content.decode()
    assert "raise the budget of the run with “Extend run”" in page

    press(editor, url_of(run), {**SAME, "budget": "5"})
    lifecycle.work_off(run_id=run.pk)

    run.refresh_from_db()
    assert (run.state, run.budget, len(llm.requests)) == ("done", 5, 4)


@pytest.mark.sampled(keep=5)
@pytest.mark.parametrize("own", [[], ["gpt"]])
@pytest.mark.parametrize("limit", [None, 3])
@pytest.mark.parametrize(
    ("before", "then"),
    [
        ({}, {"samples": 2}),
        ({"limit": 2}, {"samples": 3}),
        ({"orders": "r1_first"}, {"orders": "both", "samples": 2}),
        ({"orders": "both", "limit": 1}, {"orders": "both"}),
    ],
)
def test_what_is_counted_is_what_is_then_made(db, before, then, limit, own):
    study = study_of(3)
    make_item(study=study, fixed_first="r2")
    make_item(study=study, r1={"text": "x", "generated_by": {"name": "gpt"}})
    judge = make_judge(base_url="http://127.0.0.1:9/v1", own_sources=own)
    run = start(study, judge, **before)
    there = run.judgments.count()

    bigger = extended(run, RunSpec.of(run, **{"samples": 1} | then))
    counted = count_missing(bigger, limit)
    made = [judgment.state for judgment in missing_judgments(bigger, limit)].count("pending")
    started = start(study, judge, **then, limit=limit, extend=True)

    assert counted == made
    assert started.pk == run.pk
    assert run.judgments.exclude(state="skipped").count() - there <= counted
    assert (
        estimate_run(started, RunSpec.of(started, limit=limit)).questions
        == started.judgments.filter(state="pending").count()
    )


PLAN = new_runs(samples="2")


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("told", "answered", "questions", "count"),
    [({}, 0, 16, 2), ({"reuse": "on"}, 4, 12, 2), ({"extend": "on"}, 4, 12, 1)],
)
def test_a_campaign_counts_what_is_new_and_asks_that(
    run, study, editor, llm, told, answered, questions, count
):
    url = reverse("judging:new", args=["s"])
    page = editor.post(url, {**PLAN, **told, "estimate": "yes"})
    estimate = page.context["estimate"]
    assert (estimate.answered, estimate.questions) == (answered, questions)

    press(editor, url, {**PLAN, **told})
    for one in JudgeRun.objects.all():
        lifecycle.work_off(run_id=one.pk)

    assert JudgeRun.objects.count() == count
    assert len(llm.requests) == 4 + questions
    again = editor.post(url, {**PLAN, **told, "estimate": "yes"})
    assert again.context["estimate"].questions == 0
    assert 'name="start"' not in again.content.decode()


def test_a_plan_that_extends_names_one_order(study, judge):
    text = 'name = "x"\njudges = ["judge"]\nextend = true\n'
    assert estimate_plan(study, read_plan(text)).questions == 8
    with pytest.raises(BadPlan, match="extend: name one order"):
        read_plan(text + 'orders = ["both", "random"]')
