"""Exports: the shapes, what may leave and what may not, and that everything comes back."""

import csv
import datetime as dt
import hashlib
import io
import json
import re
import stat
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from analysis.exports import export_study
from analysis.pseudonyms import exported_id, in_cells_of_k, to_the_minute
from annotation import services
from annotation.models import Annotation, Annotator, DemographicQuestion
from judging.models import Judge, JudgeRun, Judgment
from studies.importers.bundle import open_path
from studies.importers.read import read_bundle
from studies.importers.store import import_items
from studies.models import Item, Study
from tests.factories import answer_all, make_item, make_items, make_study, walk_in

PID = "5f0c1b2a3d4e5f6a7b8c9d0e"


def export(study, what, out, **options):
    export_study(study, what=what, format=options.pop("format", "jsonl"), out=out, **options)
    return out


def rows(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture
def study(db):
    study = make_study(slug="one", annotations_per_item=3, items_per_annotator=2)
    make_item(study=study, key="i1")
    make_item(study=study, key="i2")
    person = walk_in(study, pid=PID)
    answer_all(person, choice="r2", certainty=81)
    return study


def judged(study, **overrides):
    judge, _ = Judge.objects.get_or_create(
        name="steady", defaults={"model": "m", "backend": "replay"}
    )
    run, _ = JudgeRun.objects.get_or_create(
        study=study,
        judge=judge,
        key="k" * 64,
        defaults={"setting": "certainty", "seed": 1, "feature_keys": ["age"], "features": "age"},
    )
    fields = {
        "shown_first": "r2",
        "state": "done",
        "choice": "r2",
        "certainty": 90,
        "replies": 1,
        "raw_text": "A]] [[90]]",
        "answered_at": dt.datetime(2024, 5, 1, 12, 30, 59, tzinfo=dt.UTC),
    }
    item = overrides.pop("item", None) or Item.objects.get(study=study, key="i1")
    return Judgment.objects.create(run=run, item=item, **fields | overrides)


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
    assert stat.S_IMODE(plain.stat().st_mode) == 0o644
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


def test_one_person_has_other_names_in_other_studies():
    assert exported_id("key one", "P-1") != exported_id("key two", "P-1")


def test_withdrawn_answers_stay_inside(study, tmp_path):
    services.withdraw(annotator_id=Annotator.objects.get().pk)

    assert rows(export(study, "annotations", tmp_path / "a.jsonl")) == []


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


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), max_size=40),
    st.integers(1, 7),
)
def test_every_combination_that_is_told_is_told_of_at_least_k(cells, k):
    people = {str(n): {"one": one, "two": two} for n, (one, two) in enumerate(cells)}

    told = in_cells_of_k(people, ["one", "two"], k=k)

    assert told.keys() == people.keys()
    for name, cell in told.items():
        assert cell.items() <= people[name].items()
        assert not cell or sum(other == cell for other in told.values()) >= k


def test_times_lose_their_seconds():
    assert to_the_minute(dt.datetime(2024, 1, 2, 3, 4, 59, tzinfo=dt.UTC)) == "2024-01-02T03:04Z"
    assert to_the_minute(None) is None


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
    assert "forbids redistribution" in (out / "README.md").read_text()


def test_a_whole_export_has_a_card_prompts_and_true_checksums(study, tmp_path):
    judged(study)

    out = export(study, "all", tmp_path / "out")

    lines = (out / "CHECKSUMS.sha256").read_text().splitlines()
    files = {path for path in out.rglob("*") if path.is_file()} - {out / "CHECKSUMS.sha256"}
    assert {out / line[66:] for line in lines} == files
    for line in lines:
        assert hashlib.sha256((out / line[66:]).read_bytes()).hexdigest() == line[:64]
    card = (out / "README.md").read_text()
    assert card.startswith("---\npretty_name: ")
    assert "| annotations | 2 |" in card
    assert "| judgments | 1 |" in card
    assert len(list((out / "prompts").iterdir())) == 6
    assert sorted(path.name for path in (out / "csv").iterdir()) == [
        "annotations.csv", "annotators.csv", "items.csv", "judgments.csv",
    ]  # fmt: skip


def test_a_simulated_study_says_so_in_its_card(study, tmp_path):
    Study.objects.update(is_simulated=True)
    study.refresh_from_db()

    out = export(study, "all", tmp_path / "out")

    assert "**Answers in this data set are simulated.**" in (out / "README.md").read_text()


def test_a_title_cannot_break_out_of_the_head_of_the_card(study, tmp_path):
    study.title = "---\nlicense: mit"

    head = (export(study, "all", tmp_path / "out") / "README.md").read_text().split("---\n")[1]

    assert head.startswith('pretty_name: "---\\nlicense: mit"\n')


@pytest.mark.parametrize("path", ["jsonl", "csv/items.csv"])
def test_exported_items_come_back_as_the_same_items(study, tmp_path, path):
    out = export(study, "all", tmp_path / "out")
    read = read_bundle(open_path(out / path), task="preference")

    copy = import_items("two", [read], create=True)
    again = import_items("two", [read])

    assert (copy.created, again.created, again.unchanged) == (2, 0, 2)
    texts = ["question", "r1__text", "r2__text", "first_person", "persona__features", "task"]
    assert list(copy.study.all_items.order_by("key").values_list(*texts)) == list(
        study.all_items.order_by("key").values_list(*texts)
    )


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_exported_answers_can_be_imported_elsewhere(study, tmp_path, format):
    path = export(study, "annotations", tmp_path / f"a.{format}", format=format)
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

    monkeypatch.setattr("analysis.exports.judgment_table", broken)

    with pytest.raises(CommandError, match="cannot be written: No space left on device"):
        call_command("export", "one", "--what", "all", "--out", str(tmp_path / "out"))

    assert list(tmp_path.iterdir()) == []
    assert not study.log.filter(event="exported").exists()


def test_the_command_writes_a_file_and_refuses_what_makes_no_sense(study, tmp_path, capsys):
    out = tmp_path / "items.csv"
    call_command("export", "one", "--what", "items", "--format", "csv", "--out", str(out))
    call_command("export", "one", "--what", "items", "--format", "csv", "--out", str(out))

    assert f"Wrote 2 items to {out}." in capsys.readouterr().out
    assert len(out.read_text().splitlines()) == 3
    with pytest.raises(CommandError, match="There is no study “nine”"):
        call_command("export", "nine", "--what", "items", "--out", str(out))
    with pytest.raises(CommandError, match="is there already"):
        call_command("export", "one", "--what", "all", "--out", str(tmp_path))


def test_parquet_without_its_package_says_how_to_get_it(study, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)

    with pytest.raises(CommandError, match="pip install pyarrow"):
        call_command(
            "export", "one", "--what", "items", "--format", "parquet", "--out",
            str(tmp_path / "i.parquet"),
        )  # fmt: skip

    assert list(tmp_path.iterdir()) == []


def test_queries_do_not_grow_with_the_answers(db, tmp_path, django_assert_max_num_queries):
    study = make_study(items_per_annotator=20)
    make_items(study, 20)
    for _ in range(3):
        answer_all(walk_in(study))
    for item in Item.objects.filter(study=study):
        judged(study, item=item)

    with django_assert_max_num_queries(45):
        counts = export_study(study, what="all", format="csv", out=Path(tmp_path / "out"))

    assert counts == {"items": 20, "annotations": 60, "judgments": 20, "annotators": 3}
