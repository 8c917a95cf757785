"""A kept frame that is filled equals what the template renders, byte for byte."""

import pytest
from django.middleware import csrf
from django.shortcuts import render

from annotation.models import Annotator, Assignment, Draft
from annotation.participants.deadline import Deadline
from annotation.participants.items import item_page, task_views
from tests.annotation.pages.walking import post_answer, start
from tests.factories import make_item, make_items, make_persona, make_study

pytestmark = pytest.mark.django_db

HOSTILE = "<b>\"1\" & '2'</b> \u202eturned {{ token }} %(x)s\nnext"
# Texts with a control character are escaped elsewhere than those without one.
MARKUP = "<i>1</i> & '2'"
LOOKS = {
    "plain": {},
    "hostile": {"title": HOSTILE, "contact": "a@b.example", "ai_policy": f"# No\n{HOSTILE}"},
    "tie": {"allow_tie": True, "ask_certainty": False},
    "either": {"allow_tie": True, "tie_meaning": "either"},
    "own answers": {"perspective": "own", "allow_tie": True, "language": "de"},
    "levels": {"certainty_control": "levels", "allow_tie": True},
    "number, facts": {"certainty_control": "number", "persona_style": "facts"},
    "final, German": {"allow_changes": False, "language": "de", "show_history": 1},
    "criteria": {
        "criteria": [
            {"key": "a", "name": HOSTILE, "description": HOSTILE},
            {"key": "b", "name": "Kindness", "description": ""},
        ]
    },
    "right to left, link": {"language": "ar", "entry": "link", "is_simulated": True},
}
FILE = {
    "sha256": "a" * 64,
    "type": "image/png",
    "size": 9,
    "width": 4,
    "height": 3,
    "description": HOSTILE,
}
ITEMS = {
    "bare": {"question": ""},
    "full": {
        "question": HOSTILE,
        "context": HOSTILE,
        "context_title": HOSTILE,
        "warnings": ["death", HOSTILE],
        "r1": {"text": HOSTILE, "prompt": HOSTILE},
    },
    "markup": {
        "question": MARKUP,
        "context": MARKUP,
        "context_title": MARKUP,
        "r1": {"text": MARKUP, "prompt": MARKUP},
    },
    "folded": {"context": f"{HOSTILE} {'word ' * 900}", "context_title": HOSTILE},
    "media": {
        "media": [FILE | {"type": "audio/wav", "seconds": 2.0}],
        "r1": {"text": "", "media": [FILE, FILE | {"description": "", "no_description": HOSTILE}]},
        "r2": {"text": HOSTILE},
    },
    "untitled": {"context": "Some context", "task": "survey_answer"},
}


@pytest.fixture
def compared(monkeypatch):
    """Every item page that is shown also as the template renders it: pairs of texts."""
    pairs = []
    monkeypatch.setattr(csrf, "_mask_cipher_secret", lambda secret: secret * 2)
    # Both read the clock, one after the other.
    monkeypatch.setattr(Deadline, "warns_in", 1234)

    def both(request, context, **options):
        filled = item_page.item_page(request, context, **options)
        direct = render(request, item_page.TEMPLATE, context, **options)
        pairs.append((filled.content.decode(), direct.content.decode()))
        return filled

    monkeypatch.setattr(task_views, "item_page", both)
    return pairs


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("look", LOOKS)
def test_a_filled_frame_is_the_page(look, compared):
    study = make_study(items_per_annotator=8, **LOOKS[look] | {"entry": "prolific", "slug": "s"})
    type(study).objects.update(entry="prolific")
    persona = make_persona(
        study=study, text=HOSTILE, history=[{"prompt": HOSTILE, "chosen": "c", "rejected": "r"}]
    )
    for number, fields in enumerate([*ITEMS.values(), *ITEMS.values()]):
        make_item(study=study, persona=persona, key=f"i{number}", **fields)
    client = start(study)
    type(study).objects.update(entry=study.entry)

    for position in range(1, 9):
        page = client.get(f"/s/s/task/{position}/")
        assert page.status_code == 200
        _other_views(client, position)
        certainty = None if position % 2 else "55"
        post_answer(client, page, f"/s/s/task/{position}/", choice=None)
        post_answer(client, page, f"/s/s/task/{position}/", choice="ab"[position % 2])
        if certainty and study.allow_changes:
            client.get(f"/s/s/task/{position}/")
        Annotator.objects.update(expires_at=None)

    assert len(compared) > 20
    assert all(filled == direct for filled, direct in compared)


def _other_views(client, position):
    """The same item skipped, with a draft, and with its time nearly over."""
    assignment = Assignment.objects.get(position=position)
    Assignment.objects.filter(pk=assignment.pk).update(state="skipped", is_surplus=True)
    client.get(f"/s/s/task/{position}/")
    Assignment.objects.filter(pk=assignment.pk).update(state="reserved", is_surplus=False)
    draft = Draft.objects.create(assignment=assignment, choice="r1", certainty="6<0")
    client.get(f"/s/s/task/{position}/")
    draft.delete()
    client.get("/s/s/task/")


def test_a_study_that_changes_is_shown_as_it_is_now(compared):
    study = make_study(items_per_annotator=1, title="Old")
    make_items(study, 1)
    client = start(study)
    client.get(f"/s/{study.slug}/task/")

    type(study).objects.update(title="New")

    assert "New</title>" in client.get(f"/s/{study.slug}/task/").content.decode()


def test_a_title_cannot_hold_a_mark(compared):
    study = make_study(items_per_annotator=1, title="\x02token\x03 token-")
    make_items(study, 1)

    page = start(study).get(f"/s/{study.slug}/task/")

    assert page.status_code == 200
    assert "token-" in page.content.decode()
