"""How long annotators need: a rule with published figures, the same wherever it is shown."""

import pytest
from django.urls import reverse

from studies.services import items as module
from studies.services.items import expected_time
from studies.texts.normalisation import Effort, seconds_to_read
from tests.factories import make_item, make_items, make_study, sign_in


def test_a_page_of_english_is_read_at_the_published_rate():
    """238 words of 4.6 letters and a space are read in a minute."""
    assert seconds_to_read(round(238 * 5.6), "en") == pytest.approx(60, abs=0.1)
    assert seconds_to_read(round(300 * 5.6), words_per_minute=300) == pytest.approx(60, abs=0.1)


@pytest.mark.parametrize(
    ("language", "characters"), [("zh-Hant", 344), ("ja", 482), ("DE", 1243), ("tlh", 1333)]
)
def test_other_languages_are_read_in_the_measured_ratio_to_english(language, characters):
    assert seconds_to_read(characters, language) == pytest.approx(60, abs=0.1)


def test_an_item_takes_reading_listening_and_judging():
    sound, picture = {"type": "audio/wav", "seconds": 12.5}, {"type": "image/png", "width": 9}
    effort = Effort.of(["a" * 1_333, ""], "en", media=[sound, picture], has_advice=True)

    assert effort.seconds() == pytest.approx(60 + 12.5 + 2 * 10, abs=0.1)


@pytest.mark.django_db
def test_an_annotator_reads_what_the_page_shows():
    study = make_study(items_per_annotator=2, persona_style="facts")
    item = make_item(study=study, question="q" * 500, context="c" * 300)
    item.r1, item.r2 = {"text": "x" * 150, "prompt": "p" * 50}, {"text": "y" * 300}
    item.save()
    profile = "Age: 35-44\nSex: Female"

    alone = expected_time(study)

    assert alone.seconds == pytest.approx(seconds_to_read(1_300 + len(profile)) + 10)
    assert (alone.per_annotator, alone.minutes) == (1, pytest.approx(alone.seconds / 60))
    study.perspective = "own"
    assert expected_time(study).seconds == pytest.approx(seconds_to_read(1_300) + 10)


@pytest.mark.django_db
def test_in_a_large_study_one_query_reads_a_sample(monkeypatch, django_assert_num_queries):
    study = make_study()
    make_items(study, 40)
    make_items(study, 5, seats_needed=0, question="q" * 9_000)
    monkeypatch.setattr(module, "SAMPLED", 10)

    with django_assert_num_queries(1):
        found = expected_time(study)

    assert (found.items, found.per_annotator) == (10, 10)
    assert found.seconds < 15


@pytest.mark.django_db
def test_a_study_without_items_for_annotators_has_no_time():
    study = make_study()
    make_item(study=study, seats_needed=0)

    assert expected_time(study) is None


@pytest.mark.django_db
def test_the_settings_say_how_long_the_items_take():
    study = make_study(state="draft", items_per_annotator=30)
    make_items(study, 30, question="q" * 1_333)

    html = sign_in(study).get(reverse("studies:settings", args=[study.slug])).content.decode()

    assert "The 30 items of an annotator take about 37 minutes to read and judge" in html
