"""Answers in the shapes of other programs: matrices and MT-bench."""

import csv
import io
import re

import krippendorff
import numpy as np
import openpyxl
import pytest

from analysis.data.dataset import load_dataset
from analysis.errors import ExportError
from analysis.report.build import build_report
from annotation import services
from annotation.models import Annotator
from extras.documents.data_files import other_shapes
from studies.models import Item, Study
from tests.analysis.builders import answer, judge_item, make_rater, make_run, random_study
from tests.analysis.exports.helpers import export, judged, rows
from tests.factories import make_item, make_study, sign_in

pytestmark = pytest.mark.django_db


def table(path):
    return list(csv.reader(io.StringIO(path.read_text("utf-8"))))


def test_the_reliability_matrix_gives_the_alpha_of_the_report(tmp_path):
    study = random_study(2)
    report = build_report(load_dataset(study.slug), seed=1, bootstrap=100)

    head, *lines = table(export(study, "reliability", tmp_path / "r.csv"))

    assert head[0] == "rater_id"
    codes = np.array([[float(cell or "nan") for cell in line[1:]] for line in lines])
    alpha = krippendorff.alpha(reliability_data=codes, level_of_measurement="nominal")
    reported = report["human"]["agreement"]["krippendorff_alpha"]["value"]
    assert alpha == pytest.approx(reported)


def test_the_wide_table_has_a_row_an_item_and_names_that_statistics_packages_take(tmp_path):
    study = make_study(allow_tie=True)
    first, second = make_item(study=study, topic="food"), make_item(study=study, first_person="")
    rater = make_rater(study=study)
    answer(rater, first, "r2", 81)
    answer(rater, second, "tie")
    run = make_run(study=study, judge="=cmd|a model")
    judge_item(run, first, "r1", 60)

    head, *lines = table(export(study, "wide", tmp_path / "w.csv"))

    assert all(name.replace("_", "").isalnum() and name[0].isalpha() for name in head)
    assert head[5:] == [
        name := f"J_cmd_a_model_certainty_all_{run.key[:8]}",
        f"{name}_certainty",
    ]
    assert lines == [
        [first.key, "food", "r1", "r2", "81", "r1", "60.0"],
        [second.key, "", "", "tie", "", "", ""],
    ]


def test_a_bundle_explains_every_column_of_the_wide_table(tmp_path):
    study = make_study()
    item = make_item(study=study)
    answer(make_rater(study=study), item, "r2", 81)
    for setting in ("certainty", "standard"):
        judge_item(make_run(study=study, judge="gpt", setting=setting), item, "r1", 60)

    out = export(study, "all", tmp_path / "out")

    head, *_ = table(out / "other" / "wide.csv")
    explained = {row[0]: row[2] for row in table(out / "other" / "wide_columns.csv")[1:]}
    assert list(explained) == head
    runs = [name for name in head if name.startswith("J_")]
    assert len(runs) == 4
    assert "gpt, standard, features all" in explained[runs[2]] + explained[runs[0]]


@pytest.mark.parametrize("what", ["wide", "reliability"])
def test_a_matrix_that_nobody_could_open_is_not_written(study, tmp_path, monkeypatch, what):
    monkeypatch.setattr(other_shapes, "MAX_CELLS", 1)

    with pytest.raises(ExportError, match="2 items and 1 people would have"):
        export(study, what, tmp_path / "m.csv")

    out = export(study, "all", tmp_path / "out")
    assert not (out / "other" / f"{what}.csv").exists()


def test_a_matrix_opens_in_excel_with_numbers_as_codes(study, tmp_path):
    path = export(study, "reliability", tmp_path / "r.xlsx", format="xlsx")

    head, row = openpyxl.load_workbook(path)["reliability"].iter_rows(values_only=True)

    assert head[1:] == ("i1", "i2")
    assert {*row[1:]} <= {1, 2, 3}


def test_comparisons_name_the_side_that_won_as_it_was_shown(study, tmp_path):
    judged(study, shown_first="r2", choice="r2")
    judged(study, sample=2, shown_first="r1", choice="r2")
    judged(study, sample=3, state="refused", choice="", certainty=None)

    found = rows(export(study, "mt-bench", tmp_path / "m.jsonl"))

    people, models = found[:2], found[2:]
    assert {row["judge_kind"] for row in people} == {"human"}
    for row in found:
        winner = {"model_a": row["model_a"], "model_b": row["model_b"]}[row["winner"]]
        assert winner == "r2"
    assert [row["winner"] for row in models] == ["model_a", "model_b"]
    user, assistant = models[0]["conversation_a"]
    assert (user["role"], assistant["role"]) == ("user", "assistant")
    assert assistant["content"].startswith("Second response")


def test_comparisons_name_the_models_that_wrote_the_responses(study, tmp_path):
    item = make_item(
        study=study,
        r1={"text": "a", "generated_by": {"kind": "model", "name": "model-a"}},
        r2={"text": "b", "generated_by": {"kind": "human", "name": None}},
    )
    judged(study, item=item, shown_first="r1", choice="r1")

    *_, row = rows(export(study, "mt-bench", tmp_path / "m.jsonl"))

    assert (row["model_a"], row["model_b"], row["winner"]) == ("model-a", "r2", "model_a")


def test_rows_that_hold_texts_are_refused_where_the_source_forbids_it(study, tmp_path):
    study.source = {"redistribution": "forbidden"}

    with pytest.raises(ExportError, match="forbids passing on"):
        export(study, "mt-bench", tmp_path / "out")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("what", ["wide", "reliability", "mt-bench"])
def test_what_was_withdrawn_or_excluded_is_in_no_shape(study, tmp_path, what):
    out = export(study, what, tmp_path / "before")
    rater = [name for name in out.read_text().split('"') if name.startswith("R-")]
    services.exclude(annotator_id=Annotator.objects.get().pk, reason="asked us to")

    after = export(study, what, tmp_path / "after").read_text()

    assert after != out.read_text()
    assert "R-" not in after
    assert rater or what in {"wide", "reliability"}
    assert Study.objects.count() == 1


def test_a_format_that_a_table_has_not_is_refused_next_to_its_field(study):
    response = sign_in(study).post(
        "/studies/one/exports/", {"action": "new", "what": "mt-bench", "format": "xlsx"}
    )

    page = response.content.decode()
    assert response.status_code == 422
    assert "<title>Error: Exports" in re.sub(r"\s+<", "<", page)
    assert 'href="#id_format"' in page
    assert "is available as jsonl, not as xlsx." in page


def test_runs_with_a_bias_probe_are_in_no_shape(study, tmp_path):
    def shapes(name):
        return [
            export(study, what, tmp_path / f"{name}-{what}").read_bytes()
            for what in ("wide", "mt-bench")
        ]

    judged(study)
    before = shapes("before")

    probed = make_run(study=study, judge="probed", bias_probe="length")
    judge_item(probed, Item.objects.get(key="i1"), "r1", 60)

    assert shapes("after") == before
