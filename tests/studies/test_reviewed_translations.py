"""A translation counts as reviewed in a study from the press of a button until its texts change."""

import re
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from studies.services import translations
from studies.services.translations import mark_reviewed, texts_hash, unreviewed_language
from tests.analysis.builders import judge_item, make_run
from tests.analysis.partial import report_of
from tests.annotation.pages.walking import arrive
from tests.factories import make_items, make_study, sign_in
from tests.judging.conftest import make_judge

pytestmark = pytest.mark.django_db
UNREVIEWED = '<option value="it" selected>Italiano (translation not reviewed)</option>'


@pytest.fixture
def researcher():
    return User.objects.create_user("ada")


@pytest.fixture
def study():
    study = make_study(language="it")
    make_items(study, 1)
    return study


def test_ready_made_texts_and_prompts_are_named_unreviewed_until_the_press(study):
    client = sign_in(study)
    make_judge(name="one", base_url="http://127.0.0.1:9/v1")
    texts, judging = (reverse(name, args=[study.slug]) for name in ("people:texts", "judging:new"))
    choice = "Italian (translation not reviewed), as in the study"
    assert "nobody has reviewed them" in client.get(texts).text
    assert choice in client.get(judging).text

    press(client, study)

    assert "nobody has reviewed them" not in client.get(texts).text
    page = client.get(judging).text
    assert choice not in page
    assert "Italian, as in the study" in page
    assert "Polish (translation not reviewed)" in page


def press(client, study):
    address = f"/studies/{study.slug}/settings/"
    page = client.get(address).content.decode()
    texts = re.search(r'name="texts" value="(\w+)"', page)
    return client.post(
        address, {"do": "reviewed", "texts": texts[1] if texts else ""}, follow=True
    ).content.decode()


def test_an_editor_marks_the_translation_for_the_study_alone(study):
    client = sign_in(study)
    assert UNREVIEWED in client.get(f"/studies/{study.slug}/settings/").content.decode()

    page = press(client, study)

    assert UNREVIEWED not in page
    assert re.search(r"editor-\d+ reviewed the Italian texts of the participants’ pages on", page)
    entry = study.log.get(event="translation reviewed")
    assert entry.user.username.startswith("editor")
    assert entry.detail == {"language": "it", "texts": texts_hash("it")}
    press(client, study)
    assert study.log.filter(event="translation reviewed").count() == 1
    assert unreviewed_language(make_study(language="it")) == "it"
    entry.user.delete()
    page = sign_in(study).get(f"/studies/{study.slug}/settings/").content.decode()
    assert "(deleted account) reviewed the Italian texts" in page


@pytest.mark.parametrize("role", ["viewer", ""])
def test_nobody_else_marks_it(study, role):
    client = sign_in(study, role)

    response = client.post(
        f"/studies/{study.slug}/settings/", {"do": "reviewed", "texts": texts_hash("it")}
    )

    assert response.status_code == 404
    assert unreviewed_language(study) == "it"
    if role:
        page = client.get(f"/studies/{study.slug}/settings/").content.decode()
        assert "Nobody has reviewed the Italian texts" in page
        assert 'value="reviewed"' not in page


def test_the_mark_goes_when_the_texts_change(study, tmp_path, settings, researcher):
    mark_reviewed(study, texts=texts_hash("it"), user=researcher)
    assert unreviewed_language(study) == ""
    old = settings.LOCALE_PATHS[0] / "it/LC_MESSAGES/django.po"
    new = tmp_path / "it/LC_MESSAGES/django.po"
    new.parent.mkdir(parents=True)
    new.write_text(old.read_text("utf-8").replace("Prima di iniziare", "Prima"), "utf-8")

    settings.LOCALE_PATHS = [tmp_path]

    assert unreviewed_language(study) == "it"


def test_a_change_of_an_extras_texts_counts_too(study, monkeypatch, tmp_path):
    before = texts_hash("it")
    catalogue = tmp_path / "it/LC_MESSAGES/django.po"
    catalogue.parent.mkdir(parents=True)
    catalogue.write_text('msgid "New"\nmsgstr "Nuovo"\n', "utf-8")
    others = list(translations.folders("locale"))
    monkeypatch.setattr(translations, "folders", lambda name: [*others, Path(tmp_path)])

    assert texts_hash("it") != before


@pytest.mark.parametrize(
    "name",
    [
        "annotation/content/ready_texts/it.toml",
        "annotation/content/ready_texts/practice.it.jsonl",
        "studies/prompts/it/bands.txt",
        "judging/protocols/texts/it.toml",
    ],
)
def test_ready_made_texts_and_prompts_count_too(name, tmp_path, settings):
    before = texts_hash("it")
    for pattern in translations.WORDING:
        for old in settings.BASE_DIR.glob(pattern.format(language="it")):
            new = tmp_path / old.relative_to(settings.BASE_DIR)
            new.parent.mkdir(parents=True, exist_ok=True)
            new.write_bytes(old.read_bytes())
    settings.BASE_DIR = tmp_path
    assert texts_hash("it") == before

    (tmp_path / name).write_text("Nuovo", "utf-8")

    assert texts_hash("it") != before


def test_a_review_is_of_the_texts_that_were_read(study):
    page = (
        sign_in(study)
        .post(f"/studies/{study.slug}/settings/", {"do": "reviewed", "texts": "old"}, follow=True)
        .content.decode()
    )

    assert "The translation has changed since you opened this page." in page
    assert unreviewed_language(study) == "it"


@pytest.mark.parametrize(
    ("language", "unreviewed"),
    [("en", ""), ("de-AT", ""), ("pt-br", "pt"), ("zh", "zh-hans"), ("sv", "")],
)
def test_regions_share_the_review_of_their_language(language, unreviewed, researcher):
    study = make_study(language=language)
    assert unreviewed_language(study) == unreviewed

    mark_reviewed(study, texts=texts_hash(unreviewed or "en"), user=researcher)

    assert unreviewed_language(study) == ""


def test_the_report_names_a_language_that_nobody_reviewed(study, researcher):
    assert "unreviewed_translation" not in report_of(study)["study"]  # nobody took part
    arrive(study)
    before = report_of(study)

    mark_reviewed(study, texts=texts_hash("it"), user=researcher)

    after = report_of(study)
    assert before["study"]["unreviewed_translation"] == "it"
    assert "unreviewed_translation" not in after["study"]
    assert before["inputs"]["hash"] == after["inputs"]["hash"]
    assert before["inputs"]["record_hash"] != after["inputs"]["record_hash"]


@pytest.mark.parametrize(("language", "unreviewed"), [("it", "it"), ("en", None)])
def test_the_report_names_it_too_if_only_judges_were_asked_in_it(study, language, unreviewed):
    run = make_run(study=study, parameters={"model": "m", "prompt_language": language})
    judge_item(run, study.all_items.get(), "r1", 60)

    assert report_of(study)["study"].get("unreviewed_translation") == unreviewed
