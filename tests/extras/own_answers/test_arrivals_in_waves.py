"""Waves of people who came by an open link or from Prolific."""

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotation import services
from annotation.models import Recruitment
from annotation.prolific.api.transport import NotAllowed
from annotation.prolific.launch.launch_plan import LaunchPlan
from extras.own_answers.waves import invite_people, next_wave
from extras.own_answers.waves_on_prolific import invite_on_prolific, longitudinal_project
from studies.models import Study
from tests.annotation.prolific.conftest import prolific  # noqa: F401  a fixture
from tests.annotation.prolific.life import arrive, finish, make_recruiting, published
from tests.factories import answer_all, make_items, make_study

pytestmark = pytest.mark.django_db


def test_an_open_link_shows_each_person_their_own_link_to_the_next_wave():
    study = make_study(slug="one", entry="link", items_per_annotator=1)
    make_items(study, 1)
    browser = Client()
    annotator = services.enter_by_link(study_id=study.pk)
    services.consent(annotator_id=annotator.pk, version="v1")
    services.finish_instructions(annotator_id=annotator.pk)
    answer_all(annotator)
    services.complete(annotator_id=annotator.pk)
    made = next_wave(study_id=study.pk, slug="two")
    invite_people(wave_id=made.wave.pk)
    Study.objects.filter(pk=made.pk).update(state=Study.State.OPEN)
    made.refresh_from_db()

    browser.post("/s/one/", {"code": annotator.resume_code}, follow=True)
    page = browser.get("/s/one/done/").content.decode()
    key = page.split("/s/two/?PROLIFIC_PID=")[1].split('"')[0].split("<")[0]
    again = services.enter(study=made, pid=key)

    assert made.entry == "list"
    assert again.pseudonym == annotator.pseudonym
    assert annotator.resume_code not in key


def test_prolific_admits_only_the_group_of_those_who_completed(prolific):  # noqa: F811
    study = make_recruiting(entry="prolific")
    row = published(study)
    for _ in range(2):
        finish(prolific, *arrive(prolific, row))
    made = next_wave(study_id=study.pk, slug="two", items="other")

    for expected in ((2, 0), (0, 2)):
        found = invite_on_prolific(wave_id=made.wave.pk)
        assert (found.added, found.known) == expected

    plan = Recruitment.objects.get(study=made).plan
    [allowed] = plan["filters"]
    assert allowed["filter"] == "participant_group_allowlist"
    assert plan["places"] == 2


@pytest.mark.parametrize(
    ("token", "says"), [("", "no token for Prolific"), ("wrong", "token"), ("right", "Nobody who")]
)
def test_a_wave_that_cannot_be_invited_leaves_no_draft(prolific, settings, token, says):  # noqa: F811
    study = make_recruiting(entry="prolific")
    row = published(study)
    if token == "right":
        assert not Study.objects.get(pk=study.pk).annotators.exists()
    else:
        finish(prolific, *arrive(prolific, row))
        settings.PROLIFIC_API_TOKEN = token
    log = study.log.count()

    with pytest.raises(CommandError, match=f"{says}.* No draft was created"):
        call_command("link_study", study.slug, "--new", "two", "--invite", wave="other")

    assert not Study.objects.filter(slug="two").exists()
    assert study.log.count() == log


def test_a_wave_is_created_and_invited_by_one_command(prolific, capsys):  # noqa: F811
    study = make_recruiting(entry="prolific")
    finish(prolific, *arrive(prolific, published(study)))

    call_command("link_study", study.slug, "--new", "two", "--invite", wave="other")

    assert "Invited: 1." in capsys.readouterr().out


def test_the_waves_of_a_longitudinal_project_are_in_it(prolific, client):  # noqa: F811
    study = make_recruiting(entry="prolific", slug="one")
    client.force_login(User.objects.create_superuser("ada"))
    page = reverse("own_people:waves", args=["one"])

    assert "A longitudinal project" in client.get(page).content.decode()
    for retention in ("101", "80", "80"):
        client.post(page, {"action": "project", "completions": "40", "retention": retention})
    row = published(study, LaunchPlan.of(Recruitment.objects.get().plan))
    finish(prolific, *arrive(prolific, row))
    made = next_wave(study_id=study.pk, slug="two")
    invite_on_prolific(wave_id=made.wave.pk)

    [project] = [each for each in prolific.world.projects.values() if each["is_longitudinal"]]
    config = {"target_completions": 40, "retention_rate": 0.8}
    assert project["longitudinal"] == {"config": config, "retention": {}}
    assert prolific.world.studies[row.prolific_id]["project"] == project["id"]
    assert Recruitment.objects.get(study=made).plan["project"] == project["id"]
    assert "A longitudinal project" not in client.get(page).content.decode()
    with pytest.raises(NotAllowed, match="is on Prolific already"):
        longitudinal_project(study_id=study.pk, completions=1, retention=1)


def test_a_project_that_prolific_did_not_make_longitudinal_is_not_used(prolific, monkeypatch):  # noqa: F811
    study = make_recruiting(entry="prolific")
    add = prolific.world.add_project
    monkeypatch.setattr(prolific.world, "add_project", lambda at, title, _=None: add(at, title))

    with pytest.raises(NotAllowed, match="no longitudinal project"):
        longitudinal_project(study_id=study.pk, completions=40, retention=80)

    assert not Recruitment.objects.get().plan.get("project")
