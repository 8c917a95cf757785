"""Whom a launch plan recruits: filters of every kind, sets, lists, and enough people in a cell."""

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Ending
from annotation.prolific.api.transport import LaunchRefused
from annotation.prolific.api.types import Filter, WantedFilter, resolve
from annotation.prolific.launch import launch, publication
from annotation.prolific.launch.launch_plan import LaunchPlan
from annotation.prolific.launch.plan_words import plan_sentence
from annotation.prolific.sync.sync import follow
from annotation.seats.flow import code_for
from annotation.seats.quotas import QuotaQuestion, set_quotas
from demo.prolific.records import WORKSPACE, Refusal
from studies.models import Membership
from tests.annotation.grids import grid
from tests.annotation.prolific.life import (
    BALANCE,
    launched,
    make_recruiting,
    published,
    with_quotas,
)

pytestmark = pytest.mark.django_db
PERSON, OTHER = "a" * 24, "b" * 24
EVERY_KIND = (
    {"filter": "age", "low": "18", "high": "40"},
    {"any": [{"filter": "diet", "labels": ["Vegan"]}, {"filter": "sex", "labels": ["Female"]}]},
    {"filter": "custom_allowlist", "labels": [PERSON]},
)


def test_every_kind_of_filter_is_sent_counted_compared_and_obeyed(prolific):
    study = make_recruiting()
    plan = LaunchPlan(country="United States\nCanada", filters=EVERY_KIND, at_once=1, naivety=0.25)

    row = launched(study, plan)

    sent = prolific.world.studies[row.prolific_id]
    assert sent["filters"] == [
        {"filter_id": "current-country-of-residence", "selected_values": ["1", "45"]},
        {"filter_id": "age", "selected_range": {"lower": 18, "upper": 40}},
        {
            "filter_id": "or",
            "selected_filters": [
                {"filter_id": "diet", "selected_values": ["1"]},
                {"filter_id": "sex", "selected_values": ["1"]},
            ],
        },
        {"filter_id": "custom_allowlist", "selected_values": [PERSON]},
    ]
    assert sent["submissions_config"]["max_concurrent_submissions"] == 1
    assert sent["naivety_distribution_rate"] == 0.25
    publication.publish(study_id=study.pk, confirmed=publication.look_at_publishing(study)[0].plain)
    with pytest.raises(Refusal, match="exclude"):
        prolific.world.arrive(row.prolific_id, OTHER)
    assert prolific.world.arrive(row.prolific_id, PERSON)


def test_a_draft_whose_alternatives_were_changed_is_not_published(prolific):
    row = launched(make_recruiting(), LaunchPlan(filters=EVERY_KIND))
    prolific.world.studies[row.prolific_id]["filters"][1]["selected_filters"].pop()

    with pytest.raises(LaunchRefused, match="filters on Prolific differ"):
        publication.publish(
            study_id=row.study_id, confirmed=publication.look_at_publishing(row.study)[0].plain
        )


def test_only_as_many_people_as_the_pace_allows_take_part_at_once(prolific):
    row = published(make_recruiting(), LaunchPlan(at_once=2))
    people = [prolific.world.arrive(row.prolific_id)["submission"] for _ in range(2)]

    with pytest.raises(Refusal, match="As many people"):
        prolific.world.arrive(row.prolific_id)
    prolific.world.finish(people[0], "NOCODE")
    assert prolific.world.arrive(row.prolific_id)


def test_a_filter_set_is_sent_alone_with_its_version(prolific):
    country = {"filter_id": "current-country-of-residence", "selected_values": ["1"]}
    kept = prolific.world.add_filter_set("Adults", [country], WORKSPACE)
    study = make_recruiting()

    for plan, words in (
        (LaunchPlan(filter_set=kept, age_low=20), "only without other filters"),
        (LaunchPlan(filter_set=kept, balance=BALANCE), "only without other filters"),
        (LaunchPlan(filter_set="f" * 24), "no filter set"),
    ):
        with pytest.raises(LaunchRefused, match=words):
            launched(study, plan)
    row = launched(study, LaunchPlan(filter_set=kept))

    sent = prolific.world.studies[row.prolific_id]
    assert (sent["filter_set_id"], sent["filter_set_version"]) == (kept, 1)
    prolific.world.filter_sets[kept]["version"] = 2
    with pytest.raises(LaunchRefused, match="filters on Prolific differ"):
        publication.publish(
            study_id=study.pk, confirmed=publication.look_at_publishing(study)[0].plain
        )


@pytest.mark.parametrize(
    ("wanted", "sent"),
    [
        (WantedFilter("joined", low="2024-02-01"), {"lower": "2024-02-01", "upper": "2026-01-01"}),
        (WantedFilter("score", low=".5", high="2"), {"lower": 0.5, "upper": 2.0}),
        (WantedFilter("joined", low="soon"), "takes dates"),
        (WantedFilter("joined", low="2019-01-01"), "allows from 2020-01-01"),
        (WantedFilter("score", low="nan"), "takes numbers"),
        (WantedFilter("age", low="18.5"), "takes whole numbers"),
        (WantedFilter("blocked", ["Somebody"]), "takes participants' ids"),
        (WantedFilter("", any_of=[WantedFilter("gone", ["x"])]), "no filter “gone”"),
    ],
)
def test_bounds_and_ids_are_sent_in_the_filters_type(wanted, sent):
    live = [
        Filter("joined", "Joined", "range", {}, "2020-01-01", "2026-01-01", data_type="date"),
        Filter("score", "Score", "range", {}, 0.0, 10.0, data_type="float"),
        Filter("age", "Age", "range", {}, 18, 100, data_type="integer"),
        Filter("blocked", "Block list", "select", {}, None, None, data_type="ParticipantID"),
    ]

    found = resolve([wanted], live)

    if isinstance(sent, str):
        assert found.filters == []
        assert sent in found.problems[0]
    else:
        assert found.filters == [{"filter_id": wanted.filter_id, "selected_range": sent}]


def test_people_are_counted_in_every_cell_and_a_small_one_is_named(prolific):
    study = with_quotas(make_recruiting(items=36, per_person=3), each=6)
    launch.save_plan(
        study_id=study.pk,
        plan=LaunchPlan(
            balance=BALANCE,
            filters=({"filter": "custom-group-fact-checkers", "labels": ["Yes"]},),
        ),
    )
    prolific.world.behaviour.people = 900

    found = launch.check_launch(study)

    (draft,) = found.drafts
    assert [(cell.places, cell.eligible) for cell in draft.cells] == [(6, 33)] * 6
    # 33 people are enough for 6 places, 29 would not be.
    assert not [check for check in found.checks if "Male, Democrat" in check.text]
    assert found.distributions["Fact checkers: Sex"] == {"Male": 9, "Female": 9}
    prolific.world.behaviour.people = 600
    small = launch.check_launch(study)
    assert any(
        "Fewer than 25 people match “Male, Democrat”, which has 6 places" in check.text
        for check in small.checks
        if check.is_open and not check.blocks
    )


def test_quota_groups_by_age_are_parts_of_prolifics_range(prolific, signed_in_editor):
    study, client = signed_in_editor
    ages = QuotaQuestion("age", "How old are you?", {"a": "18–39", "b": "40 or more"})
    set_quotas(
        study_id=study.pk,
        questions=[ages],
        groups=grid([ages], {("a",): 4, ("b",): 2}),
    )
    url = reverse("people:prolific-plan", args=[study.slug])
    asked = client.post(url, {"devices": ["desktop"], "filter-age": "age"})
    assert asked.status_code == 422
    assert 'value="18–39"' in asked.content.decode()
    sent = {"label-age-0": "18–39", "label-age-1": "40+"}
    client.post(url, {"devices": ["desktop"], "filter-age": "age"} | sent)
    plan = launch.plan_of(study)

    row = launched(study, plan)

    assert prolific.world.studies[row.prolific_id]["filters"] == [
        {
            "filter_id": "age",
            "selected_range": {"lower": 18, "upper": 100},
            "weightings": {
                "0": {"selected_range": {"lower": 18, "upper": 39}, "weighting": 4},
                "1": {"selected_range": {"lower": 40, "upper": 100}, "weighting": 2},
            },
        }
    ]
    found = launch.check_launch(study)
    assert "By Age: 4 in 18–39 and 2 in 40+." in plan_sentence(study, plan, found)
    assert [(cell.label, cell.places) for cell in found.drafts[0].cells] == [
        ("18–39", 4),
        ("40+", 2),
    ]
    publication.publish(study_id=study.pk, confirmed=publication.look_at_publishing(study)[0].plain)
    came = [prolific.world.arrive(row.prolific_id)["age"] for _ in range(6)]
    assert sorted(came) == ["18"] * 4 + ["40"] * 2


@pytest.mark.parametrize(
    ("parts", "words"),
    [(["18-39", "30-60"], "overlap"), (["young"], "parts such as 18-39"), (["5-20"], "allows")],
)
def test_parts_of_a_range_that_prolific_cannot_divide_are_refused(parts, words):
    live = [Filter("age", "Age", "range", {}, 18, 100, data_type="integer")]

    found = resolve([WantedFilter("age", parts, weights=dict.fromkeys(parts, 1))], live)

    assert words in found.problems[0]


def test_the_plan_is_said_in_words(prolific):
    study = with_quotas(make_recruiting(items=6), each=1)
    plan = LaunchPlan(
        country="United States\nCanada",
        age_low=18,
        balance=BALANCE,
        devices=("desktop",),
        filters=EVERY_KIND,
        at_once=3,
        naivety=0,
        approve_at_once=True,
    )
    launch.save_plan(study_id=study.pk, plan=plan)

    found = launch.check_launch(study)

    assert plan_sentence(study, plan, found) == (
        "6 participants living in United States or Canada, aged 18 or more, with Age: 18 to 40, "
        "either Diet: Vegan or Sex: Female, among 1 participant, on desktop, for $4.50 each. By "
        "sex: 3 Male and 3 Female. By U.S. Political Affiliation: 2 Democrat, 2 Republican and 2 "
        "Independent. At most 3 take part at the same time. Everybody can take part at once, so "
        "the study fills fast. Prolific approves and pays everybody who finishes."
    )
    assert any("cannot reject anybody who finished" in check.text for check in found.checks)


@pytest.fixture
def signed_in_editor(user):
    study = make_recruiting()
    Membership.objects.create(study=study, user=user, role=Membership.Role.OWNER)
    client = Client()
    client.force_login(user)
    return study, client


def test_the_page_says_that_used_screen_outs_paused_the_study(prolific, signed_in_editor):
    study, client = signed_in_editor
    row = published(study, LaunchPlan(screen_out_pay=20, screen_out_slots=1))
    code = code_for(study_id=study.pk, ending=Ending.INELIGIBLE)
    home = reverse("people:prolific", args=[study.slug])
    assert "paid screen-outs (1)" not in client.get(home).content.decode()

    prolific.world.finish(prolific.world.arrive(row.prolific_id)["submission"], code)
    follow(study_id=study.pk)

    assert "all paid screen-outs (1) were used" in client.get(home).content.decode()


def test_a_workspace_without_screen_outs_refuses_them_in_its_own_words(prolific):
    prolific.world.behaviour.screen_outs = False

    with pytest.raises(Exception, match="no fixed screen-outs"):
        launched(make_recruiting(), LaunchPlan(screen_out_pay=20, screen_out_slots=3))
