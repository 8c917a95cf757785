"""What a bundle holds is what the database holds: every row of every table, from every format."""

import datetime as dt
import io
import json
from dataclasses import replace
from random import Random

import pyarrow.parquet
import pytest
from django.core.management import call_command
from django.db import transaction
from django.utils import timezone

from analysis.data.dataset import load_dataset
from analysis.exports.columns import ITEMS
from analysis.exports.rows import exported_id
from analysis.report.build import build_report
from analysis.report.report_json import to_json
from annotation.models import Annotation
from annotation.services import exclude
from judging.models import Judgment
from studies.exporters.tables import CsvWriter
from studies.importers.files.bundle import Bundle, File
from studies.importers.items.item_bundle import ImportOptions, read_bundle
from studies.importers.items.storage import import_items
from studies.models import Item
from tests.analysis.builders import random_study
from tests.analysis.exports.helpers import export, rows
from tests.factories import answer_item, make_study, walk_in
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
    """A study with ties, failures and missing truths, exported once, and what was in it."""
    with django_db_blocker.unblock(), transaction.atomic():
        study = random_study(3)
        key = study.export_key
        out = export(study, "all", tmp_path_factory.mktemp("round") / "out", format="parquet")
        answers = {
            (a.assignment.item.key, exported_id(key, a.assignment.annotator.pseudonym)): (
                a.choice,
                a.certainty,
                a.standing,
                a.assignment.shown_first or None,
                a.active_ms,
                a.answered_at.strftime("%Y-%m-%dT%H:%MZ"),
            )
            for a in Annotation.objects.filter(assignment__annotator__study=study)
            .exclude(standing="withdrawn")
            .filter(assignment__item__split="main")
            .select_related("assignment__item", "assignment__annotator")
        }
        judgments = {
            (j.run.key, j.item.key, j.shown_first or None, j.sample): (
                j.choice or None,
                j.certainty,
                j.raw_text or None,
                j.replies,
            )
            for j in Judgment.objects.filter(run__study=study, item__split="main")
            .exclude(state__in=Judgment.OPEN)
            .select_related("run", "item")
        }
        people = {
            (exported_id(key, person.pseudonym),): (
                person.state,
                person.is_imported,
                person.excluded_at is not None,
                Annotation.objects.filter(assignment__annotator=person).count(),
            )
            for person in study.annotators.all()
        }
        transaction.set_rollback(True)
    return out, answers, judgments, people


def readers(out, name):
    return {
        "jsonl": rows(out / f"jsonl/{name}.jsonl"),
        "parquet": from_parquet(out / f"data/{name}/{name}.parquet"),
    }


READ_BACK = {
    "annotations": (
        ("item_id", "rater_id"),
        ("choice", "certainty", "standing", "shown_first", "active_ms", "answered_at"),
    ),
    "judgments": (
        ("run", "item_id", "shown_first", "sample"),
        ("choice", "certainty", "raw_text", "attempts"),
    ),
    "annotators": (("rater_id",), ("state", "imported", "excluded", "answers")),
}


@pytest.mark.parametrize("table", READ_BACK)
def test_rows_read_back_are_those_of_the_database(bundle, table):
    out, *stored = bundle
    keys, names = READ_BACK[table]

    read = rows(out / f"jsonl/{table}.jsonl")

    found = {tuple(row[key] for key in keys): tuple(row[name] for name in names) for row in read}
    assert len(found) == len(read) > 5
    assert found == stored[list(READ_BACK).index(table)]


def test_pandas_keeps_whole_numbers_and_flags_where_some_are_missing(bundle):
    out, answers, judgments, _ = bundle

    people = pyarrow.parquet.read_table(out / "data/annotations/annotations.parquet").to_pandas()
    models = pyarrow.parquet.read_table(out / "data/judgments/judgments.parquet").to_pandas()

    for table, stored in ((people, answers), (models, judgments)):
        assert (table.certainty.dtype.name, table.excluded.dtype.name) == ("Int64", "boolean")
        stated = [certainty for _, certainty, *_ in stored.values()]
        assert None in stated
        assert int(table.certainty.isna().sum()) == stated.count(None)
        assert int(table.certainty.sum()) == sum(filter(None, stated))
    assert models.checks_passed.dtype.name == "boolean"
    assert models.checks_passed.isna().all()


@pytest.mark.parametrize("name", ["annotations", "judgments", "aggregates", "annotators"])
def test_parquet_and_json_lines_hold_the_same_rows(bundle, name):
    found = readers(bundle[0], name)

    assert found["parquet"] == found["jsonl"] != []


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


def _without_the_record(report):
    """A report without what a file of answers does not hold: who took part how, and names."""
    del report["inputs"]["record_hash"]
    human = ("people", "pay", "not_counted", "raters", "annotators")
    for key in (*human, "before_exclusions", "exclusions", "without_flagged"):
        report["human"].pop(key, None)
    for judge in report["judges"]:
        del judge["record"]
    limits = {one["limit"]: one["text"] for one in report["limitations"]}
    limits.pop("excluded", None)
    limits.pop("opt_in", None)  # where people were found
    return report | {"limitations": limits}


def test_a_live_study_that_is_imported_elsewhere_has_the_same_inputs_and_the_same_report(tmp_path):
    terms = {"allow_tie": True, "ask_certainty": True, "title": "Suppers", "items_per_annotator": 5}
    live = make_study(slug="live", annotations_per_item=3, **terms)
    (tmp_path / "items.jsonl").write_text(
        "".join(json.dumps(raw_item(id=f"i{n:02}")) + "\n" for n in range(10)), "utf-8"
    )
    call_command("import_items", "live", str(tmp_path / "items.jsonl"))
    random = Random(5)
    people = [walk_in(live) for _ in range(6)]
    for turn in range(5):
        for person in random.sample(people, len(people)):
            _answer_next(person, random.choice(("r1", "r2", "tie")), random.randint(1, 100), turn)
    exclude(annotator_id=people[2].pk, reason="Asleep.", user=None)
    judged = [f"i{n:02},{random.choice(('r1', 'r2'))},80\n" for n in range(10)]
    (tmp_path / "j.csv").write_text("item_id,choice,certainty\n" + "".join(judged))
    call_command("import_judgments", "live", str(tmp_path / "j.csv"), "--judge", "gpt")
    out = export(live, "all", tmp_path / "out")
    make_study(slug="moved", **terms, annotations_per_item=3)
    call_command("import_items", "moved", str(out / "jsonl/items.jsonl"))
    lines = (out / "jsonl/annotations.jsonl").read_text("utf-8").splitlines(keepends=True)
    (tmp_path / "shuffled.jsonl").write_text("".join(random.sample(lines, len(lines))), "utf-8")
    call_command("import_annotations", "moved", str(tmp_path / "shuffled.jsonl"))
    judgments = str(out / "jsonl/judgments.jsonl")
    call_command("import_judgments", "moved", judgments, "--judge", "gpt")

    first, second = load_dataset("live"), load_dataset("moved")
    second = replace(second, study=first.study)
    reports = [to_json(build_report(data, seed=1, bootstrap=50)) for data in (first, second)]
    reports[1] = reports[1].replace(second.runs[0].run, first.runs[0].run)
    moved, stayed = (_without_the_record(json.loads(text)) for text in reversed(reports))

    assert second.inputs_hash == first.inputs_hash
    assert moved == stayed


def _answer_next(person, choice, certainty, turn):
    seat = person.assignments.filter(annotation=None).order_by("position").first()
    answer_item(
        seat,
        choice=choice,
        certainty=None if choice == "tie" else certainty,
        shown_at=timezone.now() - dt.timedelta(seconds=7 + turn),
        active_ms=None if turn == 3 else 4000 + 100 * turn,
    )
