"""Judges are asked in the study's language, or in another one that was chosen and is named."""

import re
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import translation

from analysis.report.words import language_limit
from judging.catalog.connection_test import run_connection_test
from judging.errors import ConflictingValue
from judging.models import Judge, JudgeRun
from judging.prompts.asking import Asking
from judging.protocols.framings import framings
from judging.protocols.registry import protocol, protocols
from judging.protocols.texts import languages
from judging.runs.campaigns import CampaignPlan, start_campaign
from judging.runs.spec import language_for
from studies.models import Item, Study, Task
from studies.prompts import (
    BANDS,
    SETTINGS,
    bands_in,
    build_prompt,
    prompt_languages,
    wording,
    words_in,
)
from studies.texts.slots import names_in, steps_of
from tests.factories import make_item, make_study, sign_in
from tests.judging.conftest import make_judge

NOTE = "People are asked in German, judges in English:"


@pytest.fixture
def study(db):
    study = make_study(slug="s", language="de-at")
    make_item(study=study)
    make_judge(name="one", base_url="http://127.0.0.1:9/v1")
    return study


def start(study, **fields):
    plan = CampaignPlan("C", ["one"], orders=["r1_first"], **fields)
    return start_campaign(study_id=study.pk, plan=plan, enqueue=False, change=True)


def pages(campaign):
    run = campaign.runs.get()
    return [
        reverse("judging:campaign", args=["s", campaign.public_id]),
        reverse("judging:run", args=["s", run.public_id]),
        reverse("judging:extend", args=["s", run.public_id]),
    ]


def test_a_german_study_asks_german_and_nothing_needs_to_be_said(study):
    campaign = start(study)
    run = campaign.runs.get()
    (message,) = Asking.of(run).messages(Item.objects.get(), shown_first="r1")

    assert (run.prompt_language, run.parameters["prompt_language"]) == ("de", "de")
    assert message.text.startswith("Unten steht das Profil einer Person.")
    assert "[Frage]\n" in message.text
    assert "Welche Antwort würde diese Person bevorzugen?" in message.text
    client = sign_in(study)
    for url in [*pages(campaign), reverse("judging:new", args=["s"])]:
        assert "judges in" not in client.get(url).content.decode(), url


def test_the_connection_test_and_the_preview_ask_in_the_same_language(study):
    judge, item = Judge.objects.get(), Item.objects.get()

    assert run_connection_test(judge, study).prompt.startswith("Unten steht das Profil")
    assert build_prompt(item, setting="standard", shown_first="r1").startswith("Unten steht")
    item.study.language = "sv"
    assert build_prompt(item, setting="standard", shown_first="r1").startswith("Below is")


def test_english_can_be_chosen_and_every_page_says_so(study):
    campaign = start(study, language="en")
    client = sign_in(study)

    assert campaign.runs.get().prompt_language == "en"
    for url in pages(campaign):
        assert NOTE in client.get(url).content.decode(), url


def test_the_commands_say_so_before_anything_is_asked(study, tmp_path, monkeypatch):
    monkeypatch.setattr("judging.tasks.queue_chunk", lambda run_id: None)
    plan = tmp_path / "plan.toml"
    plan.write_text('name = "C"\njudges = ["one"]\nlanguage = "en"\n')

    for command in (
        ["judge", "s", "--judge", "one", "--language", "en"],
        ["campaign", "s", str(plan), "--dry-run"],
    ):
        out = StringIO()
        call_command(*command, stdout=out)
        assert out.getvalue().startswith(NOTE)


def test_a_missing_translation_is_refused_and_not_replaced(study, tmp_path):
    Study.objects.update(language="sv")
    plan = tmp_path / "plan.toml"
    plan.write_text('name = "C"\njudges = ["one"]\n')

    with pytest.raises(
        CommandError, match="--language: this study is in Swedish, which has no prompts"
    ):
        call_command("judge", "s", "--judge", "one")
    with pytest.raises(CommandError, match=r"language: this study is in Swedish.* one of: en, ar"):
        call_command("campaign", "s", str(plan), stdout=StringIO())
    with pytest.raises(CommandError, match="there are no prompts in “xx”"):
        call_command("judge", "s", "--judge", "one", "--language", "xx")
    assert not JudgeRun.objects.exists()
    study.refresh_from_db()
    assert start(study, language="en").runs.get().prompt_language == "en"


def test_the_form_wants_a_language_where_there_is_no_translation(study):
    Study.objects.update(language="sv")
    client, url = sign_in(study), reverse("judging:new", args=["s"])
    chosen: dict[str, str | list[str]] = {"name": "C", "judges": ["one"], "features": ["all"]}
    chosen["settings"] = ["standard"]
    chosen |= {"orders": "r1_first", "samples": "1"}

    assert "you choose English" in client.get(url).content.decode()
    assert client.post(url, chosen).status_code == 422
    assert client.post(url, chosen | {"language": "en"}).status_code == 200


def test_a_framing_is_said_in_the_language_of_the_prompt(study):
    run = start(study, framings=["persona"]).runs.get()

    system, prompt = Asking.of(run).messages(Item.objects.get(), shown_first="r1")

    assert (system.role, prompt.role) == ("system", "user")
    assert system.text.startswith("Versetzen Sie sich")


def test_neutral_shows_no_profile_and_goes_with_no_chosen_features(study):
    run = start(study, framings=["neutral"]).runs.get()

    system, prompt = Asking.of(run).messages(Item.objects.get(), shown_first="r1")

    assert "Urteil" in system.text
    assert "Profil" not in prompt.text


@pytest.mark.parametrize("language", [each for each in prompt_languages() if each != "en"])
def test_a_translation_has_every_text_with_the_same_slots(language):
    assert [band.slug for band in bands_in(language)] == [band.slug for band in BANDS]
    assert words_in(language).keys() - {"history"} == words_in("en").keys()
    for task in Task:
        for setting in SETTINGS:
            for persona in (True, False):
                own = wording(task, setting, persona=persona, language=language).template
                english = wording(task, setting, persona=persona).template
                assert names_in(own) == names_in(english)
    assert language in languages()
    for asked in protocols():
        translated, original = asked.texts(language), asked.texts("en")
        for ours, theirs in zip(
            (translated.prompt, translated.prompt_without_persona, translated.follow_up),
            (original.prompt, original.prompt_without_persona, original.follow_up),
            strict=True,
        ):
            assert names_in(ours) == names_in(theirs)
            assert len(steps_of(ours)) == len(steps_of(theirs))
        assert translated.questions.keys() == original.questions.keys()
        assert len(translated.levels) == len(original.levels)
    for framing in framings().values():
        assert framing.languages is None or language in framing.languages


@pytest.mark.parametrize("language", prompt_languages())
def test_the_words_that_a_prompt_asks_for_are_read(language):
    sure, levels = protocol("p-true"), protocol("levels")
    yes, no = re.findall(r"\[\[(\w+)\]\]", sure.texts(language).follow_up)

    said = [sure.read(f"[[{word}]]", earlier=("[[A]]",)).details["says"] for word in (yes, no)]
    stated = [levels.read(f"[[B]] [[{name}]]").certainty for name in levels.texts(language).levels]

    assert said == ["yes", "no"]
    assert stated == [10, 30, 50, 70, 90]


def test_a_study_in_chinese_is_asked_in_the_script_that_it_is_read_in(study):
    for code, language in (("zh-cn", "zh-hans"), ("zh", "zh-hans"), ("pt-br", "pt")):
        study.language = code
        assert language_for(study, "") == language
    study.language = "zh-tw"
    with pytest.raises(ConflictingValue, match="has no prompts"):
        language_for(study, "")


@pytest.mark.parametrize("language", prompt_languages())
def test_judges_are_asked_the_question_and_the_levels_of_the_annotators(language):
    with translation.override(language):
        for task in Task:
            asked = wording(task, "standard", language=language).question
            assert asked == translation.gettext(wording(task, "standard").question)
        for band, own in zip(BANDS, bands_in(language), strict=True):
            assert (own.name, own.definition) == (
                translation.gettext(band.name),
                translation.gettext(band.definition),
            )


def test_the_report_names_another_language_among_its_limits():
    assert language_limit("de", ["en"]).startswith(
        "People were asked in German. The prompts of judges are in English"
    )
    assert "some judges are in English" in language_limit("de", ["en", "de"])
    for asked_in in ([], ["en"]):
        assert language_limit("en", asked_in).startswith("Everything was asked in the language")
