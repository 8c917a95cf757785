"""Signs that turn text round are shown to whoever reads an item."""

import pytest
from django.template import Context, Template

from studies.templatetags.visible_controls import visible
from tests.annotation.pages.walking import start
from tests.factories import make_item, make_persona, make_study, sign_in

REVERSED = "Send \u202e<b>gnp.exe\u202c now"


def shown(text: str) -> str:
    template = Template("{% load visible_controls %}{{ text|visible }}")
    return template.render(Context({"text": text}))


def test_a_direction_control_is_replaced_by_its_code_point():
    html = shown(REVERSED)

    assert "\u202e" not in html
    assert 'title="Right-to-left override">U+202E</span>&lt;b&gt;gnp.exe' in html
    assert "U+202C" in html


@pytest.mark.parametrize("number", [*range(0x202A, 0x202F), *range(0x2066, 0x206A)])
def test_every_control_that_affects_other_text_is_removed(number):
    assert chr(number) not in shown(f"a{chr(number)}b")
    assert f"U+{number:04X}" in shown(f"a{chr(number)}b")


@pytest.mark.parametrize("sign", "\u061c\u200e\u200f")
def test_a_needed_direction_mark_stays_and_is_shown(sign):
    assert f"a{sign}<span" in shown(f"a{sign}b")


def test_text_without_controls_is_unchanged():
    assert visible("fine <b> עברית") == "fine <b> עברית"
    assert shown("fine <b>") == "fine &lt;b&gt;"


@pytest.mark.django_db
def test_annotators_and_researchers_see_them_in_every_part_of_an_item(client):
    study = make_study(items_per_annotator=1, annotations_per_item=1, show_history=1)
    persona = make_persona(
        study=study,
        features=[{"key": "a", "label": "Age", "value": "3\u202e5", "text": "Is 3\u202e5."}],
        text="Free \u202e text",
        history=[{"prompt": "p\u202eq", "chosen": "c\u202ed", "rejected": "e\u202ef"}],
    )
    make_item(
        study=study,
        persona=persona,
        key="one",
        question="Q\u202e?",
        context="C\u202e",
        r1={"text": "x\u202ey", "prompt": "o\u202en"},
        r2={"text": "y"},
    )

    page = start(study, client=client).get(f"/s/{study.slug}/task/").content.decode()
    item = sign_in(study).get(f"/studies/{study.slug}/items/one/").content.decode()
    listed = sign_in(study).get(f"/studies/{study.slug}/items/").content.decode()

    for html, signs in ((page, 9), (item, 6), (listed, 1)):
        assert "\u202e" not in html
        assert html.count("U+202E</span>") >= signs
