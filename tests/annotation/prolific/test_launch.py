"""From a plan to a running study: nothing twice, nothing dropped, nothing spent unasked."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from django.db import connection

from annotation.models import ProlificStudy, QuotaCell
from annotation.prolific import launch
from annotation.prolific.account import alone
from annotation.prolific.errors import (
    LaunchRefused,
    NotAllowed,
    NotConfigured,
    OutcomeUnknown,
    ProlificError,
    Unauthorized,
)
from annotation.prolific.filters import Wanted, resolve
from annotation.prolific.plan import PAPER, Plan, needed_places, places_of
from annotation.prolific.types import Filter
from demo import prolific_world
from tests.annotation.prolific.life import (
    BALANCE,
    launched,
    make_recruiting,
    published,
    with_quotas,
)

pytestmark = pytest.mark.django_db

FAULTS = [
    "429", "429_wait", "500", "502_html", "401", "404", "dropped_before", "dropped_after",
    "malformed", "empty",
]  # fmt: skip


def test_a_draft_holds_what_the_study_and_the_plan_say(prolific):
    study = make_recruiting()
    plan = Plan(country="United States", approval_rate=99, age_low=18, age_high=75, balance=BALANCE)

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
        "sex": {"0": 1, "1": 1},
        "us-political-affiliation": {"0": 1, "1": 1, "2": 1},
    }


def test_every_ending_has_its_code_and_none_rejects_by_itself(prolific):
    row = launched(make_recruiting())

    codes = {c["code"]: c for c in prolific.world.studies[row.prolific_id]["completion_codes"]}
    kinds = {c["code_type"]: [a["action"] for a in c["actions"]] for c in codes.values()}
    assert len(codes) == 8
    assert kinds["COMPLETED"] == ["MANUALLY_REVIEW"]
    assert kinds["FAILED_ATTENTION_CHECK"] == ["MANUALLY_REVIEW"]
    assert kinds["NO_CONSENT"] == ["REQUEST_RETURN"]


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
    assert set(filters["sex"]["weightings"].values()) == {1}
    assert len(filters["us-political-affiliation"]["weightings"]) == 3
    assert PAPER.groups == 6


@pytest.mark.parametrize(
    ("items", "plan", "places"),
    [(6, Plan(), 6), (7, Plan(), 7), (7, Plan(balance=BALANCE), 12), (6, Plan(places=9), 9)],
)
def test_places_fill_every_seat_and_are_rounded_up_to_the_groups(items, plan, places):
    study = make_recruiting(items=items)

    assert needed_places(study) == items
    assert places_of(plan, study) == places


LIVE = [
    Filter("sex", "Sex", "select", {"7": "Male", "9": "Female"}, None, None),
    Filter("new-id", "U.S. Political Affiliation", "select", {"5": "Democrat"}, None, None),
    Filter("age", "Age", "range", {}, 18, 100),
]


def test_choices_are_found_by_label_whatever_their_id():
    found = resolve([Wanted("sex", ["female", "Male"])], LIVE)

    assert found.filters == [{"filter_id": "sex", "selected_values": ["9", "7"]}]


def test_a_filter_with_a_new_id_is_found_by_its_title():
    found = resolve([Wanted("us-political-affiliation", ["Democrat"])], LIVE)

    assert found.filters == [{"filter_id": "new-id", "selected_values": ["5"]}]


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (Wanted("sex", ["Male", "Other"]), "no choice “Other”"),
        (Wanted("handedness", ["Left"]), "no filter “handedness”"),
        (Wanted("age", low=10), "from 18 to 100"),
        (Wanted("age", low=60, high=20), "from 18 to 100"),
        (Wanted("sex", low=1), "takes no range"),
    ],
)
def test_what_the_live_list_does_not_have_is_a_problem_and_never_dropped(wanted, words):
    found = resolve([wanted], LIVE)

    assert found.filters == []
    assert words in found.problems[0]


def test_a_launch_with_an_unknown_label_is_refused_before_anything_is_made(prolific):
    study = make_recruiting()
    launch.save_plan(study_id=study.pk, plan=Plan(country="Atlantis"))

    with pytest.raises(LaunchRefused, match="Atlantis"):
        launch.launch(study_id=study.pk)

    assert prolific.world.studies == {}
    assert not ProlificStudy.objects.exists()


@pytest.mark.parametrize(
    ("overrides", "plan", "words"),
    [
        ({"entry": "link"}, Plan(), "entered through Prolific"),
        ({"items": 0}, Plan(), "Import items"),
        ({}, Plan(places=7, balance=BALANCE), "multiple of 6"),
        ({}, Plan(apart=True), "no groups to recruit apart"),
    ],
)
def test_what_blocks_a_launch_says_how_to_mend_it(prolific, overrides, plan, words):
    study = make_recruiting(**overrides)
    launch.save_plan(study_id=study.pk, plan=plan)

    with pytest.raises(LaunchRefused, match=words):
        launch.launch(study_id=study.pk)

    assert prolific.world.studies == {}


def test_pay_below_the_minimum_blocks(prolific):
    study = make_recruiting()
    study.reward = 200
    study.save()

    with pytest.raises(LaunchRefused, match="minimum"):
        launched(study)


def test_another_currency_than_the_accounts_blocks(prolific):
    prolific.world.currency = "GBP"

    with pytest.raises(LaunchRefused, match="pays in GBP"):
        launched(make_recruiting())


def test_groups_that_do_not_sum_to_the_places_block(prolific):
    study = with_quotas(make_recruiting(), each=2)

    with pytest.raises(LaunchRefused, match="hold 12 places, the plan asks for 6"):
        launched(study)


def test_an_address_that_people_cannot_reach_blocks(prolific, settings):
    study = make_recruiting()
    client_url = settings.PROLIFIC_BASE_URL
    settings.PROLIFIC_BASE_URL = client_url.replace("127.0.0.1", "127.0.0.2")

    with pytest.raises(ProlificError):
        launched(study)
    assert prolific.world.studies == {}


def test_launching_again_makes_no_second_draft(prolific):
    study = make_recruiting()
    first = launched(study)

    assert launch.launch(study_id=study.pk) == [first]
    assert len(prolific.world.studies) == 1


@pytest.mark.parametrize("fault", FAULTS)
def test_no_fault_makes_a_second_draft(prolific, fault):
    study = make_recruiting()
    launch.save_plan(study_id=study.pk, plan=Plan())
    prolific.fault("POST", "studies/", fault)

    with suppress(ProlificError):
        launch.launch(study_id=study.pk)
    (row,) = launch.launch(study_id=study.pk)

    assert list(prolific.world.studies) == [row.prolific_id]


def test_a_crash_between_created_and_stored_finds_the_draft_again(prolific, monkeypatch):
    study = make_recruiting()
    launch.save_plan(study_id=study.pk, plan=Plan())

    def crash(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(launch, "_adopt", crash)
        with pytest.raises(KeyboardInterrupt):
            launch.launch(study_id=study.pk)
    (row,) = launch.launch(study_id=study.pk)

    assert list(prolific.world.studies) == [row.prolific_id]


def test_two_launches_at_once_make_one_draft(prolific):
    study = make_recruiting()
    launch.save_plan(study_id=study.pk, plan=Plan())

    with alone(study.pk), pytest.raises(NotAllowed, match="right now"):
        launch.launch(study_id=study.pk)

    assert prolific.world.studies == {}


@pytest.mark.parametrize("study_type", ["any", "required", "refused"])
def test_weighted_filters_work_whether_study_type_is_required_or_refused(prolific, study_type):
    prolific.world.behaviour.study_type = study_type

    launched(make_recruiting(), Plan(balance=BALANCE))

    assert len(prolific.world.studies) == 1


def test_groups_recruited_apart_get_a_study_each_and_a_common_blocklist(prolific):
    study = with_quotas(make_recruiting(), each=1)
    plan = Plan(balance=BALANCE, apart=True)
    launch.save_plan(study_id=study.pk, plan=plan)

    rows = launch.launch(study_id=study.pk)

    (group,) = prolific.world.groups
    sent = list(prolific.world.studies.values())
    assert len(rows) == len(sent) == QuotaCell.objects.count() == 6
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


def test_publishing_needs_the_sum_typed(prolific):
    study = make_recruiting()
    row = launched(study)
    total = launch.cost_of_publishing(study)

    for typed in ("", "yes", "1.00", total.plain + "0"):
        with pytest.raises(NotAllowed, match="to confirm"):
            launch.publish(study_id=study.pk, confirmed=typed)
    assert prolific.world.studies[row.prolific_id]["status"] == "UNPUBLISHED"

    launch.publish(study_id=study.pk, confirmed=f"${total.plain}")

    assert total.amount == 2700 + 900 + 180
    assert prolific.world.show_study(row.prolific_id)["status"] == "ACTIVE"


def test_a_study_that_takes_no_answers_is_not_published(prolific):
    study = make_recruiting(state="draft")
    launched(study)

    with pytest.raises(NotAllowed, match="Open it"):
        launch.publish(study_id=study.pk, confirmed="37.80")


def test_a_draft_whose_targeting_was_dropped_is_not_published(prolific):
    study = make_recruiting()
    row = launched(study, Plan(country="United States"))
    prolific.world.studies[row.prolific_id]["filters"] = []

    with pytest.raises(LaunchRefused, match="filters on Prolific are not those"):
        launch.publish(study_id=study.pk, confirmed=launch.cost_of_publishing(study).plain)

    assert prolific.world.studies[row.prolific_id]["status"] == "UNPUBLISHED"


def test_a_choice_that_changed_its_id_since_the_draft_stops_publishing(prolific, monkeypatch):
    study = make_recruiting()
    launched(study, Plan(country="United States"))
    moved = [dict(f) for f in prolific_world.FILTERS]
    moved[0]["choices"] = {"0": "United Kingdom", "77": "United States", "1": "Uruguay"}
    monkeypatch.setattr("demo.prolific_server.FILTERS", moved)

    with pytest.raises(LaunchRefused, match="not those of the plan"):
        launch.publish(study_id=study.pk, confirmed=launch.cost_of_publishing(study).plain)


@pytest.mark.parametrize("fault", FAULTS)
def test_no_fault_publishes_twice_or_hides_that_it_was_published(prolific, fault):
    study = make_recruiting()
    row = launched(study)
    total = launch.cost_of_publishing(study)
    balance = prolific.world.balance
    prolific.fault("POST", "transition/", fault)

    try:
        launch.publish(study_id=study.pk, confirmed=total.plain)
    except ProlificError:
        launch.publish(study_id=study.pk, confirmed=total.plain)
    launch.publish(study_id=study.pk, confirmed=total.plain)

    row.refresh_from_db()
    assert row.status in ("PUBLISHING", "ACTIVE")
    assert prolific.world.balance == balance - total.amount


@pytest.mark.parametrize("stop", ["COMPLETED", "AWAITING REVIEW"])
def test_a_study_is_paused_started_and_stopped(prolific, stop):
    prolific.world.behaviour.stop = stop
    study = make_recruiting()
    row = published(study)

    for action, status in (("PAUSE", "PAUSED"), ("START", "ACTIVE"), ("STOP", stop)):
        launch.change(study_id=study.pk, action=action)
        row.refresh_from_db()
        assert row.status == status

    with pytest.raises(NotAllowed, match="nothing to pause"):
        launch.change(study_id=study.pk, action="PAUSE")


def test_places_are_added_to_what_prolific_holds(prolific):
    study = make_recruiting()
    row = published(study)
    prolific.world.patch_study(row.prolific_id, {"total_available_places": 8})

    added = launch.add_places(study_id=study.pk, extra=2)

    assert added.places == prolific.world.studies[row.prolific_id]["total_available_places"] == 10


@pytest.mark.parametrize("fault", ["dropped_after", "malformed", "empty"])
def test_places_whose_answer_was_lost_are_added_once(prolific, fault):
    study = make_recruiting()
    row = published(study)
    prolific.fault("PATCH", "studies/", fault)

    launch.add_places(study_id=study.pk, extra=2)

    assert prolific.world.studies[row.prolific_id]["total_available_places"] == 8


def test_a_draft_is_forgotten_but_a_published_study_is_not(prolific):
    study = make_recruiting()
    launched(study)
    with pytest.raises(NotAllowed, match="draft is made"):
        launch.save_plan(study_id=study.pk, plan=Plan(places=3))

    assert launch.forget_drafts(study_id=study.pk) == 1
    published(study, Plan(places=6))

    with pytest.raises(NotAllowed, match="Stop it"):
        launch.forget_drafts(study_id=study.pk)


def test_without_a_token_the_launch_says_what_to_set(settings):
    settings.PROLIFIC_API_TOKEN = ""

    with pytest.raises(NotConfigured, match="PROLIFIC_API_TOKEN"):
        launched(make_recruiting())


def test_a_wrong_token_is_named_by_its_end_alone(prolific, settings):
    settings.PROLIFIC_API_TOKEN = "a-wrong-token-with-1234"

    with pytest.raises(Unauthorized) as told:
        launched(make_recruiting())

    assert "…1234" in str(told.value)
    assert "wrong-token" not in str(told.value)


def test_nothing_is_done_to_a_study_that_is_not_there(prolific):
    study = make_recruiting()

    for attempt in (
        lambda: launch.publish(study_id=study.pk, confirmed="1"),
        lambda: launch.change(study_id=study.pk, action="STOP"),
        lambda: launch.add_places(study_id=study.pk, extra=1),
        lambda: launch.refill(study_id=study.pk),
    ):
        with pytest.raises(NotAllowed, match="Launch it first"):
            attempt()


def test_a_lookup_that_fails_too_tells_so_and_leaves_nothing_half_done(prolific):
    study = make_recruiting()
    launch.save_plan(study_id=study.pk, plan=Plan())
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
        launched(make_recruiting(), Plan(signed_links=True)),
    )

    sent = prolific.world.studies
    assert "is_external_study_url_secure" not in sent[plain.prolific_id]
    assert sent[signed.prolific_id]["is_external_study_url_secure"] is True


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_people_who_launch_at_the_same_moment_make_one_draft(prolific):
    study = make_recruiting()
    launch.save_plan(study_id=study.pk, plan=Plan())

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
