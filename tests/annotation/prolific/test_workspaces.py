"""One workspace is chosen, its name shown, and its wallet pays; pay and balance are only advice."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.models import ProlificStudy, Recruitment
from annotation.prolific.api.balance import Account
from annotation.prolific.api.transport import (
    ChooseWorkspace,
    LaunchRefused,
    NotAllowed,
    ProlificError,
)
from annotation.prolific.launch import launch, publication
from annotation.prolific.launch.launch_plan import LaunchPlan
from annotation.prolific.sync.sync import follow
from demo.prolific.records import WORKSPACE
from tests.annotation.prolific.life import (
    BALANCE,
    launched,
    published,
    with_quotas,
)

pytestmark = pytest.mark.django_db
LAB = "2" * 24


@pytest.fixture
def lab(prolific) -> str:
    """A second workspace, with two projects; returns the id of its second project."""
    prolific.world.workspaces.append({"id": LAB, "title": "Paying lab"})
    prolific.world.add_project(LAB, "Old things")
    return prolific.world.add_project(LAB, "Judges")["id"]


@pytest.fixture
def editor(client):
    client.force_login(User.objects.create_superuser("ada"))
    return client


def test_the_named_workspace_pays_and_no_other(prolific, lab, study):
    row = published(study, LaunchPlan(workspace=LAB))

    sent = prolific.world.studies[row.prolific_id]
    assert prolific.world.projects[sent["project"]]["title"] == "Old things"
    assert prolific.world.wallet(LAB) == 10_000_000 - 3780
    assert prolific.world.wallet(WORKSPACE) == 10_000_000
    assert Recruitment.objects.get().workspace["title"] == "Paying lab"


def test_a_project_of_another_workspace_is_refused_with_the_valid_ones(prolific, lab, study):
    with pytest.raises(NotAllowed, match=r"no project .*Its projects: Project"):
        launched(study, LaunchPlan(workspace=WORKSPACE, project=lab))

    assert prolific.world.studies == {}


@pytest.mark.parametrize("fault", ["", "dropped_after", "500"])
def test_a_workspace_without_a_project_gets_one_only_at_the_launch(
    fault, prolific, study, monkeypatch
):
    world = prolific.world
    monkeypatch.setattr(
        world, "projects_of", lambda one: [p for p in world.projects.values() if one]
    )
    if fault:
        prolific.fault("POST", "/projects/", fault)
    looked = launch.check_launch(study)
    assert world.projects == {}
    assert looked.blocking == []

    launch.save_plan(study_id=study.pk, plan=LaunchPlan())
    try:
        launch.launch(study_id=study.pk)
    except ProlificError:
        assert fault == "500"
        launch.launch(study_id=study.pk)

    (project,) = world.projects.values()
    assert project["title"] == "Thirdperson"
    assert {s["project"] for s in world.studies.values()} == {project["id"]}


def test_with_several_workspaces_one_must_be_chosen(prolific, lab, study):
    with pytest.raises(ChooseWorkspace, match=r"Paying lab \(2222"):
        launched(study)
    assert any("several workspaces" in problem for problem in launch.check_launch(study).blocking)
    with pytest.raises(ChooseWorkspace, match="has no access"):
        launched(study, LaunchPlan(workspace="3" * 24))

    assert prolific.world.studies == {}


def test_the_balance_is_that_of_the_workspace_that_pays(prolific, lab, study):
    prolific.world.wallets[LAB] = 100
    launched(study, LaunchPlan(workspace=LAB))

    assert launch.check_launch(study).account.balance == 100
    follow(study_id=study.pk)
    assert Account.of(Recruitment.objects.get().account).balance == 100
    with pytest.raises(NotAllowed, match=r"“Paying lab” is \$1\.00: \$36\.80 are missing"):
        publication.publish(study_id=study.pk, confirmed="37.80")


@pytest.mark.nightly
def test_another_workspace_gets_its_own_participant_group(prolific, lab, study):
    with_quotas(study, each=1)
    plan = {"balance": BALANCE, "apart": True}
    for workspace in (WORKSPACE, LAB):
        launch.save_plan(study_id=study.pk, plan=LaunchPlan(**plan, workspace=workspace))
        launch.launch(study_id=study.pk)
        launch.forget_drafts(study_id=study.pk)

    assert sorted(prolific.world.group_workspaces.values()) == [WORKSPACE, LAB]


def test_a_draft_that_was_moved_to_another_project_is_not_published(prolific, lab, study):
    row = launched(study, LaunchPlan(workspace=LAB))
    first = prolific.world.projects_of(WORKSPACE)[0]["id"]
    prolific.world.studies[row.prolific_id]["project"] = first

    with pytest.raises(LaunchRefused, match="Another workspace may pay"):
        publication.publish(study_id=study.pk, confirmed="37.80")

    assert prolific.world.wallet(WORKSPACE) == 10_000_000


@pytest.mark.parametrize(
    ("path", "fault"), [("reward-recommendations/", "404"), ("balance/", "dropped_after")]
)
def test_unreadable_advice_is_reported_and_blocks_nothing(path, fault, prolific, study):
    def spoil():
        prolific.faults.clear()
        prolific.fault("GET", path, fault, times=99)

    spoil()
    looked = launch.check_launch(study)
    (line,) = [check for check in looked.checks if "could not be read" in check.text]
    assert line.is_open
    assert looked.blocking == []

    row = launched(study)
    publication.publish(study_id=study.pk, confirmed="37.80")
    Recruitment.objects.update(account={})
    follow(study_id=study.pk)

    row.refresh_from_db()
    assert row.status == "ACTIVE"
    (problem,) = Account.of(Recruitment.objects.get().account).problems
    assert "could not be read" in problem


def test_pages_name_the_workspace_and_what_could_not_be_read(prolific, lab, editor, study):
    launch.save_plan(study_id=study.pk, plan=LaunchPlan(workspace=LAB))
    launch_page = editor.get(reverse("people:prolific-launch", args=[study.slug]))
    assert "workspace “Paying lab”, project “Old things”" in launch_page.content.decode()

    launched(study, LaunchPlan(workspace=LAB))
    prolific.fault("GET", "balance/", "404", times=9)
    page = editor.get(reverse("people:prolific-publish", args=[study.slug])).content.decode()
    assert "from the workspace “Paying lab”" in page
    assert "balance could not be read" in page
    follow(study_id=study.pk)
    home = editor.get(reverse("people:prolific", args=[study.slug])).content.decode()
    assert "Workspace: Paying lab. Project: Old things." in home
    assert "balance could not be read" in home


def test_a_draft_from_before_the_choice_is_found_anywhere_in_the_account(prolific, lab, study):
    row = launched(study, LaunchPlan(workspace=LAB))
    first = prolific.world.projects_of(WORKSPACE)[0]["id"]
    prolific.world.studies[row.prolific_id]["project"] = first
    ProlificStudy.objects.update(prolific_id=None)

    launch.launch(study_id=study.pk)

    assert list(prolific.world.studies) == [row.prolific_id]


def test_a_named_project_holds_the_drafts(prolific, lab, study):
    row = launched(study, LaunchPlan(workspace=LAB, project=lab))

    assert prolific.world.studies[row.prolific_id]["project"] == lab


def test_the_project_called_like_the_product_is_preferred(prolific, lab, study):
    ours = prolific.world.add_project(LAB, "Thirdperson")["id"]

    row = launched(study, LaunchPlan(workspace=LAB))

    assert prolific.world.studies[row.prolific_id]["project"] == ours
