"""The settings of second visits, by each way in which a study gets settings."""

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command

from annotation.content.texts import consent_text, template_for
from extras.own_answers.models import SecondVisitSettings
from studies.models import Study, StudyLog
from studies.services.studies import create_study
from studies.services.whole_studies import copy_study, delete_rows
from tests.api.conftest import program
from tests.extras.own_answers.people import bring_back
from tests.factories import make_study
from tests.studies.test_settings_pages import filled

pytestmark = pytest.mark.django_db
SETTINGS = "/studies/s/settings/"


@pytest.fixture
def study() -> Study:
    return make_study(slug="s", state="draft", perspective="own")


def stored(slug: str = "s") -> tuple[int, int]:
    row = SecondVisitSettings.objects.get(study__slug=slug)
    return row.retest_share, row.retest_days


def test_the_page_has_their_section_and_changes_them(study, admin_client):
    page = admin_client.get(SETTINGS)
    assert "<summary>Second visit</summary>" in page.text
    assert "Items answered again, in percent" in page.text
    shown = {field.name: field.value() for field in page.context["form"]}
    assert (shown["retest_share"], shown["retest_days"]) == (0, 7)

    sent = filled(admin_client, SETTINGS, retest_share="20", title="New")
    assert admin_client.post(SETTINGS, sent)["Location"] == "/studies/s/"

    assert stored() == (20, 7)
    detail = StudyLog.objects.first().detail
    assert detail["fields"] == ["retest_share", "title"]
    assert (detail["before"]["retest_share"], detail["after"]["retest_share"]) == (0, 20)
    other = filled(admin_client, SETTINGS, perspective="persona")
    assert "Only annotators who answer for themselves" in admin_client.post(SETTINGS, other).text
    overtaken = admin_client.post(SETTINGS, sent | {"retest_share": "30"})
    assert ("Items answered again, in percent", 20, "30") in overtaken.context["differing"]
    assert stored() == (20, 7)


def test_a_study_is_created_with_them(admin_client, tmp_path):
    new = filled(admin_client, "/studies/new/", title="S", slug="s", contact="a@example.org")
    admin_client.post("/studies/new/", new | {"perspective": "own", "retest_share": "30"})
    assert stored() == (30, 7)

    file = tmp_path / "study.toml"
    file.write_text('perspective = "own"\nretest_share = 20\nretest_days = 9\n')
    call_command("create_study", "two", "--from", str(file))
    assert stored("two") == (20, 9)

    for wrong in ({"retest_share": 101}, {"perspective": "persona"}):
        with pytest.raises(ValidationError) as caught:
            create_study(slug="three", **{"perspective": "own", "retest_share": 20} | wrong)
        assert [*caught.value.message_dict] == ["retest_share"]


def test_programs_read_and_change_them(study):
    owner = program(study, "owner")
    settings = owner.get("studies/s").json()["settings"]
    assert (settings["retest_share"], settings["retest_days"]) == (0, 7)

    settings = owner.patch("studies/s", {"retest_share": 40, "retest_days": 2}).json()["settings"]

    assert (settings["retest_share"], settings["retest_days"]) == stored() == (40, 2)
    for wrong in ({"retest_share": 101}, {"retest_days": 0}, {"retest_days": None}):
        assert owner.patch("studies/s", wrong).status_code == 422
    assert stored() == (40, 2)


def test_a_copy_has_them_and_they_go_with_their_study(study):
    bring_back(study, 20, 9)
    copy_study(study_id=study.pk, slug="copy", title="Copy", with_items=False)
    assert stored("copy") == (20, 9)

    delete_rows(study)

    assert stored("copy") == (20, 9)
    assert SecondVisitSettings.objects.count() == 1


@pytest.mark.parametrize(
    ("days", "sentence"),
    [
        (1, "After 1 day we ask you to come back and answer some of the items again."),
        (9, "After 9 days we ask you to come back and answer some of the items again."),
    ],
)
def test_the_consent_says_when_people_are_asked_again(study, days, sentence):
    assert "come back" not in consent_text(study).html + template_for(study, "consent")

    bring_back(study, 20, days)

    assert f"<p>{sentence}</p>" in consent_text(study).html
    assert f"This takes about 20 minutes. {sentence}\n" in template_for(study, "consent")


def test_a_german_consent_says_it_in_german(study):
    bring_back(study, 20, 9)
    study.language = "de"

    assert " Nach 9 Tagen bitten wir Sie, wiederzukommen" in template_for(study, "consent")
