"""From a plan to a running study: nothing twice, nothing dropped, nothing spent unasked."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from django.db import connection

from annotation.models import Ending, ProlificStudy, QuotaGroup
from annotation.prolific.api.client import connect
from annotation.prolific.api.transport import (
    LaunchRefused,
    NotAllowed,
    OutcomeUnknown,
    ProlificError,
    Unauthorized,
)
from annotation.prolific.launch import launch, publication
from annotation.prolific.launch.launch_checks import place_checks
from annotation.prolific.launch.launch_plan import PAPER, LaunchPlan
from annotation.prolific.launch.plan_words import who_is_asked
from annotation.prolific.launch.shares import (
    places_of,
    shares_of,
)
from annotation.seats.capacity import needed_places
from annotation.seats.flow import codes_of
from annotation.seats.quotas import Quota, set_quotas
from annotation.services.admission import set_related_studies
from demo.prolific.records import WORKSPACE
from tests.annotation.grids import grid
from tests.annotation.prolific.life import (
    BALANCE,
    GENDER,
    POLITICS,
    launched,
    make_recruiting,
    published,
    with_quotas,
)

pytestmark = pytest.mark.django_db


def test_a_draft_holds_what_the_study_and_the_plan_say(prolific):
    study = make_recruiting()
    plan = LaunchPlan(
        country="United States", approval_rate=99, age_low=18, age_high=75, balance=BALANCE
    )

    row = launched(study, plan)

    sent = prolific.world.studies[row.prolific_id]
    assert row.status == "UNPUBLISHED"
    assert (sent["total_available_places"], sent["reward"]) == (6, 450)
    assert sent["internal_name"] == row.internal_name
    assert sent["study_type"] == "QUOTA"
    assert sent["maximum_allowed_time"] >= 2 + 2 * 20 + 2 * 20**0.5
    assert sent["submissions_config"]["max_submissions_per_participant"] == 1
    assert f"/s/{study.slug}/?PROLIFIC_PID={{{{%PROLIFIC_PID%}}}}" in sent["external_study_url"]
    assert {f["filter_id"]: f.get("weightings") for f in sent["filters"]} == {
        "current-country-of-residence": None,
        "age": None,
        "approval_rate": None,
        "sex": {"0": 3, "1": 3},
        "us-political-affiliation": {"0": 2, "1": 2, "2": 2},
    }


def test_the_paper_preset_asks_exactly_what_the_paper_asked(prolific):
    study = make_recruiting(items=300, per_person=30)

    launch.apply_paper(study_id=study.pk)
    (row,) = launch.launch(study_id=study.pk)

    sent = prolific.world.studies[row.prolific_id]
    filters = {f["filter_id"]: f for f in sent["filters"]}
    assert sent["total_available_places"] == 30
    assert sent["reward"] == 450  # 13.50 an hour for 20 minutes
    assert filters["current-country-of-residence"]["selected_values"] == ["1"]
    assert filters["approval_numbers"]["selected_range"] == {"lower": 50, "upper": 10000}
    assert filters["approval_rate"]["selected_range"] == {"lower": 99, "upper": 100}
    assert filters["age"]["selected_range"] == {"lower": 18, "upper": 75}
    assert set(filters["sex"]["weightings"].values()) == {15}
    assert len(filters["us-political-affiliation"]["weightings"]) == 3
    assert PAPER.groups == 6


def test_the_set_up_list_says_who_is_asked():
    assert who_is_asked(LaunchPlan()) == "for anybody on Prolific"
    plan = LaunchPlan(country="United States", age_low=18, age_high=75)
    assert who_is_asked(plan) == "for people living in United States, aged 18 to 75"


@pytest.mark.parametrize(
    ("items", "plan", "places"),
    [
        (6, LaunchPlan(), 6),
        (7, LaunchPlan(), 7),
        (7, LaunchPlan(balance=BALANCE), 12),
        (6, LaunchPlan(places=9), 9),
    ],
)
def test_places_fill_every_seat_and_are_rounded_up_to_the_groups(items, plan, places):
    study = make_recruiting(items=items)

    assert needed_places(study) == items
    assert places_of(plan, study) == places


def test_a_launch_with_an_unknown_label_is_refused_before_anything_is_made(prolific):
    study = make_recruiting()
    launch.save_plan(study_id=study.pk, plan=LaunchPlan(country="Atlantis"))

    with pytest.raises(LaunchRefused, match="Atlantis"):
        launch.launch(study_id=study.pk)

    assert prolific.world.studies == {}
    assert not ProlificStudy.objects.exists()


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("overrides", "plan", "words"),
    [
        ({"entry": "link"}, LaunchPlan(), "Recruitment is not set to Prolific"),
        ({"items": 0}, LaunchPlan(), "Import items"),
        ({}, LaunchPlan(places=7, balance=BALANCE), "multiple of 6"),
        ({}, LaunchPlan(apart=True), "The study has no quota groups"),
    ],
)
def test_blocking_checks_say_how_to_fix_them(prolific, overrides, plan, words):
    study = make_recruiting(**overrides)
    launch.save_plan(study_id=study.pk, plan=plan)

    with pytest.raises(LaunchRefused, match=words):
        launch.launch(study_id=study.pk)

    assert prolific.world.studies == {}


def test_pay_below_the_minimum_and_another_currency_than_the_accounts_block(prolific):
    study = make_recruiting()
    study.reward = 200
    study.save()
    with pytest.raises(LaunchRefused, match="minimum"):
        launched(study)

    prolific.world.currency = "GBP"
    with pytest.raises(LaunchRefused, match="pays in GBP"):
        launched(make_recruiting())


def test_places_are_those_of_the_groups_and_other_places_of_the_plan_block(prolific):
    study = with_quotas(make_recruiting(), each=2)
    assert places_of(LaunchPlan(), study) == 12

    with pytest.raises(LaunchRefused, match="have 12 places, but the launch plan has 6"):
        launched(study, LaunchPlan(places=6))


def grouped(targets, *, rest=0, questions=(GENDER,), **overrides):
    """A study with these places, by the values of its questions."""
    study = make_recruiting(**overrides)
    groups = grid(list(questions), targets) + ([Quota(rest)] if rest else [])
    set_quotas(study_id=study.pk, questions=questions, groups=groups)
    return study


def place_checks_of(study, plan):
    checks = place_checks(study, plan, places_of(plan, study))
    return {(check.text, check.is_open, check.blocks) for check in checks}


def test_unequal_groups_are_sent_as_their_numbers_of_places(prolific):
    study = grouped({("woman",): 6, ("man",): 4}, items=10)
    plan = LaunchPlan(balance={"sex": ["Male", "Female"]})

    launched(study, plan)

    (sent,) = prolific.world.studies.values()
    (balance,) = [one for one in sent["filters"] if "weightings" in one]
    live = {one.id: one for one in connect(study.pk).filters(workspace=WORKSPACE)}["sex"]
    named = {live.choices[key]: weight for key, weight in balance["weightings"].items()}
    assert named == {"Male": 4, "Female": 6}
    assert sent["total_available_places"] == 10


def test_crossed_groups_are_sent_by_their_shares_only_if_those_multiply(prolific):
    several = {"questions": (GENDER, POLITICS), "items": 18}
    product = {
        (gender, party): many * few
        for gender, many in (("woman", 2), ("man", 1))
        for party, few in (("democrat", 3), ("republican", 2), ("independent", 1))
    }
    plan = LaunchPlan(balance=BALANCE)
    fits = grouped(product, **several)
    assert shares_of(plan, list(fits.quota_groups.all())).weights == {
        "sex": {"Male": 6, "Female": 12},
        "us-political-affiliation": {"Democrat": 9, "Republican": 6, "Independent": 3},
    }
    assert not shares_of(plan, list(fits.quota_groups.all())).problem
    skewed = grouped(product | {("woman", "democrat"): 4, ("man", "democrat"): 5}, **several)

    with pytest.raises(
        LaunchRefused, match="“Male, Democrat” it would send 4 participants, and the group has 5"
    ):
        launched(skewed, plan)

    assert prolific.world.studies == {}


def test_a_choice_on_prolific_that_no_group_has_places_for_is_refused(prolific):
    study = grouped({("woman",): 6}, items=6)

    with pytest.raises(LaunchRefused, match="recruits “Male”, but no quota group has places"):
        launched(study, LaunchPlan(balance={"sex": ["Male", "Female"]}))


def test_places_for_everyone_else_are_named_once_and_do_not_block(prolific):
    """Eighteen places in six groups and two for everyone else: twenty, as the items need."""
    each = {(g, p): 3 for g in GENDER.options for p in POLITICS.options}
    study = grouped(each, rest=2, questions=(GENDER, POLITICS), items=20)
    plan = LaunchPlan(balance=BALANCE)

    said = place_checks_of(study, plan)

    assert places_of(plan, study) == 18
    assert (
        "The quota groups that Prolific’s filters fill have 18 places. 2 more are for participants "
        "whose answers here match no filter of the launch plan (everyone else).",
        False,
        True,
    ) in said
    assert not [text for text, is_open, blocks in said if is_open and blocks]
    launched(study, plan)
    wrong = place_checks_of(study, LaunchPlan(places=20, balance=BALANCE))
    (text,) = [text for text, is_open, blocks in wrong if is_open and blocks]
    assert "have 18 places, but the launch plan has 20. Enter 18 places" in text


def test_an_address_that_people_cannot_reach_blocks(prolific, settings):
    study = make_recruiting()
    client_url = settings.PROLIFIC_BASE_URL
    settings.PROLIFIC_BASE_URL = client_url.replace("127.0.0.1", "127.0.0.2")

    with pytest.raises(ProlificError):
        launched(study)
    assert prolific.world.studies == {}


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("fault", ["429", "500", "dropped_before", "dropped_after", "malformed"])
def test_no_fault_makes_a_second_draft(prolific, fault):
    study = make_recruiting()
    launch.save_plan(study_id=study.pk, plan=LaunchPlan())
    prolific.fault("POST", "studies/", fault)

    with suppress(ProlificError):
        launch.launch(study_id=study.pk)
    (row,) = launch.launch(study_id=study.pk)

    assert list(prolific.world.studies) == [row.prolific_id]


def test_a_crash_between_created_and_stored_finds_the_draft_again(prolific, monkeypatch):
    study = make_recruiting()
    launch.save_plan(study_id=study.pk, plan=LaunchPlan())

    def crash(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(launch, "adopt", crash)
        with pytest.raises(KeyboardInterrupt):
            launch.launch(study_id=study.pk)
    (row,) = launch.launch(study_id=study.pk)

    assert list(prolific.world.studies) == [row.prolific_id]


@pytest.mark.parametrize("study_type", ["any", "required", "refused"])
def test_weighted_filters_work_whether_study_type_is_required_or_refused(prolific, study_type):
    prolific.world.behaviour.study_type = study_type

    launched(make_recruiting(), LaunchPlan(balance=BALANCE))

    assert len(prolific.world.studies) == 1


def test_separately_recruited_groups_get_one_study_each_and_a_common_blocklist(prolific):
    study = with_quotas(make_recruiting(), each=1)
    plan = LaunchPlan(balance=BALANCE, apart=True)
    launch.save_plan(study_id=study.pk, plan=plan)

    rows = launch.launch(study_id=study.pk)

    (group,) = prolific.world.groups
    sent = list(prolific.world.studies.values())
    assert len(rows) == len(sent) == QuotaGroup.objects.count() == 6
    assert {s["total_available_places"] for s in sent} == {1}
    chosen = {
        tuple(f["selected_values"][0] for f in s["filters"] if "group" not in f["filter_id"])
        for s in sent
    }
    assert len(chosen) == 6
    for s in sent:
        assert {"filter_id": "participant_group_blocklist", "selected_values": [group]} in s[
            "filters"
        ]
        assert all(
            {"action": "ADD_TO_PARTICIPANT_GROUP", "participant_group": group} in c["actions"]
            for c in s["completion_codes"]
        )


def test_a_draft_is_forgotten_but_a_published_study_is_not(prolific):
    study = make_recruiting()
    launched(study)
    with pytest.raises(NotAllowed, match="draft already exists"):
        launch.save_plan(study_id=study.pk, plan=LaunchPlan(places=3))

    assert launch.forget_drafts(study_id=study.pk) == 1
    published(study, LaunchPlan(places=6))

    with pytest.raises(NotAllowed, match="Stop it"):
        launch.forget_drafts(study_id=study.pk)


def test_a_wrong_token_is_named_by_its_end_alone(prolific, settings):
    settings.PROLIFIC_API_TOKEN = "a-wrong-token-with-1234"

    with pytest.raises(Unauthorized) as told:
        launched(make_recruiting())

    assert "…1234" in str(told.value)
    assert "wrong-token" not in str(told.value)


def test_actions_on_a_missing_study_do_nothing(prolific):
    study = make_recruiting()

    for attempt in (
        lambda: publication.publish(study_id=study.pk, confirmed="1"),
        lambda: publication.change(study_id=study.pk, action="STOP"),
        lambda: publication.add_places(study_id=study.pk, extra=1),
        lambda: publication.refill(study_id=study.pk),
    ):
        with pytest.raises(NotAllowed, match="Launch it first"):
            attempt()


def test_a_failed_lookup_is_reported_and_leaves_nothing_half_done(prolific):
    study = make_recruiting()
    launch.save_plan(study_id=study.pk, plan=LaunchPlan())
    prolific.fault("POST", "studies/", "dropped_after")
    prolific.fault("GET", "studies/", "502_html")

    with pytest.raises(OutcomeUnknown):
        launch.launch(study_id=study.pk)
    assert ProlificStudy.objects.get().prolific_id is None

    (row,) = launch.launch(study_id=study.pk)
    assert list(prolific.world.studies) == [row.prolific_id]


def test_signed_links_are_asked_for_only_where_the_plan_says_so(prolific):
    plain, signed = (
        launched(make_recruiting()),
        launched(make_recruiting(), LaunchPlan(signed_links=True)),
    )

    sent = prolific.world.studies
    assert "is_external_study_url_secure" not in sent[plain.prolific_id]
    assert sent[signed.prolific_id]["is_external_study_url_secure"] is True


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_people_who_launch_at_the_same_moment_make_one_draft(prolific):
    study = make_recruiting()
    launch.save_plan(study_id=study.pk, plan=LaunchPlan())

    def press(_):
        try:
            launch.launch(study_id=study.pk)
        except NotAllowed:
            return "waited"
        finally:
            connection.close()
        return "made"

    with ThreadPoolExecutor(max_workers=6) as pool:
        outcomes = list(pool.map(press, range(6)))

    assert "made" in outcomes
    assert len(prolific.world.studies) == ProlificStudy.objects.count() == 1


def test_every_ending_has_its_code_and_only_refusal_and_failed_questions_end_without_pay(prolific):
    study = make_recruiting()
    row = launched(study)

    sent = prolific.world.studies[row.prolific_id]["completion_codes"]
    actions = {each["code"]: [a["action"] for a in each["actions"]] for each in sent}
    names = codes_of(study.pk)
    unpaid = {Ending.DECLINED, Ending.DISQUALIFIED}
    assert {ending: actions[code] for ending, code in names.items() if code in actions} == {
        ending: ["REQUEST_RETURN" if ending in unpaid else "MANUALLY_REVIEW"]
        for ending, code in names.items()
        if code in actions
    }
    assert len(actions) == 9


def test_a_workspace_with_screen_outs_pays_people_who_are_turned_away(prolific):
    study = make_recruiting()
    row = published(study, LaunchPlan(screen_out_pay=20, screen_out_slots=1))
    person, other = (prolific.world.arrive(row.prolific_id) for _ in range(2))
    code = codes_of(study.pk)[Ending.INELIGIBLE]

    first = prolific.world.finish(person["submission"], code)
    second = prolific.world.finish(other["submission"], code)

    assert (first.status, second.status) == ("SCREENED OUT", "AWAITING REVIEW")
    assert prolific.world.studies[row.prolific_id]["status"] == "PAUSED"


@pytest.mark.parametrize(
    ("pay", "slots", "blocks"),
    [(20, 5, False), (13, 5, True), (450, 5, True), (20, None, True), (None, 5, True)],
)
def test_the_pay_of_a_screen_out_has_limits(pay, slots, blocks, prolific):
    study = make_recruiting()
    launch.save_plan(study_id=study.pk, plan=LaunchPlan(screen_out_pay=pay, screen_out_slots=slots))

    looked = launch.check_launch(study)

    found = [check for check in looked.checks if "turned away" in check.text]
    assert [check.is_open and check.blocks for check in found] == [blocks]


def test_people_of_related_studies_are_kept_away_before_they_take_a_place(prolific):
    earlier = published(make_recruiting())
    study = make_recruiting()
    set_related_studies(study_id=study.pk, related_ids=[earlier.study_id])

    row = published(study)

    (chosen,) = prolific.world.studies[row.prolific_id]["filters"]
    assert chosen == {
        "filter_id": "previous_studies_blocklist",
        "selected_values": [earlier.prolific_id],
    }
