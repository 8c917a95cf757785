"""Campaigns: a grid of runs by one plan, all or none, and one page."""

import re
from dataclasses import asdict, replace
from decimal import Decimal
from io import StringIO
from types import SimpleNamespace

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from judging.errors import BadPlan
from judging.models import Campaign, JudgeRun, Jury
from judging.pages.campaign_forms import CampaignForm
from judging.runs.campaigns import CampaignPlan, feature_grid, read_plan, start_campaign
from judging.runs.costs import estimate_plan
from judging.runs.lifecycle import cancel_run, retry_failed, work_off
from judging.runs.start import wake
from studies.models import StudyLog
from tests.factories import make_item, make_persona, make_study, sign_in
from tests.judging.conftest import make_judge
from tests.judging.run_helpers import new_runs

PLAN = """
name = "Ablation"
judges = ["one", "two"]
settings = ["standard", "certainty"]
features = ["all", "none"]
orders = ["r1_first"]

[juries]
panel = ["one", "two"]
"""


@pytest.fixture
def study(transactional_db):
    study = make_study(slug="s")
    features = [
        {"key": key, "label": key, "value": "x", "text": f"{key} x"}
        for key in ("age", "sex", "work")
    ]
    make_item(study=study, persona=make_persona(study=study, features=features))
    return study


@pytest.fixture
def judges(llm, engine):
    return [make_judge(name=name, base_url=llm.url) for name in ("one", "two")]


def campaign_command(tmp_path, text, *arguments):
    file = tmp_path / "plan.toml"
    file.write_text(text)
    out = StringIO()
    call_command("campaign", "s", str(file), *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_a_campaign_that_no_worker_started_is_asked_inline(study, judges, llm, tmp_path):
    assert "0 of 8 judgments" in campaign_command(tmp_path, PLAN)

    assert "8 of 8 judgments" in campaign_command(tmp_path, PLAN, "--inline")
    assert len(llm.requests) == 8


@pytest.mark.nightly
def test_the_grid_is_asked_once_and_the_same_plan_asks_nothing_new(study, judges, llm, tmp_path):
    out = campaign_command(tmp_path, PLAN, "--inline")

    campaign = Campaign.objects.get()
    grid = set(campaign.runs.values_list("judge__name", "setting", "features", "orders"))
    assert grid == {
        (judge, setting, features, "r1_first")
        for judge in ("one", "two")
        for setting in ("standard", "certainty")
        for features in ("all", "none")
    }
    assert "8 of 8 judgments of 8 runs are finished." in out
    assert campaign.public_id in out
    assert len(llm.requests) == 8

    campaign_command(tmp_path, PLAN, "--inline")

    assert (len(llm.requests), Campaign.objects.count(), JudgeRun.objects.count()) == (8, 1, 8)
    jury = Jury.objects.get()
    assert sorted(jury.judges.values_list("name", flat=True)) == ["one", "two"]


def test_personas_are_read_as_often_for_many_runs_as_for_few(study, judges):
    def reads(settings, features):
        plan = CampaignPlan(name="x", judges=["one"], settings=settings, features=features)
        with CaptureQueriesContext(connection) as queries:
            estimate_plan(study, plan)
            start_campaign(study_id=study.pk, plan=plan, enqueue=False, change=True)
        return sum('SELECT "studies_persona"."features"' in query["sql"] for query in queries)

    few = reads(["standard"], ["age", "sex"])

    assert JudgeRun.objects.count() == 2
    assert few == reads(["standard", "tie"], ["leave-one-out", "one-only"]) > 0
    assert JudgeRun.objects.count() == 12


def test_each_run_of_a_campaign_costs_few_statements(study, judges):
    """What all runs need to know of the study is read once, however many runs there are."""

    def statements(features: list[str], action: str) -> int:
        plan = CampaignPlan("many", ["one", "two"], features=features, orders=["random"])
        with CaptureQueriesContext(connection) as queries:
            if action == "estimate":
                estimate_plan(study, plan)
            else:
                start_campaign(study_id=study.pk, plan=plan, enqueue=False, change=True)
        kinds = ("SELECT", "INSERT", "UPDATE")
        return sum(query["sql"].startswith(kinds) for query in queries)

    few, many = ["all"], ["all", "none", "age", "sex"]
    assert statements(many, "estimate") <= statements(few, "estimate") + 4
    first = statements(few, "start")
    more = statements(many, "start")

    new, there = 3 * len(judges), len(judges)
    assert more - first <= 12 * new + 14 * there


def test_sweeps_are_spelled_out_once_each(study):
    grid = feature_grid(study, ["all", "leave-one-out", "one-only", "age"])

    assert grid == ["all", "sex,work", "age,work", "age,sex", "age", "sex", "work"]


def test_a_dry_run_counts_and_starts_nothing(study, judges, tmp_path):
    plan = PLAN.replace('"none"', '"one-only"')

    out = campaign_command(tmp_path, plan, "--dry-run")

    assert out.startswith("Campaign “Ablation”: 16 runs, 16 questions, about ")
    assert "one: 8 questions, price unknown.\n" in out
    assert not JudgeRun.objects.exists()


def test_when_one_run_cannot_start_none_does(study, judges, tmp_path):
    plan = PLAN.replace('"none"', '"shoe_size"')

    with pytest.raises(CommandError, match=r"No persona.*shoe_size"):
        campaign_command(tmp_path, plan)

    assert not JudgeRun.objects.exists()
    assert not Campaign.objects.exists()
    assert not Jury.objects.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", "not TOML"),
        ('judges = ["a"]', "name: "),
        ('name = "x"', "judges: use a list"),
        ('name = "x"\njudges = []', "judges: use a list"),
        ('name = "x"\njudges = ["a", "a"]', "judges: a name is listed twice"),
        ('name = "x"\njudges = ["a"]\nsettings = ["loud"]', "“loud” is none of standard"),
        ('name = "x"\njudges = ["a"]\norders = ["up"]', "“up” is none of random"),
        ('name = "x"\njudges = ["a"]\nsamples = "3"', "samples is .*Use a whole number"),
        ('name = "x"\njudges = ["a"]\nsamples = true', "samples is .*Use a whole number"),
        ('name = "x"\njudges = ["a"]\nbudget = "much"', "budget is .*Use US dollars"),
        ('name = "x"\njudges = ["a"]\nbudget = -1', "budget is .*Use US dollars, more than 0"),
        ('name = "x"\njudges = ["a"]\ntoken_budget = 0', "token_budget is .*Use 1 or more"),
        ('name = "x"\njudges = ["a"]\nbatch = "yes"', "Use true or false"),
        ('name = "x"\njudges = ["a"]\nmodel = "m"', "no field “model”"),
        ('name = "x"\njudges = ["a"]\njuries = 3', "juries: use a table"),
        ('name = "x"\njudges = ["a"]\nprobes = ["lenght"]', "There is no probe “lenght”"),
        ('name = "x"\njudges = ["a"]\nprobes = ["length:*"]', "only after one of flip, hide"),
        ('name = "x"\njudges = ["a"]\n[juries]\np = ["a"]', "a jury needs two or more judges"),
        ('name = "x"\njudges = ["a"]\n[juries]\np = ["a", "b"]', "“b” is not among the judges"),
    ],
)
def test_a_plan_that_cannot_be_read_says_what_belongs_where(text, message):
    with pytest.raises(BadPlan, match=message):
        read_plan(text)


def test_an_unknown_judge_and_a_jury_named_like_one_are_refused(study, judges):
    with pytest.raises(BadPlan, match="no judge “three”"):
        start_campaign(study_id=study.pk, plan=read_plan('name = "x"\njudges = ["three"]'))
    with pytest.raises(BadPlan, match="a judge is also named “one”"):
        start_campaign(
            study_id=study.pk, plan=read_plan(PLAN.replace("panel", "one")), enqueue=False
        )

    assert not Campaign.objects.exists()


def test_a_plan_that_is_no_text_is_refused(study, tmp_path):
    file = tmp_path / "plan.toml"
    file.write_bytes(b"\xff\xfe")

    with pytest.raises(CommandError, match="is not UTF-8"):
        call_command("campaign", "s", str(file))


@pytest.mark.nightly
def test_one_page_shows_all_runs_to_members_alone(study, judges, tmp_path):
    campaign_command(tmp_path, PLAN, "--inline")
    campaign = Campaign.objects.get()
    url = reverse("judging:campaign", args=["s", campaign.public_id])
    inside, outside = sign_in(study, "viewer"), sign_in(study, "")

    page = inside.get(url).content.decode()

    assert 'max="8" value="8"' in page
    assert page.count("all features") == page.count("no features") == 4
    assert "Jury panel" in page
    panel = reverse("judging:campaign-panel", args=["s", campaign.public_id])
    assert f'data-src="{panel}"' in page
    assert "<html" not in inside.get(panel).content.decode()
    assert 'value="8"' in inside.get(panel).content.decode()
    assert outside.get(panel).status_code == 404
    assert campaign.public_id in inside.get(reverse("judging:list", args=["s"])).content.decode()
    assert outside.get(url).status_code == 404
    assert inside.get(reverse("judging:campaign", args=["s", "nothing"])).status_code == 404


def priced_judges(llm):
    return [
        make_judge(name=name, base_url=llm.url, price_input=10, price_output=0, concurrency=1)
        for name in ("one", "two")
    ]


@pytest.mark.nightly
def test_a_budget_holds_for_all_runs_together(study, llm, engine, tmp_path):
    priced_judges(llm)  # a request uses 100 tokens in and 10 out: a tenth of a cent
    make_item(study=study, persona=study.personas.get())

    with pytest.raises(CommandError, match=r"budget of campaign “Ablation”, \$0.01 is too small"):
        campaign_command(tmp_path, f"budget = 0.01\n{PLAN}", "--inline")

    # Another one could cost more than half a cent.
    asked = len(llm.requests)
    assert 3 <= asked <= 6
    with pytest.raises(CommandError, match=r"with a different plan already exists.*with --change"):
        campaign_command(tmp_path, f"budget = 1\n{PLAN}", "--inline")
    assert (Campaign.objects.get().budget, len(llm.requests)) == (Decimal("0.01"), asked)
    campaign_command(tmp_path, f"budget = 1\n{PLAN}", "--inline", "--change")
    assert len(llm.requests) == 16
    assert set(JudgeRun.objects.values_list("state", flat=True)) == {"done"}


def test_waiting_follows_the_workers_to_the_end(study, judges, llm, tmp_path, monkeypatch):
    def work(seconds):
        for run in JudgeRun.objects.filter(state__in=JudgeRun.ACTIVE)[:2]:
            work_off(run_id=run.pk)

    monkeypatch.setattr("judging.tasks.queue_chunk", lambda run_id: None)
    monkeypatch.setattr("judging.runs.lifecycle.time", SimpleNamespace(sleep=work))

    out = campaign_command(tmp_path, PLAN, "--wait")

    assert "8 of 8 judgments of 8 runs are finished." in out


@pytest.fixture
def editor(study):
    return sign_in(study)


NEW = new_runs(judges=["one"], settings=["certainty"], features=["all", "one-only"], samples="2")


def press(client, url, data, button="yes"):
    """Press a button that starts something, after its cost was shown."""
    shown = client.post(url, {**data, "estimate": "yes"}).context["form"].digest
    return client.post(url, {**data, "shown": shown, "start": button})


@pytest.mark.parametrize(
    ("given", "planned"),
    [
        ({}, "lenient"),
        ({"reading": "strict"}, "strict"),
    ],
)
def test_the_form_plans_what_is_chosen(study, given, planned):
    make_judge(base_url="http://127.0.0.1:9/v1")

    form = CampaignForm(study, new_runs(**given), name="C")

    assert form.is_valid(), form.errors
    assert form.plan().reading == planned


def test_the_page_offers_both_orders_first_and_shows_the_cost_before_anything_is_asked(
    study, llm, engine, editor
):
    priced_judges(llm)
    url = reverse("judging:new", args=["s"])

    page = editor.get(url).content.decode()
    assert re.search(r'value="both"[^>]*checked', page)
    assert "Estimate cost" in page

    shown = editor.post(url, {**NEW, "estimate": "yes"}).content.decode()

    assert "4 runs, 16 questions" in shown
    assert "$" in shown
    assert not JudgeRun.objects.exists()


def test_the_page_starts_the_campaign_that_it_showed(study, judges, llm, editor, monkeypatch):
    queued: list[int] = []
    monkeypatch.setattr("judging.tasks.queue_chunk", queued.append)

    response = press(editor, reverse("judging:new", args=["s"]), NEW)

    campaign = Campaign.objects.get()
    assert response.url == reverse("judging:campaign", args=["s", campaign.public_id])
    assert campaign.runs.count() == len(set(queued)) == 4
    assert set(campaign.runs.values_list("orders", "samples")) == {("both", 2)}


def test_a_plan_is_not_started_at_a_cost_that_was_not_shown(study, judges, editor):
    url = reverse("judging:new", args=["s"])
    shown = editor.post(url, {**NEW, "estimate": "yes"}).context["form"].digest

    page = editor.post(url, {**NEW, "samples": "100", "shown": shown, "start": "yes"})

    assert "The cost changed since you opened this page" in page.content.decode()
    assert "800 questions" in page.content.decode()
    assert not Campaign.objects.exists()


def test_what_cannot_be_started_is_said_on_the_page(study, judges, editor):
    url = reverse("judging:new", args=["s"])

    nobody = editor.post(url, {**NEW, "judges": [], "start": "yes"})
    unpriced = press(editor, url, {**NEW, "budget": "5"})

    assert nobody.status_code == unpriced.status_code == 422
    assert 'href="#id_judges"' in nobody.content.decode()
    assert "cannot be checked" in unpriced.content.decode()
    assert not Campaign.objects.exists()


@pytest.mark.nightly
def test_a_campaign_goes_on_with_a_higher_budget_and_keeps_its_juries(
    study, judges, llm, editor, monkeypatch
):
    monkeypatch.setattr("judging.tasks.queue_chunk", lambda run_id: None)
    plan = CampaignPlan(
        name="Panel",
        judges=["one", "two"],
        features=["all", "age,sex"],
        token_budget=10,
        juries={"both": ["one", "two"]},
    )
    campaign = start_campaign(study_id=study.pk, plan=plan)
    campaign.runs.update(state=JudgeRun.State.STOPPED_BUDGET, sentence="Used up.")
    page = reverse("judging:campaign", args=["s", campaign.public_id])
    url = reverse("judging:new", args=["s"]) + f"?like={campaign.public_id}"
    assert f'href="{url}"' in editor.get(page).content.decode()
    run = reverse("judging:run", args=["s", campaign.runs.first().public_id])
    assert f'href="{page}"' in editor.get(run).content.decode()

    form = editor.get(url).context["form"]
    again = {name: form[name].value() for name in form.fields if form[name].value() is not None}
    changed = {"batch": "", "reuse": "", "extend": "", "token_budget": "10000"}
    response = press(editor, url, {**again, **changed})

    assert response.url == page
    campaign.refresh_from_db()
    assert campaign.token_budget == 10_000
    assert campaign.plan | {"token_budget": 10} == asdict(plan)
    assert set(campaign.runs.values_list("state", flat=True)) == {"queued"}


@pytest.mark.nightly
def test_a_second_campaign_of_the_same_name_leaves_the_first_one_as_it_is(
    study, llm, engine, editor, monkeypatch
):
    """Two researchers open the form, which proposes the same name to both."""
    monkeypatch.setattr("judging.tasks.queue_chunk", lambda run_id: None)
    priced_judges(llm)
    url = reverse("judging:new", args=["s"])
    assert editor.get(url).context["form"]["name"].value() == "Campaign 1"
    mine = {**NEW, "name": "Campaign 1", "budget": "0.10"}
    press(editor, url, mine)

    theirs = press(editor, url, {**mine, "judges": ["two"], "budget": "9.00"})
    again = press(editor, url, mine)

    campaign = Campaign.objects.get()
    assert theirs.status_code == 422
    assert "“Campaign 1” with a different plan already exists" in theirs.content.decode()
    assert "“Campaign 2”" in theirs.content.decode()
    assert again.url == reverse("judging:campaign", args=["s", campaign.public_id])
    assert campaign.budget == Decimal("0.10")
    assert set(campaign.runs.values_list("judge__name", flat=True)) == {"one"}
    assert editor.get(url).context["form"]["name"].value() == "Campaign 2"


def test_two_who_extend_a_campaign_see_what_the_other_did(study, judges, editor, monkeypatch):
    monkeypatch.setattr("judging.tasks.queue_chunk", lambda run_id: None)
    plan = CampaignPlan(name="Panel", judges=["one"], token_budget=10)
    campaign = start_campaign(study_id=study.pk, plan=plan)
    url = reverse("judging:new", args=["s"]) + f"?like={campaign.public_id}"
    sent = {**NEW, "name": "Panel", "token_budget": "200"}
    shown = editor.post(url, {**sent, "estimate": "yes"}).context["form"].digest
    start_campaign(study_id=study.pk, plan=replace(plan, token_budget=5000), change=True)

    page = editor.post(url, {**sent, "shown": shown, "start": "yes"})

    assert "The cost changed since you opened this page" in page.content.decode()
    campaign.refresh_from_db()
    assert campaign.token_budget == 5000
    (change,) = StudyLog.objects.filter(event="campaign changed")
    assert (change.detail["before"], change.detail["after"]) == ("10", "5000")


def test_a_retry_does_not_undo_a_cancel(study, judges, monkeypatch):
    """The cancel comes after the run was read."""
    monkeypatch.setattr("judging.tasks.queue_chunk", lambda run_id: None)
    start_campaign(study_id=study.pk, plan=CampaignPlan(name="x", judges=["one"]))
    run = JudgeRun.objects.get()
    cancel_run(run_id=run.pk)

    wake(run, by_batch=False)

    assert JudgeRun.objects.get().state == JudgeRun.State.CANCELLED
    assert not retry_failed(run_id=run.pk)


def test_all_runs_of_a_campaign_are_paused_and_resumed_by_one_button(
    study, judges, llm, editor, monkeypatch
):
    monkeypatch.setattr("judging.tasks.queue_chunk", lambda run_id: None)
    campaign = start_campaign(
        study_id=study.pk, plan=CampaignPlan(name="Two", judges=["one", "two"])
    )
    page = reverse("judging:campaign", args=["s", campaign.public_id])
    states = campaign.runs.order_by("pk").values_list("state", flat=True)

    for action, button, state in (
        ("pause", "Pause all", "paused"),
        ("resume", "Resume all", "queued"),
        ("cancel", "Cancel all", "cancelled"),
    ):
        assert button in editor.get(page).content.decode()
        assert editor.post(page, {"action": action}).url == page
        assert list(states.all()) == [state, state]
    assert "Resume all" not in editor.get(page).content.decode()


def test_rows_of_a_sweep_differ_in_what_they_say(study, judges, editor, monkeypatch):
    monkeypatch.setattr("judging.tasks.queue_chunk", lambda run_id: None)
    sweeps = ["all", "leave-one-out", "one-only"]
    campaign = start_campaign(
        study_id=study.pk, plan=CampaignPlan(name="Sweep", judges=["one"], features=sweeps)
    )

    page = editor.get(reverse("judging:campaign", args=["s", campaign.public_id]))

    rows = [row.features for row in page.context["rows"]]
    assert len(set(rows)) == len(rows)
    assert {"all features", "all but age", "age alone"} <= set(rows)
