"""Items and personas are edited and deleted one by one while nothing depends on them."""

import re
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction
from django.template.loader import render_to_string

from extras.editing.items import delete_item, delete_items, edit_item, values_of
from studies.errors import StaleVersion, StudyError
from studies.importers.editing import edit_persona, record_of
from studies.importers.files.faults import Refused
from studies.importers.items.item_bundle import report_on
from studies.importers.items.storage import import_items
from studies.models import Item, Persona, Study
from studies.services.items import study_content_hash
from studies.services.studies import lock_study
from tests.factories import answer_all, make_study, sign_in, walk_in
from tests.studies.files import jsonl, raw_item, read
from tests.studies.media_files import import_zip, needs_media, picture, with_media, zipped

pytestmark = pytest.mark.django_db
PAGE = "/studies/one/items/x1/"
ADDRESSES = [f"{PAGE}edit/", f"{PAGE}persona/", f"{PAGE}delete/", "/studies/one/delete-items/"]


@pytest.fixture
def study() -> Study:
    study = make_study(slug="one")
    import_items("one", [read(jsonl(raw_item(1), raw_item(2)))])
    study.refresh_from_db()
    return study


@pytest.fixture
def editor(study):
    return sign_in(study)


def item(key: str = "x1") -> Item:
    return Item.everything.select_related("persona").get(key=key)


def edit(study: Study, **values: str) -> Item:
    return edit_item(
        study_id=study.pk, key="x1", values=values_of(item()) | values, seen=item().content_hash
    )


def test_an_edit_changes_the_item_its_hash_and_that_of_the_study_and_is_logged(study):
    before = item()

    edit(study, question="Tea?", response_1="Green tea.", first_person="r2", topic="drinks")

    after = item()
    assert (after.question, after.r1["text"], after.first_person) == ("Tea?", "Green tea.", "r2")
    assert after.content_hash != before.content_hash
    study.refresh_from_db()
    assert study.content_hash == study_content_hash(study)
    changed = study.log.get(event="item edited").detail["changed"]
    assert changed["question"] == [before.question, "Tea?"]
    assert set(changed) == {"question", "response_1", "first_person", "topic"}


def test_an_edited_item_equals_an_imported_one(study):
    edit(study, question="Tea?")
    make_study(slug="two")
    import_items("two", [read(jsonl(raw_item(1, question="Tea?")))])

    hashes = Item.objects.filter(key="x1").values_list("study__slug", "content_hash")
    assert len(hashes) == 2
    assert len(set(dict(hashes).values())) == 1


def test_nothing_else_of_the_item_is_lost(study):
    raw = raw_item(
        3,
        extra="kept",
        warnings=["sad"],
        metadata={"turn": 1},
        order={"shuffle": False, "fixed_first": "r2"},
    )
    import_items("one", [read(jsonl(raw))])
    before = item("x3")

    edit_item(study_id=study.pk, key="x3", values={"topic": "t"}, seen=before.content_hash)

    after = item("x3")
    assert (after.metadata, after.warnings) == (before.metadata, ["sad"])
    assert (after.fixed_first, after.shuffle_sides) == ("r2", False)


@needs_media
def test_an_edit_keeps_the_pictures_of_an_item(study, settings, tmp_path):
    settings.VAR_DIR = tmp_path
    picture_of = {"x/a.png": picture(color="red"), "x/b.png": picture(color="blue")}
    items = [with_media(9, "x/a.png", "x/b.png")]
    import_zip("one", zipped(tmp_path / "n.zip", items, picture_of))
    before = item("x9")

    edit_item(study_id=study.pk, key="x9", values={"topic": "t"}, seen=before.content_hash)

    assert item("x9").r1["media"] == before.r1["media"] != []


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"question": ""}, "question is missing"),
        ({"response_1": ""}, "response r1 is empty"),
        ({"response_2": " A soup for day 1. "}, "both responses have the same text"),
        ({"topic": "x" * 121}, "topic has 121 characters"),
        ({"question": "bell \x07"}, "control character"),
    ],
)
def test_the_rules_of_the_format_hold(study, values, said):
    with pytest.raises(Refused, match=said):
        edit(study, **values)

    assert item().topic == ""


def test_a_persona_changes_at_all_its_items(study):
    import_items("one", [read(jsonl(raw_item(3, persona=raw_item(1)["persona"])))])
    persona = item().persona
    before = {key: item(key).content_hash for key in ("x1", "x2", "x3")}

    edit_persona(
        study_id=study.pk,
        key="p1",
        features=[{"key": "age", "label": "Age", "value": "65+", "text": "Aged 65 or more."}],
        text="Retired.",
        seen=record_of(persona).fingerprint,
    )

    assert item().persona.text == "Retired."
    changed = {key for key in before if item(key).content_hash != before[key]}
    assert changed == {"x1", "x3"}
    assert study.log.filter(event="persona edited").exists()


def test_deleting_an_item_deletes_an_unused_persona(study):
    delete_item(study_id=study.pk, key="x1")

    assert list(Item.everything.values_list("key", flat=True)) == ["x2"]
    assert list(Persona.objects.values_list("key", flat=True)) == ["p2"]
    assert study.log.get(event="item deleted").detail["item"] == "x1"


def test_a_deleted_item_of_the_sample_is_replaced_by_another(study):
    Study.objects.update(human_sample=1)
    edit(study, topic="t")
    sampled = Item.objects.get(seats_needed__gt=0)

    delete_item(study_id=study.pk, key=sampled.key)

    assert Item.objects.get().seats_needed == study.annotations_per_item


def test_all_items_are_deleted_if_their_number_is_the_one_that_was_shown(study):
    with pytest.raises(StudyError, match="now has 2 items, not 1"):
        delete_items(study_id=study.pk, seen=1)

    assert delete_items(study_id=study.pk, seen=2) == (2, 2)
    assert not Item.everything.exists()
    assert study.log.get(event="items deleted").detail["removed"] == 2


def test_of_two_editors_the_second_one_is_told(study):
    seen = item().content_hash
    edit(study, question="Mine?")

    with pytest.raises(StaleVersion):
        edit_item(study_id=study.pk, key="x1", values={"question": "Yours?"}, seen=seen)

    assert item().question == "Mine?"


@pytest.mark.parametrize("has_answers", [False, True])
def test_items_are_fixed_once_somebody_has_one(study, has_answers):
    annotator = walk_in(study)
    if has_answers:
        answer_all(annotator)

    with pytest.raises(StudyError, match="Items cannot be edited, deleted or replaced"):
        edit(study, question="Tea?")
    with pytest.raises(StudyError, match="because"):
        delete_item(study_id=study.pk, key="x1")
    with pytest.raises(StudyError, match="because"):
        delete_items(study_id=study.pk, seen=2)
    with pytest.raises(StudyError, match="because"):
        edit_persona(study_id=study.pk, key="p1", features=[], text="x", seen="")

    assert item().question == raw_item(1)["question"]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_an_edit_waits_for_a_simultaneous_assignment_and_is_refused(study):
    """The annotator reads the text that they got; an edit in between would change it."""
    seen = item().content_hash

    def edit_now() -> str:
        try:
            edit_item(study_id=study.pk, key="x1", values={"question": "Tea?"}, seen=seen)
        except StudyError as error:
            return str(error)
        finally:
            connection.close()
        return ""

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            lock_study(study.pk)
            editing = pool.submit(edit_now)
            time.sleep(0.3)
            assert not editing.done()
            walk_in(study)
        refusal = editing.result(timeout=60)

    assert "annotators have been given some of them" in refusal
    assert item().question == raw_item(1)["question"]


class TestPages:
    def form(self, **changes):
        return values_of(item()) | {"seen": item().content_hash} | changes

    def test_an_item_is_edited(self, editor):
        page = editor.get(f"{PAGE}edit/").text
        assert "What shall I cook on day 1?" in page

        said = editor.post(f"{PAGE}edit/", self.form(question="Tea?"), follow=True).text

        assert "Item x1 is saved." in said
        assert item().question == "Tea?"

    def test_lines_end_as_in_an_imported_item(self, editor):
        editor.post(f"{PAGE}edit/", self.form(question="One\r\ntwo"))

        assert item().question == "One\ntwo"

    def test_a_fault_is_shown_at_its_field_with_what_was_typed(self, editor):
        response = editor.post(f"{PAGE}edit/", self.form(response_1="", question="Tea?"))

        assert response.status_code == 422
        assert '<a href="#id_response_1">Response 1: Response r1 is empty.</a>' in response.text
        assert "Tea?" in response.text

    def test_a_persona_is_edited_and_an_unchanged_sentence_follows_the_value(self, editor):
        page = editor.get(f"{PAGE}persona/").text
        assert "1 item of this study has this persona" in page
        data = {"seen": record_of(item().persona).fingerprint, "text": ""}
        data |= {"label-1": "Age", "value-1": "65+", "sentence-1": "Aged 35-44."}
        data |= {f"{n}-{k}": "" for n in ("label", "value", "sentence") for k in (2, 3, 4)}

        editor.post(f"{PAGE}persona/", data | {"label-2": "Job", "value-2": "Nurse"})

        assert item().persona.features == [
            {"key": "age", "label": "Age", "value": "65+", "text": "Aged 65+."},
            {"key": "job", "label": "Job", "value": "Nurse", "text": "Job: Nurse."},
        ]

    def test_an_item_is_deleted_after_confirmation(self, editor):
        assert "Delete x1?" in editor.get(f"{PAGE}delete/").text
        assert item()

        said = editor.post(f"{PAGE}delete/", follow=True).text

        assert "Item x1 is deleted." in said
        assert not Item.everything.filter(key="x1").exists()

    def test_all_items_are_deleted_by_typing_the_name(self, editor):
        address = "/studies/one/delete-items/"
        assert "This deletes 2 items and 2 personas" in editor.get(address).text

        wrong = editor.post(address, {"typed": "two", "seen": "2"})
        assert (wrong.status_code, Item.everything.count()) == (422, 2)
        said = editor.post(address, {"typed": "one", "seen": "2"}, follow=True).text

        assert "Deleted 2 items." in said
        assert not Item.everything.exists()

    @pytest.mark.nightly
    def test_with_answers_the_pages_say_why_items_are_fixed(self, editor, study):
        answer_all(walk_in(study))

        for address in ADDRESSES:
            said = editor.get(address, follow=True)
            assert "Items cannot be edited, deleted or replaced, because the study has" in said.text
            assert said.redirect_chain
        for page in (PAGE, "/studies/one/items/", "/studies/one/import/"):
            assert "because the study has answers or judgments" in editor.get(page).text
            assert "Edit item" not in editor.get(page).text

    def test_the_pages_make_few_queries(self, editor, django_assert_max_num_queries):
        for address in ADDRESSES:
            with django_assert_max_num_queries(19):
                editor.get(address)


def test_the_texts_of_an_option_set_are_not_edited_in_one_of_its_pairs(study):
    others = [{"place": 3, "text": "A cake."}]
    option_set = {"id": "q", "rule": "all", "place": {"r1": 1, "r2": 2}, "others": others}
    import_items("one", [read(jsonl(raw_item(3, option_set={**option_set, "chosen": None})))])
    pair = item("x3")

    def edit_pair(**values):
        given = values_of(pair) | values
        return edit_item(study_id=study.pk, key="x3", values=given, seen=pair.content_hash)

    with pytest.raises(StudyError, match="one pair of a set of options"):
        edit_pair(response_1="Another soup.")
    edit_pair(topic="Food")
    assert item("x3").topic == "Food"
    assert item("x3").option_set["others"][0]["text"] == "A cake."


def test_forms_and_previews_name_the_language_of_an_item(editor, study):
    arabic = raw_item(3, id="ar", language="ar", question="ماذا أطبخ؟")
    import_items("one", [read(jsonl(arabic))])

    form = editor.get("/studies/one/items/ar/edit/").text
    persona = editor.get("/studies/one/items/ar/persona/").text
    report = report_on([read(jsonl(arabic))])
    shown = render_to_string("studies/_import_report.html", {"report": report, "study": study})

    for name in ("question", "response_1", "context"):
        assert re.search(rf'<(textarea|input)[^>]*name="{name}"[^>]* lang="ar" dir="auto"', form)
    assert not re.search(r'name="topic"[^>]*lang=', form)
    assert re.search(r'<textarea[^>]*name="text"[^>]* lang="ar"', persona)
    assert '<strong lang="ar" dir="auto">' in shown
