"""The preset that repeats the paper's study: its settings, groups, runs, and the ways to use it."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotation.models import QuotaGroup
from judging.models import Campaign
from judging.runs.planned import planned_runs
from studies.errors import StudyError
from studies.extra import extras_for_studies
from studies.models import Study
from studies.pages.workbench import section_pages
from studies.services.items import seat_items
from studies.services.presets import PRESETS, preset_of
from studies.services.settings import save_settings
from studies.services.studies import create_study
from studies.services.whole_studies import copy_study
from tests.api.conftest import program
from tests.factories import make_item, make_persona
from tests.judging.conftest import make_judge
from tests.studies.test_settings_pages import filled

pytestmark = pytest.mark.django_db
NAME = "personalized-judge"
FEATURES = ("residence_country", "education", "ethnicity")


def again(slug: str = "again") -> Study:
    call_command("create_study", slug, preset=NAME, draft=True, verbosity=0, stdout=StringIO())
    return Study.objects.get(slug=slug)


def with_persona(study: Study, *keys: str) -> None:
    features = [{"key": key, "label": key, "value": "x", "text": f"{key}: x"} for key in keys]
    make_persona(study=study, features=features)


def test_a_command_creates_the_papers_design():
    study = again()

    assert (study.human_sample, study.annotations_per_item) == (300, 3)
    assert (study.items_per_annotator, study.ask_certainty, study.allow_tie) == (30, True, False)
    assert {*PRESETS[NAME].settings["extras"]} & {*extras_for_studies()} <= {*study.extras}
    assert preset_of(study) == NAME
    groups = QuotaGroup.objects.filter(study=study)
    assert [group.criteria for group in groups][::3] == [
        {"gender": "woman", "politics": "democrat"},
        {"gender": "man", "politics": "democrat"},
    ]
    assert [group.target for group in groups] == [5] * 6


def test_a_study_without_items_has_few_pages_below_its_sections(settings):
    settings.EXTRAS_OF_NEW_STUDIES = []
    study = again()

    pages = [page.title for page in section_pages.of(study) if not page.once]

    assert len(pages) <= 16, pages
    assert {"Import", "Texts", "Checks", "Places and quota", "Available judges"} <= {*pages}


def test_settings_and_extras_of_a_file_take_precedence(tmp_path: Path):
    file = tmp_path / "own.toml"
    file.write_text('title = "Ours"\nhuman_sample = 100\n', encoding="utf-8")

    call_command("create_study", "ours", preset=NAME, file=file, stdout=StringIO())

    study = Study.objects.get()
    assert (study.title, study.human_sample) == ("Ours", 100)
    assert sum(QuotaGroup.objects.values_list("target", flat=True)) == 10


def test_groups_follow_the_first_items_and_other_sizes():
    study = again()
    for _ in range(60):
        make_item(study=study, seats_needed=0)
    study.human_sample = 60
    save_settings(study, changed=["human_sample"])
    seat_items(study)

    assert [group.target for group in QuotaGroup.objects.all()] == [1] * 6


def test_every_judge_is_asked_with_four_sets_of_features_and_with_ties():
    study = again()

    assert planned_runs(study).each == [
        ("certainty", "all", "both"),
        ("certainty", "three_paper", "both"),
        ("certainty", "education", "both"),
        ("certainty", "none", "both"),
        ("tie", "all", "both"),
    ]
    with_persona(study, "education", "age")
    make_item(study=study, persona=study.personas.get())
    planned = planned_runs(study)
    assert "three_paper" not in [features for _, features, _ in planned.each]
    assert "No persona of “again” has “residence_country”" in planned.left_out[0]


def test_planned_runs_are_campaigns_of_the_named_judges():
    study = again()
    with_persona(study, *FEATURES)
    make_item(study=study, persona=study.personas.get())
    make_judge(name="one", base_url="http://gpu1/v1")

    with pytest.raises(CommandError, match="Name the judges"):
        call_command("campaign", "again", planned=True)
    out = StringIO()
    call_command("campaign", "again", planned=True, judge=["one"], dry_run=True, stdout=out)
    assert "“Planned runs: certainty”: 4 runs, 8 questions" in out.getvalue()
    call_command("campaign", "again", planned=True, judge=["one"], stdout=out)

    assert [(c.name, c.runs.count()) for c in Campaign.objects.order_by("pk")] == [
        ("Planned runs: certainty", 4),
        ("Planned runs: tie", 1),
    ]


def test_without_such_a_preset_no_runs_are_planned():
    create_study(slug="plain", preset="pilot")

    with pytest.raises(CommandError, match="No preset plans runs of “plain”"):
        call_command("campaign", "plain", planned=True, judge=["one"])
    with pytest.raises(CommandError, match="Name a plan file, or use --planned"):
        call_command("campaign", "plain")


def test_a_copy_keeps_its_preset_and_the_groups_once():
    study = again()

    copy = copy_study(study_id=study.pk, slug="copy", title="Copy", with_items=False)

    assert preset_of(copy) == NAME
    assert QuotaGroup.objects.filter(study=copy).count() == 6


def test_an_unknown_preset_is_refused():
    with pytest.raises(StudyError, match="There is no preset “papers”"):
        create_study(slug="x", preset="papers")
    assert not Study.objects.exists()


def test_the_page_and_the_api_create_the_same(client):
    root = program(is_superuser=True)
    client.force_login(root.user)
    fields = filled(client, f"/studies/new/?preset={NAME}", title="By page", slug="by-page")

    assert client.post("/studies/new/", fields | {"chosen": NAME}).status_code == 302
    made = root.post("studies", {"title": "By API", "slug": "by-api", "preset": NAME})

    assert made.status_code == 201, made.content
    again("by-command")
    studies = Study.objects.all()
    for name in PRESETS[NAME].settings:
        assert len({str(getattr(study, name)) for study in studies}) == 1, name
    assert [study.quota_groups.count() for study in studies] == [6, 6, 6]
    assert {preset_of(study) for study in studies} == {NAME}
    refused = root.post("studies", {"title": "Other", "preset": "papers"})
    assert refused.status_code == 422
    assert "personalized-judge" in refused.content.decode()
