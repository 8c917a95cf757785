"""Instructions, consent and debrief: ready-made texts, placeholders, boxes to tick."""

import pytest

from annotation.content.texts import (
    TEXTS,
    consent_text,
    placeholders,
    template_for,
    unfilled,
)
from annotation.models import Annotator
from annotation.researchers.opening_checks import opening_checks, study_checks
from studies.errors import FrozenStudy
from studies.models import Study
from studies.pages.settings_views import TRANSLATED
from studies.services.settings import save_settings
from tests.annotation.pages.walking import arrive
from tests.factories import make_study, sign_in

pytestmark = pytest.mark.django_db

PAGE = "/studies/one/people/texts/"
FACTS = {
    "researchers": "Ada L, Exampleton",
    "contact": "ada@example.org",
    "storage": "In the EU for ten years.",
    "ethics": "Board 2026/17",
}
BOXES = "Read this.\n\n- [ ] I am 18.\n- [ ] I agree.\n"


@pytest.fixture
def study():
    return make_study(slug="one", state="draft")


@pytest.fixture
def editor(study):
    return sign_in(study)


def texts(study, **changes):
    empty = dict.fromkeys((*FACTS, *TEXTS), "")
    return empty | {"version": study.version, "do": "save"} | changes


NAMED = (
    "Who runs|Purpose|30 short profiles|20 minutes|$4.50 ($13.50 per hour)|Risks|keep|pseudonym|"
    "voluntary|withdraw|Ethics approval|- [ ]"
).split("|")


GERMAN = (
    "Wer diese Studie|Zweck|30 kurze Profile|20 Minuten|$4.50 ($13.50 pro Stunde)|Risiken|"
    "speichern|Pseudonym|freiwillig|zurückziehen|Ethikvotum|- [ ]"
).split("|")


@pytest.mark.parametrize(("language", "named"), [("en", NAMED), ("de-at", GERMAN)])
def test_the_ready_made_consent_names_what_ethics_boards_ask_for(language, named):
    text = template_for(make_study(language=language), "consent")

    assert [words for words in named if words not in text] == []


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("facts", [{}, FACTS, {"allow_tie": True, "ask_certainty": False}])
def test_a_ready_made_text_has_as_many_placeholders_and_lines_in_every_language(name, facts):
    english = template_for(Study(language="en", **facts), name)

    for language, _ in TRANSLATED:
        text = template_for(Study(language=language, **facts), name)
        assert len(placeholders(text)) == len(placeholders(english)), language
        assert len(text.splitlines()) == len(english.splitlines()), language
        assert "{" not in text, language


def test_amounts_of_a_ready_made_text_run_from_left_to_right_in_arabic():
    english, arabic = (
        template_for(Study(language=each, reward=450, currency="USD", minutes=20), "consent")
        for each in ("en", "ar")
    )

    assert "\u2068$4.50\u2069 (\u2068$13.50\u2069" in arabic
    assert "$4.50 ($13.50 per hour)" in english


def test_a_ready_made_text_says_what_the_settings_know_and_asks_for_the_rest(study):
    asked = placeholders(template_for(study, "consent"))
    assert "name of the ethics board and approval number" in asked

    known = template_for(Study(**FACTS), "consent")

    assert all(value in known for value in FACTS.values())
    assert len(placeholders(known)) == len(asked) - len(FACTS)


def test_a_button_fills_in_a_text_with_the_facts_as_typed_and_stores_nothing(editor, study):
    page = editor.post(PAGE, texts(study, **FACTS, do="template-consent"))

    consent = next(text for text in page.context["texts"] if text["name"] == "consent")
    assert "Board 2026/17" in consent["typed"]
    assert len(consent["statements"]) == 3
    study.refresh_from_db()
    assert (study.consent, study.ethics) == ("", "")


def test_texts_are_saved_with_the_users_name_in_the_log(editor, study):
    editor.post(PAGE, texts(study, **FACTS, consent=BOXES, debrief="Thanks."))

    study.refresh_from_db()
    assert (study.consent.strip(), study.debrief, study.ethics) == (
        BOXES.strip(),
        "Thanks.",
        "Board 2026/17",
    )
    assert study.log.get(event="settings changed").user is not None


def test_a_concurrent_change_is_kept(editor, study):
    sent = texts(study, debrief="Mine")
    Study.objects.update(debrief="Theirs", version=study.version + 1)

    page = editor.post(PAGE, sent)

    assert page.status_code == 422
    assert "Someone else changed" in page.context["fault"]
    assert Study.objects.get().debrief == "Theirs"
    assert "Mine" in page.content.decode()


def test_after_the_first_answer_only_the_debrief_and_the_contact_change(editor, study):
    Study.objects.update(frozen_at="2026-11-01T00:00Z", state=Study.State.OPEN, consent="Old")

    editor.post(PAGE, texts(study, consent="New", debrief="New", contact="a@example.org"))

    study.refresh_from_db()
    assert (study.consent, study.debrief, study.contact) == ("Old", "New", "a@example.org")


def test_where_data_are_kept_is_a_sentence_of_the_ready_made_text(study):
    study.storage = "on servers of the university, for ten years"

    assert "On servers of the university, for ten years." in template_for(study, "consent")


def test_a_judge_of_a_draft_does_not_fix_what_only_annotators_see(editor, study):
    Study.objects.update(frozen_at="2026-11-01T00:00Z", state=Study.State.DRAFT)

    editor.post(PAGE, texts(study, consent="New", researchers="Ada Lovelace"))

    study.refresh_from_db()
    assert (study.consent, study.researchers) == ("New", "Ada Lovelace")
    study.language = "de"
    with pytest.raises(FrozenStudy, match="cannot change: language"):
        save_settings(study, changed=["language"])


def test_the_preview_shows_hostile_text_as_text(editor):
    sent = {"name": "consent", "text": "<script>x</script> **b** [[left]]\n- [ ] <i>box</i>"}

    html = editor.post(f"{PAGE}preview/", sent).content.decode()

    assert "<script>" not in html
    assert "<i>" not in html
    assert "<strong>b</strong>" in html
    assert "<li>left</li>" in html
    assert "&lt;i&gt;box" in html


def test_an_unfilled_placeholder_blocks_every_launch(study):
    study.consent, study.debrief = "Ask [[whom]] and [[when]].", "See [[where]]."
    study.save()
    assert unfilled(study) == {"consent": ["whom", "when"], "debrief": ["where"]}

    for checks in (study_checks(study), opening_checks(study)):
        check = next(check for check in checks if "placeholder" in check.text)
        assert (check.is_open, check.blocks, check.fix) == (True, True, PAGE)
        assert check.text == "Fill in 3 placeholders in the texts for annotators, first “whom”."
    study.consent, study.debrief = "Ask Ada.", ""
    assert not any(c.is_open for c in study_checks(study) if "placeholder" in c.text)


@pytest.mark.parametrize("language", ["en", "ar", "zh-hans"])
def test_a_consent_with_numbers_of_earlier_settings_is_advice(language):
    study = make_study(language=language, reward=450, currency="USD", minutes=20)
    study.consent = template_for(study, "consent").replace("[[", "").replace("]]", "")
    assert not any("consent text says" in check.text for check in study_checks(study))

    study.items_per_annotator += 2
    stated = [check for check in study_checks(study) if "consent text says" in check.text]

    assert [(check.is_open, check.blocks) for check in stated] == [(True, False)]
    assert str(study.items_per_annotator) in stated[0].text


def test_nobody_agrees_before_every_box_is_ticked():
    study = make_study(consent=BOXES)
    client = arrive(study)
    url = f"/s/{study.slug}/consent/"

    page = client.post(url, {"consent": "yes", "agree-0": "yes"})

    assert page.status_code == 422
    html = page.content.decode()
    assert 'href="#agree-1">Tick every statement' in html
    assert html.count("checked") == 1
    assert Annotator.objects.get().state == "arrived"
    client.post(url, {"consent": "yes", "agree-0": "yes", "agree-1": "yes"})
    assert Annotator.objects.get().consent_version == consent_text(study).version
    assert "<li>I am 18.</li>" in client.get(f"{url}copy/").content.decode()


def test_refusing_needs_no_box():
    study = make_study(consent=BOXES)

    arrive(study).post(f"/s/{study.slug}/consent/", {"consent": "no"})

    assert Annotator.objects.get().state == "declined"
