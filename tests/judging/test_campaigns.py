"""Campaigns: a grid of runs by one plan, all or none, and one page."""

from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from judging.errors import BadPlan
from judging.models import Campaign, JudgeRun, Jury
from judging.services.campaigns import feature_grid, read_plan, start_campaign
from studies.models import Membership
from tests.factories import make_item, make_persona, make_study
from tests.judging.conftest import make_judge

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
    assert "8 of 8 judgments of 8 runs have ended." in out
    assert campaign.public_id in out
    assert len(llm.requests) == 8

    campaign_command(tmp_path, PLAN, "--inline")

    assert (len(llm.requests), Campaign.objects.count(), JudgeRun.objects.count()) == (8, 1, 8)
    jury = Jury.objects.get()
    assert sorted(jury.judges.values_list("name", flat=True)) == ["one", "two"]


def test_sweeps_are_spelled_out_once_each(study):
    grid = feature_grid(study, ["all", "leave-one-out", "one-only", "age"])

    assert grid == ["all", "sex,work", "age,work", "age,sex", "age", "sex", "work"]


def test_a_dry_run_counts_and_starts_nothing(study, judges, tmp_path):
    plan = PLAN.replace('"none"', '"one-only"')

    out = campaign_command(tmp_path, plan, "--dry-run")

    assert out == "Campaign “Ablation”: 16 runs, 4 sets of features.\n"
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
        ('name = "x"', "judges: write a list"),
        ('name = "x"\njudges = []', "judges: write a list"),
        ('name = "x"\njudges = ["a", "a"]', "judges: a name stands there twice"),
        ('name = "x"\njudges = ["a"]\nsettings = ["loud"]', "“loud” is none of standard"),
        ('name = "x"\njudges = ["a"]\norders = ["up"]', "“up” is none of random"),
        ('name = "x"\njudges = ["a"]\nsamples = "3"', "samples: write a whole number"),
        ('name = "x"\njudges = ["a"]\nsamples = true', "samples: write a whole number"),
        ('name = "x"\njudges = ["a"]\nbudget = "much"', "budget: write US dollars"),
        ('name = "x"\njudges = ["a"]\nmodel = "m"', "no field “model”"),
        ('name = "x"\njudges = ["a"]\njuries = 3', "juries: write a table"),
        ('name = "x"\njudges = ["a"]\n[juries]\np = ["a"]', "one judge is no jury"),
        ('name = "x"\njudges = ["a"]\n[juries]\np = ["a", "b"]', "“b” is not among the judges"),
    ],
)
def test_a_plan_that_cannot_be_read_says_what_belongs_where(text, message):
    with pytest.raises(BadPlan, match=message):
        read_plan(text)


def test_an_unknown_judge_and_a_jury_named_like_one_are_refused(study, judges):
    with pytest.raises(BadPlan, match="no judge “three”"):
        start_campaign(study_id=study.pk, plan=read_plan('name = "x"\njudges = ["three"]'))
    with pytest.raises(BadPlan, match="a judge has that name"):
        start_campaign(
            study_id=study.pk, plan=read_plan(PLAN.replace("panel", "one")), enqueue=False
        )

    assert not Campaign.objects.exists()


def test_a_plan_that_is_no_text_is_refused(study, tmp_path):
    file = tmp_path / "plan.toml"
    file.write_bytes(b"\xff\xfe")

    with pytest.raises(CommandError, match="is not UTF-8"):
        call_command("campaign", "s", str(file))


def test_one_page_shows_all_runs_to_members_alone(study, judges, tmp_path):
    campaign_command(tmp_path, PLAN, "--inline")
    campaign = Campaign.objects.get()
    url = reverse("judging:campaign", args=["s", campaign.public_id])
    member, stranger = (User.objects.create_user(name) for name in ("member", "stranger"))
    Membership.objects.create(user=member, study=study, role=Membership.Role.VIEWER)
    inside, outside = Client(), Client()
    inside.force_login(member)
    outside.force_login(stranger)

    page = inside.get(url).content.decode()

    assert 'max="8" value="8"' in page
    assert page.count("features all") == page.count("features none") == 4
    assert "Jury panel" in page
    panel = reverse("judging:campaign-panel", args=["s", campaign.public_id])
    assert f'data-src="{panel}"' in page
    assert "<html" not in inside.get(panel).content.decode()
    assert 'value="8"' in inside.get(panel).content.decode()
    assert outside.get(panel).status_code == 404
    assert url in inside.get(reverse("judging:panel", args=["s"])).content.decode()
    assert outside.get(url).status_code == 404
    assert inside.get(reverse("judging:campaign", args=["s", "nothing"])).status_code == 404
