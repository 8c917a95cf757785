"""Panels as a file for `apply`, `create_study` and the API, and the pay that people agree to."""

from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Annotator, ConsentVersion
from extras.panels.models import Panel
from extras.panels.presets import presets
from extras.panels.setup import save_panel
from extras.panels.study_file import FILE
from studies.errors import StudyError
from studies.models import Study
from studies.study_folder import Folder
from tests.api.conftest import program
from tests.extras.panels.test_ways import Way
from tests.factories import make_study

pytestmark = pytest.mark.django_db
COLUMNS = [
    field.name
    for field in Panel._meta.fields
    if field.name not in ("id", "study", "sealed_secret", "created_at")
]


def columns(panel):
    return {name: getattr(panel, name) for name in COLUMNS}


@pytest.mark.parametrize("preset", sorted(presets()))
def test_a_study_gets_the_panels_of_a_file_without_their_secrets(panel, tmp_path, preset):
    sending = panel(preset, reward=310, fee_percent=Decimal("12.50"))
    text = FILE.write(sending.study)[FILE.file]
    (tmp_path / FILE.file).write_text(text)
    other = make_study()

    remarks = FILE.apply(other, Folder(tmp_path), FILE.file, user=None)
    again = FILE.apply(other, Folder(tmp_path), FILE.file, user=None)

    made = Panel.objects.get(study=other)
    unsigned = {"signature": "", "signature_parameter": "", "signs_returns": False}
    assert columns(made) == columns(sending) | (unsigned if sending.signature else {})
    assert made.sealed_secret == ""
    assert remarks == again
    assert bool(remarks) is bool(sending.signature)
    assert sending.sealed_secret not in text or not sending.sealed_secret


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('name = "a"\npreset = "moon"', "Use one of"),
        ('preset = "sona"', "name is missing"),
        ('name = "a"\ntitle = "A"\nsecret = "s"', "“secret” is not known"),
        ('name = "a"\ntitle = "A"\ncomplete = "http://x.example/{person}"', "Begin with https"),
        ('name = "s"\npreset = "sona"\ntitle = "S"\ncomplete = "https://evil.example/"', "host of"),
        ('name = "a"\ntitle = "A"\nreward = -1', "pay_each"),
        ('name = "a"\ntitle = "A"\nreward = "much"', "whole number"),
        ('name = "a"', "title"),
    ],
)
def test_a_faulty_file_of_panels_is_refused(study, tmp_path, table, message):
    (tmp_path / FILE.file).write_text(f"[[panels]]\n{table}\n")

    with pytest.raises(StudyError, match=message):
        FILE.apply(study, Folder(tmp_path), FILE.file, user=None)

    assert not Panel.objects.exists()


def test_a_study_is_created_with_its_panels_or_not_at_all(tmp_path, capsys):
    settings, panels = tmp_path / "new.toml", tmp_path / "panels.toml"
    settings.write_text('title = "New"\npanels = "panels.toml"\n')
    panels.write_text('[[panels]]\nname = "a"\ntitle = "A"\nreward = 120\n')

    call_command("create_study", "with-panels", "--from", settings)
    panels.write_text('[[panels]]\nname = "a"\n')
    with pytest.raises(CommandError, match="title"):
        call_command("create_study", "other", "--from", settings)

    assert Panel.objects.get().reward == 120
    assert Study.objects.get().has_extra("panels")


def test_programs_of_owners_read_and_set_panels(study):
    editor, owner = program(study, "editor"), program(study, "owner")
    address = f"studies/{study.slug}/parts"
    content = {"content": '[[panels]]\nname = "a"\ntitle = "A"\nreward = 120\n'}

    refused = editor("PUT", f"{address}/panels", content)
    made = owner("PUT", f"{address}/panels", content)
    listed = {part["name"]: part["content"] for part in owner.get(address).json()["parts"]}

    assert refused.status_code == 422
    assert "only owners" in refused.json()["detail"]
    assert made.status_code == 200
    assert "reward = 120" in listed["panels"]
    assert "judges" not in listed
    assert owner("PUT", f"{address}/judges", content).status_code == 404


def test_people_agree_to_the_pay_of_the_panel_that_they_come_from(panel):
    sona, cint = panel("sona", reward=0), panel("cint", reward=375)
    Study.objects.update(reward=450, minutes=15)

    ways = {sending.preset: Way(sending) for sending in (sona, cint)}
    pages = {name: way.page for name, way in ways.items()}
    for way in ways.values():
        way.completes()

    assert "$3.75 in total" in pages["cint"]
    assert not [amount for amount in ("$4.50", "$0.00") if amount in pages["sona"]]
    copy = ways["cint"].client.get(f"{ways['cint'].base}consent/copy/").content.decode()
    assert "$3.75" in copy
    terms = {version.terms["reward"] for version in ConsentVersion.objects.all()}
    assert terms == {0, 375}
    cint.reward = 300
    with pytest.raises(StudyError, match="can only go up"):
        save_panel(cint)
    cint.reward = 400
    save_panel(cint)


def test_an_amended_consent_compares_the_pay_of_each_panel(panel):
    amend_consent = pytest.importorskip("extras.privacy.amendments").amend_consent
    way = Way(panel("cint", reward=900))
    way.sends("consent", consent="yes")
    study = Study.objects.get()

    asked = amend_consent(
        study_id=study.pk, fields={"ethics": "Board 7"}, note="Approved.", asks_again=True
    )
    way.opens()

    assert asked == 1
    assert "$9.00 in total" in way.page
    assert Annotator.objects.get().consent_due


def test_the_data_card_names_the_panels_and_the_pay_of_their_people(panel, tmp_path):
    pytest.importorskip("extras.publication")
    Way(panel("cint", reward=375)).completes()
    Study.objects.update(reward=450, minutes=15)

    call_command("export", Study.objects.get().slug, "--what", "all", "--out", tmp_path / "all")

    card = (tmp_path / "all" / "README.md").read_text()
    assert "a list of invited people, Cint (1 person)" in card
    assert "$3.75" in card
