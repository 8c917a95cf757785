"""Parquet holds the rows of JSON Lines, with kinds that pandas reads, and comes back."""

import datetime as dt
import io
import json

import pyarrow.parquet
import pytest
from django.db import transaction

from analysis.exports.columns import ITEMS
from annotation.models import Annotation
from judging.models import Judgment
from studies.exporters.tables import CsvWriter
from studies.importers.files.bundle import Bundle, File
from studies.importers.items.item_bundle import ImportOptions, read_bundle
from studies.importers.items.storage import import_items
from studies.models import Item
from tests.analysis.builders import random_study
from tests.analysis.exports.helpers import export, rows
from tests.studies.files import jsonl, raw_item, read

pytestmark = pytest.mark.django_db


def from_parquet(path):
    """Rows as JSON Lines has them: times as text, objects as objects."""

    def value(name, cell):
        if isinstance(cell, dt.datetime):
            return cell.strftime("%Y-%m-%dT%H:%MZ")
        is_json = name in {"persona_features_shown", "demographics", "flags", "machine_signs"}
        return json.loads(cell) if is_json and cell is not None else cell

    table = pyarrow.parquet.read_table(path).to_pylist()
    return [{name: value(name, cell) for name, cell in row.items()} for row in table]


@pytest.fixture(scope="module")
def bundle(django_db_setup, django_db_blocker, tmp_path_factory):
    """A study with ties and failures, exported once, and the certainties that were in it."""
    with django_db_blocker.unblock(), transaction.atomic():
        study = random_study(3)
        out = export(study, "all", tmp_path_factory.mktemp("round") / "out", format="parquet")
        answers = Annotation.objects.filter(
            assignment__annotator__study=study, assignment__item__split="main"
        ).exclude(standing="withdrawn")
        judgments = Judgment.objects.filter(run__study=study, item__split="main").exclude(
            state__in=Judgment.OPEN
        )
        stated = {
            "annotations": list(answers.values_list("certainty", flat=True)),
            "judgments": list(judgments.values_list("certainty", flat=True)),
        }
        transaction.set_rollback(True)
    return out, stated


def read_table(out, name):
    return pyarrow.parquet.read_table(out / f"data/{name}/{name}.parquet").to_pandas()


@pytest.mark.parametrize("name", ["annotations", "judgments"])
def test_pandas_keeps_whole_numbers_and_flags_where_some_are_missing(bundle, name):
    out, stated = bundle[0], bundle[1][name]

    table = read_table(out, name)

    assert (table.certainty.dtype.name, table.excluded.dtype.name) == ("Int64", "boolean")
    assert None in stated
    assert int(table.certainty.isna().sum()) == stated.count(None)
    assert int(table.certainty.sum()) == sum(filter(None, stated))


def test_a_flag_that_is_always_missing_stays_a_flag(bundle):
    checks = read_table(bundle[0], "judgments").checks_passed

    assert checks.dtype.name == "boolean"
    assert checks.isna().all()


@pytest.mark.parametrize("name", ["annotations", "judgments", "aggregates", "annotators"])
def test_parquet_and_json_lines_hold_the_same_rows(bundle, name):
    out, _ = bundle

    read_back = from_parquet(out / f"data/{name}/{name}.parquet")

    assert read_back == rows(out / f"jsonl/{name}.jsonl") != []


def test_items_from_parquet_are_the_items_of_the_database(tmp_path):
    odd = raw_item(
        1,
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
        colour={"hue": [1, "red"]},
        metadata={"turn": 1},
        warnings=["sad"],
    )
    study = import_items("one", [read(jsonl(odd, raw_item(2)))], create=True).study
    out = export(study, "items", tmp_path / "items.parquet", format="parquet")

    again = import_items("one", [_read_parquet(out)])

    assert (again.created, again.unchanged) == (0, 2)
    assert Item.everything.filter(study=study).count() == 2


def _as_text(cell):
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return f"{cell:g}"
    return cell


def _read_parquet(path):
    """The cells of a Parquet file as the CSV that they are the cells of."""
    out = io.StringIO()
    writer = CsvWriter(out)
    names = [column.name for column in ITEMS]
    writer.row(names)
    for row in pyarrow.parquet.read_table(path).to_pylist():
        writer.row(_as_text(row[name]) for name in names)
    file = File("items.csv", out.getvalue().encode())
    return read_bundle(Bundle("items.csv", file), ImportOptions("preference"))
