"""Exported items come back as the same items."""

import io

import pytest

from studies.exporters.items import dataset_description, item_cells, item_rows
from studies.exporters.tables import CsvWriter
from studies.importers.files.readers import COLUMNS
from studies.importers.items.storage import import_items
from studies.models import Item, Study
from tests.factories import make_study
from tests.studies.files import jsonl, raw_item, read

pytestmark = pytest.mark.django_db

ODD = [
    raw_item(
        1,
        reference="=A soup",
        colour={"hue": [1, "red"]},
        metadata={"turn": 1, "list": [1.5, None]},
        topic="a",
    ),
    raw_item(
        2,
        question="=SUM(A1)?",
        responses=[
            {
                "key": "r1",
                "text": '-go,\n"now"',
                "score": 90,
                "generated_by": {"kind": "model", "name": "m", "provider": "p", "family": "f"},
            },
            {"key": "r2", "text": "'@stay", "score": 55.5, "generated_by": {"kind": "human"}},
        ],
        first_person={"label": "r1", "margin": 34.5, "source": "self_report"},
    ),
    raw_item(
        3,
        task="question_answer_authorship",
        question=None,
        responses=[
            {"key": "r1", "text": "A", "prompt": "Q?"},
            {"key": "r2", "text": "B", "prompt": "P?"},
        ],
        first_person={"label": "tie", "tie": True, "label_confidence": 0.5},
        order={"shuffle": False, "fixed_first": "r2"},
        language="de",
        group="g",
        advice={"text": '=One: "A", two: B', "title": "Two say", "kind": "debate", "favors": "r2"},
    ),
    raw_item(
        4,
        split="attention_check",
        question="Please choose response 2.",
        check={"correct": "r2", "instruction": "choose response 2"},
        warnings=["sad"],
    ),
    raw_item(
        5,
        persona={
            "id": "p5",
            "text": "Someone – with “history”.",
            "history": [{"prompt": "Before?", "chosen": "Yes", "rejected": "No"}],
        },
        context="Some text.",
        context_title="News",
    ),
]


def hashes():
    return dict(Item.everything.values_list("key", "content_hash"))


@pytest.fixture
def study():
    study = make_study(slug="one")
    import_items("one", [read(jsonl(*ODD))])
    return study


def test_json_lines_come_back_unchanged(study):
    before = hashes()

    again = import_items("two", [read(jsonl(*item_rows(study)))], create=True)

    assert again.created == 5
    copies = Item.everything.filter(study=again.study).values_list("key", "content_hash")
    assert dict(copies) == before
    assert import_items("one", [read(jsonl(*item_rows(study)))]).unchanged == 5


def test_csv_comes_back_unchanged(study):
    out = io.StringIO()
    writer = CsvWriter(out)
    writer.row(COLUMNS)
    for row in item_rows(study):
        cells = item_cells(row)
        writer.row(cells.get(column) for column in COLUMNS)

    result = import_items("one", [read(out.getvalue().encode(), name="items.csv")])

    assert (result.created, result.unchanged) == (0, 5)
    assert "'=SUM(A1)?" in out.getvalue()


def test_a_source_that_forbids_redistribution_gives_ids_and_hashes_only(study):
    Study.objects.update(source={"redistribution": "forbidden"})
    study.refresh_from_db()

    rows = list(item_rows(study))

    assert [row["id"] for row in rows] == ["x1", "x2", "x3", "x4", "x5"]
    assert {row["id"]: row["content_hash"] for row in rows} == hashes()
    assert not any("question" in row or "persona" in row for row in rows)


def test_the_description_of_an_export_says_where_items_come_from(study):
    study.source = {"name": "set", "licence": "MIT", "dataset": {"importer": {"name": "i"}}}

    described = dataset_description(study, items=5, sha256="0" * 64)

    assert described["format"] == "thirdperson-items"
    assert described["source"] == {"name": "set", "licence": "MIT"}
    assert described["importer"] == {"name": "i"}
    assert described["counts"] == {"items": 5}
