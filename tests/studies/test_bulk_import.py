"""Many items at once: in little memory, with few queries, and stored exactly as they were read."""

import tracemalloc

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from studies.importers.files.bundle import open_path
from studies.importers.files.faults import Refused
from studies.importers.items.item_bundle import ImportOptions, read_bundle
from studies.importers.items.storage import import_items
from studies.models import Item, Persona
from tests.factories import make_study
from tests.studies.files import jsonl, raw_item, read

pytestmark = pytest.mark.django_db

AWKWARD = "A\ttab,\na line, a \\ and \\N, “quotes”, a ' and a \"."


def test_awkward_text_and_empty_values_are_stored_as_they_were_read():
    study = make_study(annotations_per_item=2)
    awkward = raw_item(
        1,
        question=AWKWARD,
        responses=[{"text": AWKWARD, "score": 0.5}, {"text": "\\N"}],
        metadata={"note": AWKWARD, "deep": [{"a": None}]},
    )

    import_items(study.slug, [read(jsonl(awkward, raw_item(2, question="\\N")))])

    first, second = Item.objects.order_by("key")
    assert (first.question, second.question) == (AWKWARD, "\\N")
    assert (first.r1["text"], first.r1["score"], first.r2["text"]) == (AWKWARD, 0.5, "\\N")
    assert first.metadata == {"note": AWKWARD, "deep": [{"a": None}]}
    assert (first.margin, first.label_confidence, first.seats_needed) == (None, None, 2)
    assert first.created_at is not None
    assert first.shuffle_key != second.shuffle_key


def test_an_import_of_many_items_takes_no_more_queries():
    def queries(study, *numbers):
        file = read(jsonl(*(raw_item(n) for n in numbers)))
        with CaptureQueriesContext(
            connection,
        ) as captured:
            import_items(study.slug, [file])
        return len(captured)

    assert queries(make_study(), *range(900)) == queries(make_study(), 1)


@pytest.mark.nightly
@pytest.mark.slow
def test_reading_six_times_the_items_needs_no_more_memory(tmp_path):
    def peak(items):
        path = tmp_path / f"{items}.jsonl"
        path.write_bytes(
            jsonl(
                *(
                    raw_item(n, persona=raw_item(1)["persona"], context="x" * 4_000)
                    for n in range(items)
                )
            )
        )
        tracemalloc.start()
        found = read_bundle(open_path(path), ImportOptions("preference"))
        count = sum(1 for _ in found.items)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert count == items
        return most

    peak(100)

    # As many of the last items are in memory: a batch is written when it is full.
    assert peak(3_600) < 1.5 * peak(600)


def test_items_of_several_parts_share_a_persona_and_a_late_fault_stores_nothing(monkeypatch):
    monkeypatch.setattr("studies.importers.items.storage._CHUNK", 2)
    study = make_study()
    shared = raw_item(1)["persona"]
    rows = [raw_item(n, persona=shared) for n in range(1, 6)]
    import_items(study.slug, [read(jsonl(*rows[:3]))])
    changed = raw_item(2, persona=shared, question="Something else?")

    with pytest.raises(Refused, match="item “x2” is in the study"):
        import_items(study.slug, [read(jsonl(*rows[3:], raw_item(7), changed))])
    assert (Item.objects.count(), Persona.objects.count()) == (3, 1)

    result = import_items(study.slug, [read(jsonl(*rows, raw_item(7)))])
    assert (result.created, result.unchanged, result.personas) == (3, 3, 1)
