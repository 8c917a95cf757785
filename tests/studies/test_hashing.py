"""The hash of what people and models are shown: every word counts, numbers and pay do not."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from studies.services.items import interface_version, study_content_hash
from studies.services.settings import FROZEN_FIELDS
from tests.factories import make_item, make_study
from tests.studies.other_settings import SETTINGS

pytestmark = pytest.mark.django_db


def test_words_change_the_hash_and_are_fixed_with_the_first_answer_and_pay_does_not():
    study = make_study()
    make_item(study=study)
    before, changed = study_content_hash(study), set()
    for name, value in SETTINGS.items():
        was = getattr(study, name)
        setattr(study, name, value)
        if study_content_hash(study) != before:
            changed.add(name)
        setattr(study, name, was)

    words = {"instructions", "consent", "researchers", "storage", "ethics", "criteria"}
    assert changed == words | {"task", "perspective", "language", "show_markdown"}
    assert changed <= set(FROZEN_FIELDS)
    assert study_content_hash(study) == before


def test_the_words_of_the_pages_are_part_of_it(monkeypatch):
    study = make_study()
    before = study_content_hash(study)

    monkeypatch.setattr("studies.services.items.interface_version", lambda language: "other words")

    assert study_content_hash(study) != before


def test_items_are_hashed_in_the_same_order_on_every_database():
    study = make_study()
    make_item(study=study)

    with CaptureQueriesContext(connection) as queries:
        study_content_hash(study)

    # A database may sort "item-10" before or after "item2", and "Z" before or after "a".
    assert 'ORDER BY "studies_item"."key" COLLATE "' in queries[-1]["sql"]


def test_every_language_has_a_version_of_its_words():
    english = interface_version("en")

    assert interface_version("de") == interface_version("de-AT") != english
    assert interface_version("tlh") == english


def test_a_new_translation_of_one_text_is_a_new_version(tmp_path, settings):
    before = interface_version("de")
    old = settings.LOCALE_PATHS[0] / "de/LC_MESSAGES/django.po"
    new = tmp_path / "de/LC_MESSAGES/django.po"
    new.parent.mkdir(parents=True)
    new.write_text(old.read_text("utf-8").replace("Speichern und weiter", "Weiter"), "utf-8")
    settings.LOCALE_PATHS = [tmp_path]
    interface_version.cache_clear()

    assert interface_version("de") != before
    interface_version.cache_clear()
