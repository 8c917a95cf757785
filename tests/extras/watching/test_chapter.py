"""What the report and the exports say about watched sets."""

import pytest

from analysis.data.dataset import load_dataset
from analysis.exports.catalogue import Disclosure, make_table
from analysis.report.build import all_sentences, build_report
from extras.watching.models import Look, WatchedSet
from tests.analysis.builders import little_study, make_run

pytestmark = pytest.mark.django_db


def make_set(study, **evidence):
    kinds = {
        kind: {"evidence": evidence.get(kind, 1.0), "is_compared": kind in evidence}
        for kind in ("judge", "items", "people")
    }
    result = {"verdict": "", "moved": [], "another": [], "looks": 3, "kinds": kinds}
    run = make_run(study=study, judge=f"judge {len(evidence)}")
    frozen = {"items": [{}] * 40, "features": [], "people": {"scores": []}}
    return WatchedSet.objects.create(study=study, run=run, frozen=frozen, at_once=1, result=result)


def test_evidence_is_corrected_for_all_sets_and_what_was_not_compared_is_no_test():
    study = little_study(3)
    make_set(study, judge=4000.0)
    watched = make_set(study, judge=2.0, items=70.0)
    Look.objects.create(watched=watched, number=1, state="done", is_baseline=True)

    report = build_report(load_dataset(study.slug), seed=1, bootstrap=20)

    first, second = report["watched_sets"]
    assert [kind["p"] for kind in first["kinds"]] == [3 / 4000, None, None]
    assert first["kinds"][1]["p_reason"] == "empty_group"
    assert [kind["p"] for kind in second["kinds"]] == [1.0, pytest.approx(3 / 70), None]
    said = [str(each.text) for each in all_sentences(report)]
    assert any("judge 1: the judge moved after the set was frozen" in text for text in said)
    table = make_table(study, "watched_sets", Disclosure())
    assert [(row["look"], row["items"]) for row in table.rows()] == [(1, 40)]


def test_a_report_without_looks_has_no_chapter():
    study = little_study(4)
    assert "watched_sets" not in build_report(load_dataset(study.slug), seed=1, bootstrap=20)
