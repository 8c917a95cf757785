"""A dry run makes drafts, compares them, and leaves nothing behind, however it ends."""

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.models import ProlificStudy
from annotation.prolific.api.transport import LaunchRefused, ProlificError, ProlificRejected
from annotation.prolific.launch import launch
from annotation.prolific.launch.launch_plan import LaunchPlan
from annotation.seats.quotas import set_quotas
from extras.prolific_tools import dry_run as rehearsal
from extras.prolific_tools.dry_run import compare, dry_run
from tests.annotation.grids import grid
from tests.annotation.prolific.life import BALANCE, GENDER, launched, make_recruiting
from tests.annotation.prolific.payloads import study_payload

pytestmark = pytest.mark.django_db


@pytest.fixture
def planned(prolific):
    """A study with two groups apart, so that drafts and a participant group are made."""
    study = make_recruiting()
    groups = grid([GENDER], {("woman",): 3, ("man",): 3})
    set_quotas(study_id=study.pk, questions=[GENDER], groups=groups)
    plan = LaunchPlan(balance={"sex": ["Male", "Female"]}, apart=True)
    launch.save_plan(study_id=study.pk, plan=plan)
    return study


def is_empty(world) -> bool:
    return not world.studies and not world.groups


def test_a_dry_run_sends_what_a_launch_sends_and_deletes_it(prolific):
    study = make_recruiting()
    plan = LaunchPlan(country="United States", age_low=18, age_high=75, balance=BALANCE)
    launch.save_plan(study_id=study.pk, plan=plan)

    found = dry_run(study_id=study.pk)

    (draft,) = found.drafts
    assert found.is_clean
    assert draft.cost == 3780
    assert is_empty(prolific.world)
    assert prolific.world.balance == 10_000_000
    assert not ProlificStudy.objects.exists()
    row = launched(study, plan)
    sent = prolific.world.studies[row.prolific_id]
    assert set(draft.same) <= set(sent)
    assert {"filters", "completion_codes", "project", "reward", "name"} <= set(draft.same)


def test_a_dry_run_shows_every_request(prolific):
    study = make_recruiting()
    launch.save_plan(study_id=study.pk, plan=LaunchPlan(country="United States"))
    prolific.requests.clear()

    found = dry_run(study_id=study.pk)

    sent = [f"{one.method} {one.path.partition('?')[0]}" for one in found.requests]
    assert sent == prolific.requests
    (draft,) = [one for one in found.requests if (one.method, one.path) == ("POST", "studies/")]
    assert '"selected_values"' in draft.body
    assert found.is_clean


def test_what_prolific_drops_or_changes_is_shown(prolific, monkeypatch):
    study = make_recruiting()
    launch.save_plan(study_id=study.pk, plan=LaunchPlan(country="United States"))
    create = prolific.world.create_study

    def spoil(body):
        return create({**body, "filters": [], "reward": 500, "name": "Other"})

    monkeypatch.setattr(prolific.world, "create_study", spoil)

    found = dry_run(study_id=study.pk)

    assert not found.is_clean
    differing = {one.name: (one.sent, one.read) for one in found.drafts[0].differences}
    assert differing.keys() == {"filters", "reward", "name"}
    assert differing["reward"] == ("450", "500")
    assert is_empty(prolific.world)


def test_separate_groups_are_all_tried_and_their_participant_group_is_deleted(prolific, planned):
    found = dry_run(study_id=planned.pk)

    assert len(found.drafts) == 2
    assert found.is_clean
    assert is_empty(prolific.world)
    assert len(launch.launch(study_id=planned.pk)) == 2
    group = list(prolific.world.groups)
    assert dry_run(study_id=planned.pk).is_clean  # beside the real drafts
    assert list(prolific.world.groups) == group
    assert len(prolific.world.studies) == 2


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("method", "path", "fault"),
    [
        ("GET", "filters/", "500"),
        ("POST", "studies/", "dropped_after"),
        ("GET", "/cost/", "404"),
        ("DELETE", "studies/", "dropped_before"),
        ("POST", "participant-groups/", "malformed"),
        ("DELETE", "participant-groups/", "500"),
    ],
)
def test_no_fault_leaves_a_draft_behind(method, path, fault, prolific, planned):
    """Whatever fails: nothing stays, or what stays is named and the next dry run deletes it."""
    prolific.fault(method, path, fault)

    told = ""
    try:
        found = dry_run(study_id=planned.pk)
        told = " ".join(found.left_behind)
    except ProlificError as error:
        told = str(error)
    assert is_empty(prolific.world) or "thirdperson-" in told, told

    prolific.faults.clear()
    assert dry_run(study_id=planned.pk).is_clean
    assert is_empty(prolific.world)


def test_drafts_left_by_a_kill_are_deleted_by_the_next_run(prolific, planned, monkeypatch):
    def killed(*args, **kwargs):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(rehearsal, "_clean", lambda *args, **kwargs: None)
        patch.setattr(rehearsal, "compare", killed)
        with pytest.raises(KeyboardInterrupt):
            dry_run(study_id=planned.pk)
    assert len(prolific.world.studies) == 1

    assert dry_run(study_id=planned.pk).is_clean
    assert is_empty(prolific.world)


def test_drafts_of_others_and_of_launches_are_never_deleted(prolific):
    study, other = make_recruiting(), make_recruiting()
    row = launched(study)
    launch.save_plan(study_id=other.pk, plan=LaunchPlan())
    client = launch.connect(study.pk)
    mine = client.create_study(study_payload(internal_name="thirdperson-dry-run-of-somebody"))

    dry_run(study_id=other.pk)
    dry_run(study_id=study.pk)

    assert set(prolific.world.studies) == {row.prolific_id, mine.id}


def test_refusals_are_shown_in_prolifics_words(prolific):
    study = make_recruiting()
    study.reward = 1
    study.save()

    with pytest.raises(ProlificRejected, match="Below the minimum pay"):
        dry_run(study_id=study.pk)
    launch.save_plan(study_id=study.pk, plan=LaunchPlan(country="Atlantis"))
    with pytest.raises(LaunchRefused, match="Atlantis"):
        dry_run(study_id=study.pk)

    assert is_empty(prolific.world)


def test_numbers_order_and_defaults_are_no_differences():
    sent = study_payload(
        device_compatibility=[],
        submissions_config={"auto": 1},
        filters=[
            {"filter_id": "age", "selected_range": {"lower": 18, "upper": 75}},
            {"filter_id": "sex", "selected_values": ["0", "1"], "weightings": {"0": 1, "1": 1}},
        ],
    )
    read = sent | {
        "reward": 450.0,
        "description": "<p>Read  and choose.</p> ",
        "status": "UNPUBLISHED",
        "device_compatibility": ["mobile", "desktop", "tablet"],
        "submissions_config": {
            "auto": 1,
            "max_submissions_per_participant": 1,
            "max_concurrent_submissions": -1,
        },
        "filters": [
            {"filter_id": "sex", "selected_values": ["1", "0"], "weightings": {"0": 1.0, "1": 1.0}},
            {"filter_id": "age", "selected_range": {"lower": 18.0, "upper": 75.0}},
        ],
        "completion_codes": [{**sent["completion_codes"][0], "actor": "participant"}],
    }
    del read["internal_name"]

    same, differences, unseen = compare(sent, read)

    assert (differences, unseen) == ([], ["internal_name"])
    assert len(same) == len(sent) - 1
    read["completion_codes"] = []
    assert [d.name for d in compare(sent, read)[1]] == ["completion_codes"]


def test_the_command_shows_differences_and_fails_on_them(prolific, study, capsys, monkeypatch):
    call_command("prolific", "launch", study.slug, "--country", "United States", "--dry-run")
    shown = capsys.readouterr().out
    assert "Dry run in workspace “Simulated workspace”, project “Project”." in shown
    assert "POST studies/" in shown
    assert "Publishing would cost $37.80." in shown
    assert "Nothing was published" in shown

    create = prolific.world.create_study
    monkeypatch.setattr(
        prolific.world, "create_study", lambda body: create({**body, "filters": []})
    )
    with pytest.raises(CommandError, match="See the differences above"):
        call_command("prolific", "launch", study.slug, "--dry-run")
    assert "filters differs: sent" in capsys.readouterr().out
    assert is_empty(prolific.world)


def test_the_page_has_a_button_and_shows_what_came_back(prolific, study, client):
    client.force_login(User.objects.create_superuser("ada"))
    launch_page = reverse("people:prolific-launch", args=[study.slug])
    assert "Start dry run" in client.get(launch_page).content.decode()

    page = client.post(reverse("prolific_tools:dry-run", args=[study.slug])).content.decode()

    assert "Prolific stored every field as sent" in page
    prolific.fault("POST", "studies/", "401")
    failed = client.post(reverse("prolific_tools:dry-run", args=[study.slug]), follow=True)
    assert "does not accept the token" in failed.content.decode()
    assert is_empty(prolific.world)
