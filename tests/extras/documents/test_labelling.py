"""Tasks of Label Studio and records of Argilla."""

import json

import pytest

from analysis.errors import ExportError
from analysis.report.build import build_report
from annotation import services
from annotation.models import Annotator
from tests.analysis.builders import random_study
from tests.analysis.exports.helpers import export, judged, rows
from tests.analysis.partial import report_of
from tests.factories import make_study
from thirdperson.check.command import options_of
from thirdperson.check.dataset import choices_of, dataset_of
from thirdperson.check.reading import read_labels

pytestmark = pytest.mark.django_db


def test_label_studio_reads_tasks_with_annotations_and_predictions(study, tmp_path):
    judged(study)

    first, second = json.loads(export(study, "label-studio", tmp_path / "t.json").read_text())

    assert first["data"]["response_1"].startswith("First response")
    (annotation,) = first["annotations"]
    assert [region["value"] for region in annotation["result"]] == [
        {"choices": ["r2"]},
        {"number": 81},
    ]
    assert first["predictions"][0]["model_version"] == "steady:kkkkkkkk"
    assert second["predictions"] == []


def test_a_study_without_items_is_an_empty_list_of_tasks(tmp_path):
    assert json.loads(export(make_study(), "label-studio", tmp_path / "t.json").read_text()) == []


def test_argilla_reads_records_with_responses_and_suggestions(study, tmp_path):
    judged(study)

    first, _ = rows(export(study, "argilla", tmp_path / "r.jsonl"))

    assert set(first["fields"]) == {"persona", "question", "response_1", "response_2"}
    given = {response["question_name"]: response["value"] for response in first["responses"]}
    assert given == {"choice": "r2", "certainty": 81}
    assert first["suggestions"][0] == {
        "question_name": "choice",
        "value": "r2",
        "score": 1.0,
        "agent": "steady:kkkkkkkk",
    }


@pytest.mark.parametrize("what", ["argilla", "label-studio"])
def test_texts_are_refused_where_the_source_forbids_it(study, tmp_path, what):
    study.source = {"redistribution": "forbidden"}

    with pytest.raises(ExportError, match="forbids passing on"):
        export(study, what, tmp_path / "out")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("what", ["argilla", "label-studio"])
def test_what_was_excluded_is_in_no_shape(study, tmp_path, what):
    assert "R-" in export(study, what, tmp_path / "before").read_text()
    services.exclude(annotator_id=Annotator.objects.get().pk, reason="asked us to")

    assert "R-" not in export(study, what, tmp_path / "after").read_text()


@pytest.mark.nightly
@pytest.mark.parametrize("what", ["label-studio", "argilla"])
def test_our_own_exports_give_the_agreement_of_the_study(what, tmp_path):
    runs = ({"judge": "steady", "setting": "certainty"}, {"judge": "lefty", "setting": "standard"})
    study = random_study(2, runs=runs)
    report = report_of(study)
    path = export(study, what, tmp_path / ("t.json" if what == "label-studio" else "t.jsonl"))

    labels = read_labels(options_of([str(path)]))
    data = dataset_of(labels, choices_of(labels), name="t", title="t", margin=0.05, threshold=80)
    found = build_report(data, seed=1, bootstrap=20)

    assert labels.reading[0] == f"format: {what}"
    for key in ("krippendorff_alpha", "gwet_ac1", "percent"):
        assert found["human"]["agreement"][key] == report["human"]["agreement"][key]
    for key in ("n", "correct", "accuracy"):
        assert found["human"]["majority"][key] == report["human"]["majority"][key]
    assert len(found["judges"]) == len(report["judges"])
