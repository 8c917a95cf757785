"""Parts of participants' pages that are rendered once: they show nothing of another page."""

import pytest
from django.http import QueryDict
from django.template import engines
from django.utils import translation

from annotation.participants import templates
from annotation.participants.forms import AnswerForm
from tests.annotation.pages.walking import item_page, start
from tests.factories import make_items, make_study

pytestmark = pytest.mark.django_db
_PART = "annotation/_submit.html"


def test_a_part_is_rendered_once_for_its_values_and_once_for_each_language():
    part = engines["jinja2"].env.globals["part"]

    english = part(_PART, ranks=False, offers_either=False)

    assert part(_PART, ranks=False, offers_either=False) is english
    assert part(_PART, offers_either=False, ranks=False) is english
    assert "No clear difference" in english
    assert "Either could be right" in part(_PART, ranks=False, offers_either=True)
    with translation.override("de"):
        german = part(_PART, ranks=False, offers_either=False)
    assert "Speichern" in german
    assert "Save and continue" in english


def test_a_loaded_web_server_compiles_no_template_again(monkeypatch):
    environment = engines["jinja2"].env
    templates.load()
    monkeypatch.setattr(environment, "compile", None)

    names = environment.list_templates()

    assert "annotation/task.html" in names
    assert {environment.get_template(name).name for name in names} == set(names)


def test_two_studies_show_their_own_addresses_contact_and_language():
    pages = {}
    for slug, contact, language in (("one", "a@b.example", "en"), ("two", "c@d.example", "de")):
        study = make_study(slug=slug, contact=contact, language=language, items_per_annotator=1)
        make_items(study, 1)
        pages[slug] = item_page(start(study), study).content.decode()

    assert "mailto:a@b.example" in pages["one"]
    assert "mailto:c@d.example" not in pages["one"]
    assert "/s/two/help/" in pages["two"]
    assert "/s/one/" not in pages["two"]
    assert "Save and continue" in pages["one"]
    assert "Save and continue" not in pages["two"]


def test_a_level_that_is_not_offered_is_not_shown():
    sent = QueryDict("level=" + "x" * 1000)

    form = AnswerForm(sent, study=make_study(), task="preference")

    assert form.level_shown == ""
