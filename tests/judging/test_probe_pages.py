"""The probe on the pages: asked by a worker, shown whole, and started or refused by a button."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.urls import reverse

from analysis.data.dataset import load_dataset
from judging.models import Attempt, Campaign, JudgeRun, Judgment
from judging.runs.campaigns import CampaignPlan, change_campaign, start_campaign
from judging.runs.lifecycle import resume_run, work_off
from judging.tasks import judge_chunk, recover_runs
from judging.worker import chunks
from tests.factories import make_item, make_study, sign_in
from tests.judging.conftest import make_judge
from tests.judging.llm_server import completion, error
from tests.judging.run_helpers import asked, judge_all, new_runs
from tests.judging.test_campaigns import press

PLAN = new_runs(judges=["one", "two"], settings=["certainty"], orders="r1_first")
NEW = reverse("judging:new", args=["s"])


@pytest.fixture
def study(transactional_db):
    study = make_study(slug="s")
    for n in range(4):
        make_item(study=study, key=f"i{n}")
    return study


@pytest.fixture
def judges(llm, engine):
    llm.answer = lambda body, n: completion("B]] [[61]]")
    return [
        make_judge(name=name, base_url=llm.url, price_input=10, price_output=100)
        for name in ("one", "two")
    ]


@pytest.fixture
def editor(study):
    return sign_in(study)


@pytest.fixture
def queued(monkeypatch):
    """The tokens that a page handed to the workers; `work` is a worker that takes them."""
    tokens: list[int] = []
    monkeypatch.setattr("judging.tasks.queue_chunk", tokens.append)
    return tokens


def work(tokens):
    while tokens:
        judge_chunk(tokens.pop(0))


def page_of(campaign, part=""):
    return reverse(f"judging:campaign{part}", args=["s", campaign.public_id])


def after(editor, campaign, action):
    editor.post(page_of(campaign), {"action": action})


def words(client, url):
    return " ".join(client.get(url).content.decode().split())


def probed(editor, queued, plan=PLAN):
    press(editor, NEW, plan, "probe")
    campaign = Campaign.objects.get()
    work(queued)
    return campaign


def test_the_page_asks_nothing_itself_and_each_run_asks_one_question_in_a_worker(
    study, judges, llm, editor, queued
):
    response = press(editor, NEW, PLAN, "probe")
    campaign = Campaign.objects.get()
    assert response.url == page_of(campaign)
    assert (llm.requests, len(queued)) == ([], 2)
    page = words(editor, page_of(campaign))
    assert "0 of 2 runs sent their test question" in page
    assert "No worker has picked up the runs" not in page
    JudgeRun.objects.update(touched_at=campaign.created_at - timedelta(minutes=1))
    assert "No worker has picked up the runs" in words(editor, page_of(campaign))

    work(queued)

    assert len(llm.requests) == 2
    assert set(JudgeRun.objects.values_list("state", "probe_first", "tokens")) == {
        ("paused", True, 110)
    }
    assert Attempt.objects.filter(outcome="replied").count() == 2


def test_a_probe_is_shown_whole_with_what_the_rest_will_take(study, judges, llm, editor, queued):
    campaign = probed(editor, queued)

    page = words(editor, page_of(campaign, "-panel"))

    prompt = llm.requests[0]["messages"][0]["content"]
    assert page.count(" ".join(prompt.split())[:60]) == 2
    assert "B]] [[61]]" in page
    assert "Response 2, certainty 61" in page
    assert "<dt>Option probabilities</dt><dd>Not requested" in page
    assert "<dt>Structured output</dt><dd>Not requested" in page
    # 100 tokens in and 10 out: 0.001 + 0.001 dollars for each question
    assert "110 tokens, $0.0020" in page
    assert "Estimate for the remaining 3</dt><dd>about 330 tokens, $0.0060, " in page
    assert (
        "Starting the runs sends 6 questions in 2 runs: about 660 tokens, <strong>$0.0120</strong>"
        in page
    )
    assert 'name="action" value="start"' in page
    assert 'name="action" value="refuse"' in page


@pytest.mark.nightly
def test_starting_asks_the_rest_and_the_first_question_not_again(
    study, judges, llm, editor, queued
):
    campaign = probed(editor, queued)

    after(editor, campaign, "start")
    work(queued)

    assert set(JudgeRun.objects.values_list("state", "probe_first")) == {("done", False)}
    assert len(llm.requests) == 8
    assert set(asked(llm).values()) == {2}  # once by each judge
    assert "test question" not in words(editor, page_of(campaign))


def test_not_starting_asks_nothing_more(study, judges, llm, editor, queued):
    campaign = probed(editor, queued)

    after(editor, campaign, "refuse")
    recover_runs(at_start=True)
    work(queued)

    assert len(llm.requests) == 2
    assert set(JudgeRun.objects.values_list("state", flat=True)) == {"cancelled"}
    page = words(editor, page_of(campaign))
    assert "Not started after its probe; its judgments are kept." in page
    assert "test question" not in page


def test_however_many_workers_come_a_probe_is_one_question(study, judges, llm, editor, queued):
    press(editor, NEW, PLAN, "probe")
    waiting = list(queued)
    # A worker that starts, a sweep, a token too many: none asks more, nor another question.
    recover_runs(at_start=True)
    queued += waiting * 3

    work(queued)
    recover_runs(at_start=True)
    work(queued)

    assert len(llm.requests) == 2


def test_while_a_probe_is_under_way_nobody_else_asks(study, judges, llm, editor, queued):
    press(editor, NEW, PLAN, "probe")
    run = JudgeRun.objects.earliest("pk")
    held = chunks.claim_probe(run, "mine", until=run.created_at)

    assert len(held) == 1
    assert chunks.judge_chunk(run_id=run.pk) == 0
    run.refresh_from_db()
    assert (run.state, llm.requests) == ("running", [])
    assert "sending test question" in words(editor, page_of(Campaign.objects.get()))


def test_a_probe_that_a_killed_worker_left_is_asked_by_the_next(study, judges, llm, editor, queued):
    press(editor, NEW, {**PLAN, "judges": ["one"]}, "probe")
    run = JudgeRun.objects.get()
    chunks.claim_probe(run, "dead", until=run.created_at)
    queued.clear()

    recover_runs()
    work(queued)

    run.refresh_from_db()
    assert (run.state, len(llm.requests)) == ("paused", 1)


def test_a_probe_without_a_reply_says_why_and_holds_its_run_alone_back(
    study, judges, llm, editor, queued
):
    llm.answer = lambda body, n: error(401, "bad key") if n == 1 else completion("B]] [[61]]")
    campaign = probed(editor, queued)
    page = words(editor, page_of(campaign))
    assert "No reply received." in page
    assert "refuses the key" in page
    assert "Starting the runs sends 3 questions in 1 run:" in page

    after(editor, campaign, "start")
    work(queued)
    states = JudgeRun.objects.order_by("pk").values_list("state", flat=True)
    assert list(states) == ["stopped_outage", "done"]

    after(editor, campaign, "probe")
    work(queued)
    assert list(states.all()) == ["paused", "done"]
    assert len(llm.requests) == 1 + 4 + 1


@pytest.mark.nightly
def test_a_probe_that_fails_asks_the_same_question_however_often_one_presses(
    study, judges, llm, editor, queued
):
    llm.answer = lambda body, n: error(400, "too long")
    campaign = probed(editor, queued)

    for _ in range(2):
        after(editor, campaign, "probe")
        work(queued)

    assert sorted(asked(llm).values()) == [6]  # three times by each of two judges
    assert Judgment.objects.filter(state="error").count() == 2
    page = words(editor, page_of(campaign, "-panel"))
    assert '<progress max="8" value="0"' in page
    assert "<dt>Done</dt><dd>0 of 8" in page
    assert 'name="action" value="start"' not in page


def test_a_run_can_be_started_or_refused_by_itself(study, judges, llm, editor, queued):
    probed(editor, queued)
    one, two = JudgeRun.objects.order_by("pk")
    page = words(editor, reverse("judging:run", args=["s", one.public_id]))
    assert "B]] [[61]]" in page
    assert ">Start run<" in page
    assert "Discard run" in page

    editor.post(reverse("judging:run", args=["s", one.public_id]), {"action": "resume"})
    editor.post(reverse("judging:run", args=["s", two.public_id]), {"action": "cancel"})
    work(queued)

    states = JudgeRun.objects.order_by("pk").values_list("state", flat=True)
    assert list(states) == ["done", "cancelled"]
    assert len(llm.requests) == 4 + 1


def test_what_was_refused_alone_stays_so_when_the_others_start(study, judges, llm, editor, queued):
    campaign = probed(editor, queued)
    one = JudgeRun.objects.earliest("pk")
    editor.post(reverse("judging:run", args=["s", one.public_id]), {"action": "cancel"})

    after(editor, campaign, "start")
    work(queued)

    assert set(JudgeRun.objects.values_list("judge__name", "state")) == {
        ("one", "cancelled"),
        ("two", "done"),
    }


@pytest.mark.nightly
def test_runs_that_have_replies_are_left_alone_until_the_start(study, judges, llm, editor, queued):
    done = judge_all(study, judges[0], setting="certainty", orders="r1_first")
    make_item(study=study, key="new")
    llm.requests.clear()

    campaign = probed(editor, queued)
    done.refresh_from_db()
    assert (done.state, done.judgments.count(), len(llm.requests)) == ("done", 4, 1)
    assert "Starting the runs sends 5 questions in 2 runs" in words(editor, page_of(campaign))

    after(editor, campaign, "start")
    work(queued)
    assert len(llm.requests) == 1 + 4 + 1


def test_a_budget_counts_what_the_probe_took(study, judges, llm, editor, queued):
    campaign = probed(editor, queued, {**PLAN, "judges": ["one"], "budget": "0.2"})
    run = JudgeRun.objects.get()

    assert run.spent == Decimal("0.002")
    assert "$0.0020 of $0.2000" in words(editor, page_of(campaign))


def test_what_was_never_started_is_no_judge_of_the_report(study, judges, llm, editor, queued):
    probed(editor, queued)
    assert Judgment.objects.filter(state="done").count() == 2
    assert load_dataset("s").runs == ()


def test_pausing_all_leaves_what_waits_for_a_yes(study, judges, queued):
    campaign = start_campaign(
        study_id=study.pk, plan=CampaignPlan(name="x", judges=["one", "two"]), probe=True
    )
    work_off(run_id=campaign.runs.earliest("pk").pk)

    assert change_campaign(campaign_id=campaign.pk, change=resume_run) == 0
    assert set(campaign.runs.values_list("probe_first", flat=True)) == {True}


def test_workers_that_come_at_once_ask_one_question_among_them(study, judges, llm, queued):
    campaign = start_campaign(
        study_id=study.pk, plan=CampaignPlan(name="x", judges=["one"]), probe=True
    )
    run = campaign.runs.get()

    def judge(_):
        try:
            return chunks.judge_chunk(run_id=run.pk)
        finally:
            connection.close()

    with ThreadPoolExecutor(max_workers=8) as pool:
        taken = list(pool.map(judge, range(8)))

    run.refresh_from_db()
    assert (sum(taken), len(llm.requests), run.state) == (1, 1, "paused")


def test_the_queries_of_the_page_do_not_grow_with_the_probes(
    study, judges, llm, editor, queued, django_assert_max_num_queries
):
    campaign = probed(editor, queued, {**PLAN, "settings": ["standard", "certainty", "tie"]})

    with django_assert_max_num_queries(18):
        page = editor.get(page_of(campaign, "-panel"))

    assert len(page.context["probing"]["probes"]) == 6
    assert page.context["probing"]["estimate"].questions == 18


@pytest.mark.nightly
def test_after_a_dozen_probes_the_others_are_links_to_their_runs(
    study, llm, engine, editor, queued
):
    names = [f"judge-{n:02}" for n in range(13)]
    for name in names:
        make_judge(name=name, base_url=llm.url)
    campaign = probed(editor, queued, {**PLAN, "judges": names, "settings": ["standard"]})
    last = reverse("judging:run", args=["s", campaign.runs.latest("pk").public_id])

    page = words(editor, page_of(campaign, "-panel"))

    assert page.count("<h3>Prompt</h3>") == 12
    assert f'<p><a href="{last}">judge-12: standard' in page
