"""Exports: the shapes, what may leave and what may not, and that answers come back."""

import csv
import io
import json
import os
import re
import stat
from pathlib import Path
from random import Random

import pytest
from django.core.management import CommandError, call_command

from analysis.exports.rows import exported_id, in_cells_of_k
from analysis.exports.study_export import export_study
from annotation import services
from annotation.models import Annotation, Annotator, DemographicQuestion
from studies.models import Item, Study
from tests.analysis.exports.helpers import PID, export, judged, rows
from tests.factories import answer_all, make_item, make_items, make_study, walk_in


def test_an_answer_has_its_content_its_side_and_its_band(study, tmp_path):
    first, second = rows(export(study, "annotations", tmp_path / "a.jsonl"))

    assert (first["item_id"], second["item_id"]) == ("i1", "i2")
    assert (first["choice"], first["certainty"], first["certainty_band"]) == (
        "r2",
        81,
        "highly_confident",
    )
    shown = Annotation.objects.get(assignment__item__key="i1").assignment.shown_first
    assert first["choice_side"] == ("A" if shown == "r2" else "B")
    assert first["rater_kind"] == "human"
    assert first["persona_features_shown"] == ["age", "sex"]
    assert first["standing"] == "counted"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\dZ", first["answered_at"])


def test_a_judgment_has_the_same_shape(study, tmp_path):
    judged(study)
    judged(study, sample=2, state="unparseable", choice="", certainty=None, replies=5)
    judged(study, sample=3, state="pending", choice="", certainty=None, replies=0)
    judged(study, sample=4, replies=3)

    found = rows(export(study, "judgments", tmp_path / "j.jsonl"))

    assert [row["parse_status"] for row in found] == ["ok", "unparseable", "regenerated"]
    first = found[0]
    assert (first["rater_kind"], first["rater_id"], first["choice_side"]) == (
        "model",
        "steady",
        "A",
    )
    assert (first["answered_at"], first["persona_features_shown"]) == ("2024-05-01T12:30Z", ["age"])
    assert (found[1]["choice"], found[1]["choice_side"], found[1]["certainty_band"]) == (None,) * 3
    common = set(rows(export(study, "annotations", tmp_path / "a.jsonl"))[0]) & set(first)
    assert len(common) == 26


def test_nothing_that_leads_back_to_a_person_leaves_by_itself(study, tmp_path):
    person = Annotator.objects.get()
    person.feedback = f"I am {PID}"
    person.save()
    services.exclude(annotator_id=person.pk, reason=f"spoke of {PID}")

    for format in ("csv", "jsonl"):
        export(study, "all", tmp_path / format, format=format)

    texts = [path.read_text("utf-8") for path in tmp_path.rglob("*") if path.is_file()]
    assert len(texts) > 20
    for text in texts:
        assert PID not in text
        assert f"s-{PID}" not in text
        assert person.pseudonym not in text
        assert person.identity_hash not in text


def test_platform_ids_are_written_when_asked_for_and_only_their_owner_reads_them(study, tmp_path):
    out = export(study, "annotators", tmp_path / "p.csv", format="csv", identified=True)

    assert PID in out.read_text()
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    plain = export(study, "annotators", tmp_path / "q.csv", format="csv")
    assert PID not in plain.read_text()
    folder = export(study, "all", tmp_path / "all", identified=True)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert study.log.filter(detail__identified=True).count() == 2


def test_exports_join_until_the_names_are_renewed(study, tmp_path):
    def raters(name, **options):
        found = rows(export(study, "annotations", tmp_path / name, **options))
        return {row["rater_id"] for row in found}

    first = raters("a")
    people = rows(export(study, "annotators", tmp_path / "b"))

    assert first == {person["rater_id"] for person in people} == raters("c")
    assert raters("d", fresh_pseudonyms=True).isdisjoint(first)


def test_renewed_exports_hold_no_time_by_which_rows_could_be_matched(study, tmp_path):
    person = Annotator.objects.get()
    Annotation.objects.update(elapsed_ms=81_237, active_ms=61_913)
    timed = ("started_at", "answered_at", "elapsed_ms", "active_ms")
    before = rows(export(study, "annotations", tmp_path / "a"))
    assert all(row["elapsed_ms"] == 81_237 for row in before)

    folder = export(study, "all", tmp_path / "all", fresh_pseudonyms=True)

    answers = rows(next(folder.rglob("annotations.jsonl")))
    (known,) = rows(next(folder.rglob("annotators.jsonl")))
    assert answers
    assert {row[name] for row in answers for name in timed} == {None}
    assert (known["started_at"], known["ended_at"], known["median_active_ms"]) == (None,) * 3
    for path in folder.rglob("*.csv"):
        assert "81237" not in path.read_text("utf-8")
        assert "61913" not in path.read_text("utf-8")
    assert person.pseudonym not in str(answers)


def test_one_person_has_other_names_in_other_studies():
    assert exported_id("key one", "P-1") != exported_id("key two", "P-1")


def test_withdrawn_answers_stay_inside(study, tmp_path):
    services.withdraw(annotator_id=Annotator.objects.get().pk)

    assert rows(export(study, "annotations", tmp_path / "a.jsonl")) == []


@pytest.mark.parametrize("state", ["withdrew", "declined"])
def test_who_said_no_has_a_row_only_where_people_are_named(study, tmp_path, state):
    Annotator.objects.update(state=state)

    plain = export(study, "annotators", tmp_path / "a.jsonl")
    identified = export(study, "annotators", tmp_path / "b.jsonl", identified=True)

    assert (len(rows(plain)), len(rows(identified))) == (0, 1)


def test_checks_and_practice_are_no_answers(study, tmp_path):
    Item.objects.filter(key="i2").update(
        split="practice", seats_needed=0, seats_taken=0, answered=0
    )

    found = rows(export(study, "annotations", tmp_path / "a.jsonl"))

    assert [row["item_id"] for row in found] == ["i1"]


def test_demographics_leave_only_in_cells_of_five(db, tmp_path):
    study = make_study(items_per_annotator=1)
    make_items(study, 12)
    options = [{"value": v, "label": v} for v in ("woman", "man", "red", "blue")]
    for position, key in enumerate(("gender", "politics"), start=1):
        DemographicQuestion.objects.create(
            study=study, key=key, label=key, options=options, position=position
        )
    for _ in range(5):
        walk_in(study, gender="woman", politics="red")
    walk_in(study, gender="man", politics="blue")

    people = rows(export(study, "annotators", tmp_path / "p.jsonl"))

    told = sorted(json.dumps(person["demographics"]) for person in people)
    assert told == ['{"gender": "woman", "politics": "red"}'] * 5 + ["{}"]


def test_every_combination_that_is_told_is_told_of_at_least_k():
    random = Random(1)
    for _ in range(300):
        k, count = random.randint(1, 7), random.randint(0, 40)
        people = {
            str(n): {"one": random.choice("abc"), "two": random.choice("xyz")} for n in range(count)
        }

        told = in_cells_of_k(people, ["one", "two"], k=k)

        assert told.keys() == people.keys()
        for name, cell in told.items():
            assert cell.items() <= people[name].items()
            assert not cell or sum(other == cell for other in told.values()) >= k


def test_cells_that_a_spreadsheet_would_compute_are_text(study, tmp_path):
    Item.objects.filter(key="i1").update(question="=HYPERLINK(1)", r1={"text": "@SUM"})
    judged(study, raw_text="+1")

    items = export(study, "items", tmp_path / "i.csv", format="csv")
    judgments = export(study, "judgments", tmp_path / "j.csv", format="csv")

    (first, _) = csv.DictReader(io.StringIO(items.read_text()))
    (row,) = csv.DictReader(io.StringIO(judgments.read_text()))
    assert (first["question"], first["response_1"]) == ("'=HYPERLINK(1)", "'@SUM")
    assert row["raw_text"] == "'+1"


def test_a_source_that_forbids_redistribution_keeps_its_texts_and_quotes_of_them(study, tmp_path):
    Study.objects.update(source={"redistribution": "forbidden"})
    study.refresh_from_db()
    judged(study, raw_text="As the question says: …")

    out = export(study, "all", tmp_path / "out")

    text = "".join(path.read_text("utf-8") for path in out.rglob("*.[cj]s*"))
    assert "Question" not in text
    assert "As the question says" not in text
    assert "First response" not in text
    assert {"id", "split", "topic", "content_hash"} == set(rows(out / "jsonl/items.jsonl")[0])


def test_exported_answers_can_be_imported_elsewhere(study, tmp_path):
    path = export(study, "annotations", tmp_path / "a.csv", format="csv")
    copy = make_study(slug="two")
    for key in ("i1", "i2"):
        make_item(study=copy, key=key)

    call_command("import_annotations", "two", str(path))

    def answers(slug):
        return sorted(
            Annotation.objects.filter(assignment__annotator__study__slug=slug).values_list(
                "assignment__item__key", "choice", "certainty", "assignment__shown_first"
            )
        )

    assert answers("two") == answers("one")


def test_an_export_that_fails_leaves_nothing(study, tmp_path, monkeypatch):
    def broken(study):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("analysis.exports.catalogue.judgment_table", broken)

    with pytest.raises(CommandError, match="cannot be written: No space left on device"):
        call_command("export", "one", "--what", "all", "--out", str(tmp_path / "out"))

    assert list(tmp_path.iterdir()) == []
    assert not study.log.filter(event="exported").exists()


def test_the_command_writes_a_file_and_refuses_what_makes_no_sense(study, tmp_path, capsys):
    out = tmp_path / "items.csv"
    call_command("export", "one", "--what", "items", "--format", "csv", "--out", str(out))
    call_command("export", "one", "--what", "items", "--format", "csv", "--out", str(out))

    assert f"Wrote {out}. Rows: items 2." in capsys.readouterr().out
    assert len(out.read_text().splitlines()) == 3
    with pytest.raises(CommandError, match="There is no study “nine”"):
        call_command("export", "nine", "--what", "items", "--out", str(out))
    with pytest.raises(CommandError, match="exists already"):
        call_command("export", "one", "--what", "all", "--out", str(tmp_path))


def test_queries_do_not_grow_with_the_answers(db, tmp_path, django_assert_max_num_queries):
    study = make_study(items_per_annotator=20)
    make_items(study, 20)
    for _ in range(3):
        answer_all(walk_in(study))
    for item in Item.objects.filter(study=study):
        judged(study, item=item)

    with django_assert_max_num_queries(90):
        counts = export_study(study, what="all", format="csv", out=Path(tmp_path / "out"))

    assert counts == {
        "items": 20,
        "annotations": 60,
        "judgments": 20,
        "aggregates": 40,
        "annotators": 3,
    }


def test_free_text_about_people_leaves_only_when_it_is_asked_for(study, tmp_path):
    person = Annotator.objects.get()
    Annotator.objects.update(feedback="It was fun.")
    services.exclude(annotator_id=person.pk, reason="too fast")

    plain = export(study, "annotators", tmp_path / "a.jsonl")
    asked = export(study, "annotators", tmp_path / "b.jsonl", free_text=True)
    answers = export(study, "annotations", tmp_path / "c.jsonl", free_text=True)

    assert "fun" not in plain.read_text()
    (row,) = rows(asked)
    assert (row["feedback"], row["exclude_reason"]) == ("It was fun.", "too fast")
    assert {row["exclude_reason"] for row in rows(answers)} == {"too fast"}
    assert study.log.filter(event="exported", detail__free_text=True).count() == 2


def test_a_table_has_only_the_formats_that_make_sense(study, tmp_path):
    with pytest.raises(CommandError, match=r"is available as .*not as json") as caught:
        call_command("export", "one", "--what", "items", "--format", "json", "--out", str(tmp_path))

    assert caught.value.returncode == 2


def test_the_log_names_who_exported_at_the_command_line(study, tmp_path):
    out = tmp_path / "a"
    call_command("export", "one", "--what", "annotators", "--identified", "--out", str(out))

    detail = study.log.get(event="exported").detail
    assert detail["identified"]
    assert detail["by"].endswith(", at the command line")
    assert detail["rows"] == {"annotators": 1}


@pytest.mark.parametrize(("typed", "written"), [("one", True), ("two", False), ("", False)])
def test_a_person_at_a_terminal_confirms_an_export_that_names_people(
    study, tmp_path, monkeypatch, typed, written
):
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda prompt: typed)
    words = ("export", "one", "--what", "annotators", "--identified", "--out", str(tmp_path / "a"))

    if written:
        call_command(*words)
    else:
        with pytest.raises(CommandError, match="Nothing was exported"):
            call_command(*words)

    assert (tmp_path / "a").exists() is written


def test_an_export_takes_no_pipes_or_devices_place(study, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    with pytest.raises(CommandError, match="pipe is no file"):
        call_command("export", study.slug, "--what", "items", "--out", str(pipe))

    assert pipe.is_fifo()
