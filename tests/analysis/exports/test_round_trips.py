"""What a bundle holds is what the database holds: every row of every table, from every format."""

import datetime as dt
import json
from dataclasses import replace
from random import Random

import pytest
from django.core.management import call_command
from django.db import transaction
from django.utils import timezone

from analysis.data.dataset import load_dataset
from analysis.exports.rows import exported_id
from analysis.report.build import build_report
from analysis.report.report_json import to_json
from annotation.models import Annotation
from annotation.services import exclude
from judging.models import Judgment
from studies.models import Study
from tests.analysis.builders import random_study
from tests.analysis.exports.helpers import export, rows
from tests.factories import answer_item, make_study, walk_in
from tests.studies.files import raw_item

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def bundle(django_db_setup, django_db_blocker, tmp_path_factory):
    """A study with ties, failures and missing truths, exported once, and what was in it."""
    with django_db_blocker.unblock(), transaction.atomic():
        study = random_study(3)
        key = study.export_key
        out = export(study, "all", tmp_path_factory.mktemp("round") / "out")
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


def _without_the_record(report):
    """A report without what a file of answers does not hold: who took part how, and names."""
    del report["inputs"]["record_hash"]
    human = ("people", "imported", "pay", "not_counted", "raters", "annotators")
    for key in (*human, "before_exclusions", "exclusions", "without_flagged"):
        report["human"].pop(key, None)
    for judge in report["judges"]:
        del judge["record"]
    limits = {one["limit"]: one["text"] for one in report["limitations"]}
    limits.pop("excluded", None)
    limits.pop("opt_in", None)  # where people were found
    limits.pop("language", None)  # in which they were asked
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

    # An open study says how many answers it still wants; imported answers want none.
    Study.objects.filter(slug="live").update(state=Study.State.CLOSED)

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
