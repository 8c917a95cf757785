"""Notes and tags of items: who writes them, where they are shown, and their table."""

import csv
import io
import json

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from analysis.exports.study_export import export_study
from extras.audit import notes
from extras.audit.models import ItemNote
from extras.audit.notes import read_tags, save_note
from studies.models import Item, StudyLog
from studies.services.studies import lock_study
from tests.analysis.exports.helpers import export, rows
from tests.extras.turning_off import turn_off
from tests.factories import make_item, make_items, make_study, sign_in
from tests.studies.hostile import HOSTILE, looks_like_a_formula, rows_of

pytestmark = pytest.mark.django_db
SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def study():
    return make_study(slug="one")


@pytest.fixture
def item(study):
    return make_item(study=study, key="i1", first_person="r1")


def text_of(response):
    return " ".join(response.content.decode().split())


def save(client, key="i1", **given):
    data = {"text": "", "tags": "", "version": "0"} | given
    return client.post(reverse("audit:note", args=["one", key]), data)


def test_an_editor_stores_a_note_and_tags_and_the_log_names_them(study, item):
    client = sign_in(study, "editor")

    response = save(client, text="Sarcastic.\r\nSee the context.", tags="Sarcasm, hard,sarcasm")

    assert response["Location"] == reverse("studies:item", args=["one", "i1"]) + "#note"
    note = ItemNote.objects.get()
    assert (note.text, note.version) == ("Sarcastic.\nSee the context.", 1)
    assert [tag.name for tag in note.tags.all()] == ["hard", "sarcasm"]
    save(client, text="", tags="hard", version="1")
    note.refresh_from_db()
    assert (note.text, note.version, note.tags.count()) == ("", 2, 1)
    latest, first = StudyLog.objects.filter(event="item note changed")
    assert first.detail == {
        "item": "i1",
        "has_note": True,
        "added": ["hard", "sarcasm"],
        "removed": [],
    }
    assert latest.detail["removed"] == ["sarcasm"]


def test_two_editors_do_not_overwrite_each_other(study, item):
    client = sign_in(study, "editor")
    save(client, text="First.")

    for version in ("0", "7"):
        response = save(client, text="Second.", tags="mine", version=version)

        assert response.status_code == 422
        page = text_of(response)
        assert "Somebody else changed the note" in page
        assert "First." in page
        assert "Second.</textarea>" in page
    assert ItemNote.objects.get().text == "First."
    assert 'name="version" value="1"' in page


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"tags": "x" * 41}, "at most 40 characters for a tag"),
        ({"tags": ",".join(map(str, range(21)))}, "at most 20 tags"),
        ({"text": "x" * 5001}, "at most 5,000 characters for the note"),
    ],
)
def test_a_note_that_is_too_long_is_refused_and_kept_in_the_form(study, item, given, words):
    response = save(sign_in(study, "editor"), **given)

    assert response.status_code == 422
    assert words in text_of(response)
    assert "<title>Error: " in text_of(response)
    assert response.context["entered"] == {"text": "", "tags": ""} | given
    assert not ItemNote.objects.exists()


@pytest.fixture
def items(study):
    return make_items(study, 3)


def write(item, text, tags=(), version=0):
    user, _ = User.objects.get_or_create(username="ada")
    save_note(item.study, item.pk, item.key, text=text, tags=[*tags], version=version, user=user)


def listed(client, **query):
    return client.get(reverse("disagreements:list", args=["one"]), {"show": "all"} | query)


def test_notes_and_tags_are_shown_and_filter_the_list(study, items):
    write(items[1], "Ironic.", ["irony"])
    client = sign_in(study, "viewer")

    for tag in ("irony", "*"):
        page = listed(client, tag=tag)
        assert [line.row.key for line in page.context["lines"]] == [items[1].key]
        assert page.context["total"] == 1
        assert "Ironic." in text_of(page)
    assert listed(client, tag="other").context["total"] == 0
    assert "Clear filters" in text_of(listed(client, tag="other"))
    rows_of_file = csv.DictReader(io.StringIO(listed(client, format="csv").text))
    assert [(row["tags"], row["note"]) for row in rows_of_file] == [
        ("", ""),
        ("irony", "Ironic."),
        ("", ""),
    ]


def test_without_the_extra_no_page_has_notes_and_they_stay(study, items):
    write(items[1], "Ironic.", ["irony"])
    client = sign_in(study, "editor")
    turn_off(study, "audit")

    page = listed(client, tag="irony")

    assert page.context["total"] == 3
    assert "Ironic." not in text_of(page)
    assert "Notes and tags" not in text_of(page)
    assert listed(client, format="csv").text.splitlines()[0].endswith("judge_certainty")
    of_item = client.get(reverse("studies:item", args=["one", items[1].key]))
    assert "Note and tags" not in text_of(of_item)
    assert save(client, items[1].key).status_code == 409
    assert ItemNote.objects.get().text == "Ironic."


def test_notes_and_tags_of_items_are_a_table_of_their_own(study, items, tmp_path):
    write(items[0], "=Ironic.", ["irony"])
    write(items[1], "Gone.")
    write(items[1], "", version=1)

    (row,) = rows(export(study, "notes", tmp_path / "n.jsonl"))
    path = export(study, "notes", tmp_path / "n.csv", format="csv")
    with path.open(encoding="utf-8") as file:
        (cells,) = csv.DictReader(file)

    assert (row["item_id"], row["tags"], row["note"]) == (items[0].key, ["irony"], "=Ironic.")
    assert (cells["tags"], cells["note"]) == ('["irony"]', "'=Ironic.")
    assert "ada" not in json.dumps(row)
    export_study(study, what="all", out=tmp_path / "all")
    assert not [path for path in (tmp_path / "all").rglob("*") if "notes" in path.name]


def test_hostile_text_is_shown_as_text(study, item):
    client = sign_in(study, "editor")

    save(client, text=SCRIPT, tags=SCRIPT)

    for page in (client.get(reverse("studies:item", args=["one", "i1"])), listed(client)):
        assert SCRIPT not in page.text
        assert page.text.count("&lt;script&gt;") > 1


def test_a_note_on_an_item_being_deleted_is_not_a_server_error(study, monkeypatch):
    make_item(study=study, key="one")
    client = sign_in(study, "owner")

    def delete_first(study_id):
        Item.objects.filter(key="one").delete()
        return lock_study(study_id)

    monkeypatch.setattr(notes, "lock_study", delete_first)

    answer = client.post(reverse("audit:note", args=["one", "one"]), {"text": "A note."})

    assert answer.status_code == 404
    assert not ItemNote.objects.exists()
    monkeypatch.undo()
    make_item(study=study, key="two", split="practice")
    client.post(reverse("audit:note", args=["one", "two"]), {"text": "A note."})
    assert ItemNote.objects.get().item.key == "two"


def test_no_note_or_tag_is_a_formula_in_a_spreadsheet(study, tmp_path):
    texts = [text for text in HOSTILE if text.strip() and "\0" not in text]
    for item, text in zip(make_items(study, len(texts)), texts, strict=True):
        write(item, text, read_tags(text))

    path = export(study, "notes", tmp_path / "notes.csv", format="csv")

    cells = [cell for row in rows_of(path.read_text("utf-8")) for cell in row]
    assert len(cells) > len(texts)
    assert [cell for cell in cells if looks_like_a_formula(cell)] == []
