"""Extras of a study: off until wanted, by page, command, API, file and preset."""

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from studies.errors import ExtraNeeded
from studies.extra import extras_for_studies
from studies.models import Study, StudyLog
from studies.pages.workbench import section_pages
from studies.services import settings as settings_service
from studies.services.extras import set_extras, turn_on, turned_on_at
from studies.services.studies import create_study
from tests.factories import make_study

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def as_installed(settings):
    """A new study begins as it does in an installation."""
    settings.EXTRAS_OF_NEW_STUDIES = []


@pytest.fixture
def study(client, django_user_model) -> Study:
    owner = django_user_model.objects.create_user("ada")
    client.force_login(owner)
    return create_study(slug="one", owner=owner, title="One")


def press(client, name, **fields):
    return client.post("/studies/one/settings/extras/", {"extra": name, **fields}, follow=True)


def titles(study):
    return {page.title for page in section_pages.of(study)}


def test_a_study_begins_with_none_and_shows_no_page_of_one(study):
    assert study.extras == []
    assert not study.has_extra("certificates")
    assert study.has_extra("sample")  # of the installation
    assert not {"Certificates", "Graded answers", "Waves"} & titles(study)


def test_a_press_turns_one_on_and_off_and_its_rows_are_kept(client, study):
    page = press(client, "certificates", on="1")
    study.refresh_from_db()
    assert study.extras == ["certificates"]
    assert "Certificates" in titles(study)
    assert "is on." in page.content.decode()

    press(client, "certificates")
    study.refresh_from_db()
    assert study.extras == []
    assert [
        row.detail["after"]["extras"]
        for row in StudyLog.objects.filter(event=settings_service.SETTINGS_CHANGED).order_by("pk")
    ] == [["certificates"], []]


def test_the_page_of_one_that_is_off_says_what_it_is_and_a_press_turns_it_on(client, study):
    address = reverse("certificates:list", args=["one"])

    seen = client.get(address)
    refused = client.post(address)

    assert (seen.status_code, refused.status_code) == (200, 409)
    assert extras_for_studies()["certificates"].summary in seen.content.decode()
    press(client, "certificates", on="1")
    assert "is off in this study" not in client.get(address).content.decode()


def test_strangers_do_not_learn_whether_a_study_exists(client, study, django_user_model):
    client.force_login(django_user_model.objects.create_user("stranger"))

    assert client.get("/studies/one/settings/extras/").status_code == 404
    assert client.get(reverse("certificates:list", args=["one"])).status_code == 404
    assert press(client, "certificates", on="1").status_code == 404


def test_an_unknown_name_is_refused_with_the_list(client, study):
    assert press(client, "certificate", on="1").status_code == 404
    with pytest.raises(
        CommandError, match=r"There is no extra “certificate”\. Use names of: advice"
    ):
        call_command("extras", "one", "--on", "certificate")
    with pytest.raises(CommandError, match="There is no extra “certificate”"):
        call_command("create_study", "two", "--extra", "certificate")
    study.refresh_from_db()
    assert study.extras == []


def test_commands_turn_on_and_off_and_list(study, capsys):
    call_command("extras", "one", "--on", "rules", "--on", "graded")
    call_command("extras", "one", "--off", "graded")

    study.refresh_from_db()
    assert study.extras == ["rules"]
    assert "on   rules" in capsys.readouterr().out
    call_command("create_study", "two", "--draft", "--extra", "rules")
    assert Study.objects.get(slug="two").extras == ["rules"]


def test_what_has_to_end_first_is_said_and_nothing_is_turned_off(study, monkeypatch):
    set_extras(study, ["packs"])
    needs = [lambda study, names: ["End the batch first."] if "packs" in names else []]
    monkeypatch.setattr(settings_service, "NEEDED", needs)

    with pytest.raises(ExtraNeeded, match=r"End the batch first\."):
        set_extras(Study.objects.get(), [])
    assert Study.objects.get().extras == ["packs"]


def test_turning_on_again_says_nothing_and_writes_nothing(study):
    assert turn_on(study, "rules", "") == ["Turned on for this study: Rules of disagreement."]
    assert turn_on(study, "rules") == []
    assert list(turned_on_at(study)) == ["rules"]


def test_a_setting_of_an_extra_turns_it_on():
    plain = create_study(slug="plain", title="Plain")
    again = create_study(slug="again", title="Again", perspective="own", retest_share=50)

    assert (plain.extras, again.extras) == ([], ["own_answers"])


def test_every_extra_has_a_title_and_a_sentence():
    for extra in extras_for_studies().values():
        assert extra.title[0].isupper()
        assert extra.summary.endswith(".")
        assert len(extra.summary) <= 160


def test_a_study_made_by_a_test_has_all_of_them(settings):
    settings.EXTRAS_OF_NEW_STUDIES = ["all"]

    assert make_study().extras == list(extras_for_studies())
