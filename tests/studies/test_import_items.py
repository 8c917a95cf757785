"""Items into the database: whole or not at all, and the same again changes nothing."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from studies.errors import StudyError
from studies.importers.files.faults import Refused
from studies.importers.items.storage import import_items
from studies.models import Item, Persona, Study, StudyLog
from studies.services.studies import freeze
from tests.factories import make_study
from tests.studies.files import DATASET, jsonl, raw_item, read, zipped

pytestmark = pytest.mark.django_db


def put(study, *rows, **options):
    return import_items(study.slug, [read(jsonl(*rows))], **options)


def everything():
    return [list(model.objects.order_by("pk").values()) for model in (Study, Persona, StudyLog)] + [
        list(Item.everything.order_by("pk").values())
    ]


def test_an_import_stores_items_personas_seats_a_hash_and_a_log_row():
    study = make_study(annotations_per_item=3)

    result = put(study, raw_item(1), raw_item(2, split="practice", persona=raw_item(1)["persona"]))

    main, practice = Item.everything.order_by("key")
    assert (main.seats_needed, practice.seats_needed) == (3, 0)
    assert main.persona == practice.persona
    study.refresh_from_db()
    assert len(study.content_hash) == 64
    detail = study.log.get().detail
    assert (detail["files"], detail["created"]) == (["items.jsonl"], 2)
    assert detail["read"][0] | {"limit": 0} == {
        "files": ["items.jsonl"],
        "format": "jsonl",
        "task": "preference",
        "limit": 0,
        "options": {},
        "seed": None,
        "rows": {"items.jsonl": 2},
        "left_out": {},
    }
    assert str(result) == (
        f"Imported 2 items and 1 persona into “{study.slug}”. Own answers: 2 of 2 items."
    )


def test_importing_the_same_file_again_changes_nothing():
    study = make_study()
    put(study, raw_item(1), raw_item(2))
    before = everything()

    result = put(study, raw_item(1), raw_item(2))

    assert (result.created, result.unchanged) == (0, 2)
    assert everything() == before


def test_a_broken_row_in_the_middle_of_a_large_file_leaves_the_database_as_it_was():
    study = make_study()
    put(study, raw_item(5000))
    before = everything()
    rows = [raw_item(n) for n in range(1, 1001)]
    rows[499] = raw_item(500, question=None)

    with pytest.raises(Refused, match="Line 500, item “x500”: question is missing"):
        put(study, *rows)

    assert everything() == before


def test_an_item_with_other_content_refuses_the_file_and_names_it():
    study = make_study()
    put(study, raw_item(1))
    before = everything()

    with pytest.raises(Refused) as caught:
        put(study, raw_item(2), raw_item(1, question="Something else?"))

    assert [str(fault) for fault in caught.value.faults] == [
        f"Line 2: item “x1” is in the study “{study.slug}” with another question. Imported items "
        "do not change. Give a changed item its own id."
    ]
    assert everything() == before


def test_a_persona_with_other_content_refuses_the_file():
    study = make_study()
    put(study, raw_item(1))
    changed = {"id": "p1", "features": [{"key": "age", "value": "18-24"}]}

    with pytest.raises(Refused, match=r"persona “p1” is in the study .* with other features"):
        put(study, raw_item(2, persona=changed))
    with pytest.raises(Refused, match=r"item “x1” is in the study .* with another persona"):
        put(study, raw_item(1, persona=changed))

    assert Item.objects.count() == 1


def test_rows_that_conflict_with_the_study_or_another_file_are_left_out_on_request():
    study = make_study()
    put(study, raw_item(1))
    changed = {"id": "p1", "features": [{"key": "age", "value": "18-24"}]}
    one = read(jsonl(raw_item(1, question="Else?"), raw_item(2)))
    other = read(
        jsonl(
            raw_item(2, question="Other?", persona={"id": "p7", "text": "Short."}),
            raw_item(3),
            raw_item(4, persona={"id": "p2", "text": "Tall."}),
            raw_item(5, persona=changed),
        ),
        name="more.jsonl",
    )

    result = import_items(study.slug, [one, other], skip_faulty=True)

    assert (result.created, len(result.skipped)) == (2, 4)
    assert set(Item.objects.values_list("key", flat=True)) == {"x1", "x2", "x3"}
    assert Item.objects.get(key="x2").question == raw_item(2)["question"]
    assert "Faulty rows left out: 4." in str(result)


def test_items_can_be_appended_to_a_frozen_study_and_none_changed():
    study = make_study()
    put(study, raw_item(1))
    freeze(study.pk)
    old = Study.objects.get().content_hash

    put(study, raw_item(1), raw_item(2))
    with pytest.raises(Refused):
        put(study, raw_item(2, context="More."))

    assert Item.objects.count() == 2
    assert Study.objects.get().content_hash != old


def test_a_dry_run_says_what_would_happen_and_stores_nothing():
    study = make_study()
    before = everything()

    result = put(study, raw_item(1), dry_run=True)

    assert str(result).startswith("Would import 1 item and 1 persona")
    assert everything() == before


def test_create_makes_a_study_from_what_the_files_say():
    file = read(jsonl(raw_item(1, task="authorship", context="An article.")))

    import_items("fresh", [file], create=True)

    study = Study.objects.get(slug="fresh")
    assert (study.state, study.task) == ("open", "authorship")


@pytest.mark.parametrize("words", [("allowed", "forbidden"), ("forbidden", "allowed", None)])
def test_the_strictest_redistribution_rule_applies_to_the_study(words):
    study = make_study()
    for number, word in enumerate(words):
        source = {"name": f"set {number}"} | ({"redistribution": word} if word else {})
        about = json.dumps(DATASET | {"source": source})
        data = zipped(items__jsonl=jsonl(raw_item(number)), dataset__json=about)
        import_items(study.slug, [read(data, name="b.zip")])

    study.refresh_from_db()
    assert study.source == {"name": "set 0", "redistribution": "forbidden"}


def test_a_refused_file_leaves_no_study_behind():
    twice = [read(jsonl(raw_item(1))), read(jsonl(raw_item(1, question="Else?")), name="b.jsonl")]

    with pytest.raises(Refused, match=r"item “x1” is in items\.jsonl, line 1"):
        import_items("fresh", twice, create=True)
    with pytest.raises(StudyError, match="There is no study “fresh”"):
        import_items("fresh", twice[:1])

    assert not Study.objects.exists()


def test_a_sample_for_people_is_drawn_by_topic_and_leaves_the_rest_to_judges():
    study = make_study(annotations_per_item=3, human_sample=10)
    rows = [raw_item(n, topic="a" if n <= 30 else "b") for n in range(1, 41)]

    result = put(study, *rows)

    sampled = Item.objects.filter(seats_needed=3)
    assert result.seated == sampled.count() == 10
    assert sampled.filter(topic="b").count() in {2, 3}
    assert Item.objects.filter(seats_needed=0).count() == 30


def test_queries_do_not_grow_with_existing_rows():
    study = make_study()
    small, large = [raw_item(n) for n in range(5)], [raw_item(n) for n in range(200)]

    with CaptureQueriesContext(
        connection,
    ) as first:
        put(study, *small)
    put(study, *large)
    with CaptureQueriesContext(connection) as again:
        put(study, *large)

    assert len(first) <= 25
    assert len(again) <= 13  # one looks up the preset that the study was made from


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_imports_of_one_file_at_once_store_it_once():
    study = make_study()
    file = read(jsonl(*[raw_item(n) for n in range(200)]))

    def put_it(_):
        try:
            return import_items(study.slug, [file]).created
        finally:
            connection.close()

    with ThreadPoolExecutor(max_workers=4) as pool:
        created = list(pool.map(put_it, range(4)))

    assert sorted(created) == [0, 0, 0, 200]
    assert Item.objects.count() == 200
    assert study.log.count() == 1
