"""Bias probes in a report: their own section, and nowhere else."""

import datetime as dt
import random

import pytest

from analysis.data.dataset import load_dataset
from analysis.data.item_comparisons import aggregate_rows, runs_to_compare
from analysis.exports.catalogue import Disclosure, make_table
from analysis.exports.rows import judged_items
from analysis.report.build import all_sentences, all_tables
from analysis.report.render import render_html
from analysis.report.sections.bias.probes import Probes, probe_tests
from analysis.report.study import ReportedStudy
from judging.bias.probes import target_of
from judging.models import Judgment
from studies.models import Item
from tests.analysis.builders import judge_item, make_run, random_study
from tests.analysis.partial import report_of
from tests.factories import stored_at_once


@pytest.fixture
def study(db):
    return random_study(3, n_items=48, n_personas=12)


@stored_at_once()
def ask(study, probe, *, orders="both", samples=1, follows=0.0, seed=1, share=0.5, **run):
    """A run whose base choices depend on `seed`; it moves to the target at a share of the items."""
    made = make_run(
        study=study, judge="probed", bias_probe=probe, orders=orders, samples=samples, **run
    )
    for number, item in enumerate(Item.objects.filter(study=study).order_by("key")):
        for first in ("r1", "r2"):
            for sample in range(1, samples + 1):
                base = random.Random(f"{seed}{item.key}{first}{sample}")
                choice = "r1" if base.random() < share else "r2"
                if number < follows * 48:
                    choice = target_of("drawn", seed=7, item=item.key, shown_first=first)
                judge_item(made, item, choice, 70, shown_first=first, sample=sample)
    return made


def table(study, name):
    return list(make_table(study, name, Disclosure()).rows())


def section_of(study):
    reported = ReportedStudy(load_dataset(study.slug), 70, seed=1, draws=20)
    return Probes().compute(reported, {})["bias"]


@pytest.mark.nightly
def test_probed_runs_change_nothing_but_their_own_section(study):
    ask(study, "")
    before = report_of(study)
    judged = list(judged_items(study))

    ask(study, "length", follows=0.5)
    ask(study, "none+warning", seed=2)
    ask(study, "flip:age", seed=3)
    after = report_of(study)
    page = render_html(after, date=dt.date(2026, 5, 1))

    assert {"bias_probes", "bias_position", "persona_probes"} <= all_tables(after).keys()
    findings = [str(each.text) for each in all_sentences(after, "finding")]
    assert any("probed follows 1 of 1 probe tested (length by +" in text for text in findings)
    assert "Probes that favour a response" in page
    assert '<div id="bias">' in page
    assert '<div id="bias">' not in render_html(before, date=dt.date(2026, 5, 1))
    assert "bias" not in before
    bias = after.pop("bias")
    assert before.pop("claims_tested")["members"] == after.pop("claims_tested")["members"]
    assert [entry["probe"] for entry in bias["probes"]] == ["flip:age", "length"]
    assert before["inputs"].pop("hash") != after["inputs"].pop("hash")
    assert after == before
    assert list(judged_items(study)) == judged
    assert {run.bias_probe for run in runs_to_compare(study)} == {""}


def test_exports_of_judgments_and_majorities_name_the_probe(study):
    ask(study, "length")
    ask(study, "")

    judgments = [row["bias_probe"] for row in table(study, "judgments")]
    majorities = [row["bias_probe"] for row in aggregate_rows(study) if row["rater_id"] == "probed"]

    assert (judgments.count("length"), majorities.count("length")) == (96, 48)
    assert majorities.count(None) == 48


def test_the_section_counts_what_was_planted(study):
    base = ask(study, "")
    ask(study, "length", follows=0.5)

    (entry,) = section_of(study)["probes"]

    assert (entry["pairs"], entry["items"], entry["compared_with"]) == (96, 48, base.key)
    assert entry["target"] == "drawn"
    rows = {
        (j.item.key, j.shown_first): j.choice
        for j in Judgment.objects.filter(run=base).select_related("item")
    }
    moved = flipped = 0
    for number, key in enumerate(sorted({key for key, _ in rows})):
        target = target_of("drawn", seed=7, item=key, shown_first="r1")
        away = sum(rows[key, first] != target for first in ("r1", "r2"))
        moved += away if number < 24 else 0
    flipped = moved
    assert entry["shift"] == pytest.approx(moved / 96)
    assert entry["flipped"] == pytest.approx(flipped / 96)
    assert entry["shift_ci"][0] > 0
    assert entry["p_holm"] == entry["p"] < 0.01
    assert entry["exact"]["away"] == 0
    assert entry["both_orders"]["n"] == 48
    assert entry["both_orders"]["shift"] == pytest.approx(entry["shift"])
    assert entry["chance"]["flipped_reason"] == "one_sample"


def test_a_probe_without_its_baseline_has_reasons_instead_of_numbers(study):
    ask(study, "length+warning")

    (entry,) = section_of(study)["probes"]

    assert (entry["compared_with"], entry["shift"], entry["shift_reason"]) == (
        None,
        None,
        "no_pairs",
    )
    assert entry["mitigations"] == ["warning"]


def test_runs_that_asked_otherwise_are_no_baseline(study):
    ask(study, "", framing="persona")
    ask(study, "length")

    (entry,) = section_of(study)["probes"]

    assert entry["compared_with"] is None


def test_a_mitigated_probe_is_compared_with_its_own_baseline_and_with_the_plain_probe(study):
    ask(study, "")
    ask(study, "length", follows=0.75)
    base = ask(study, "none+warning", seed=2)
    ask(study, "length+warning", seed=2, follows=0.25)

    plain, mitigated = section_of(study)["probes"]

    assert mitigated["compared_with"] == base.key
    assert mitigated["mitigated"]["by"] == pytest.approx(plain["shift"] - mitigated["shift"])
    assert mitigated["mitigated"]["ci"][0] > 0
    assert plain["mitigated"]["by_reason"] == "no_mitigation"
    assert (plain["family"], mitigated["family"]) == (1, 1)


def test_the_same_probe_in_two_settings_is_tested_twice(study):
    for setting in ("standard", "tie"):
        ask(study, "", setting=setting)
        ask(study, "length", setting=setting, follows=0.1)

    report = report_of(study)

    first, second = report["bias"]["probes"]
    assert (first["family"], second["family"]) == (2, 2)
    assert first["p"] == second["p"] > 0
    assert first["p_holm"] == second["p_holm"] == pytest.approx(2 * first["p"])
    assert sorted(probe_tests(report)) == ["probed (standard)", "probed (tie)"]


def test_chance_is_measured_where_items_were_asked_twice(study):
    ask(study, "", samples=2)
    ask(study, "flip:age", samples=2, seed=9)

    (entry,) = section_of(study)["probes"]

    assert entry["target"] is None
    assert "shift" not in entry
    assert 0.35 < entry["chance"]["flipped"] < 0.65
    assert 0.35 < entry["flipped"] < 0.65


@pytest.mark.nightly
def test_the_first_side_is_a_probe_of_its_own(study):
    made = make_run(study=study, judge="lefty", orders="both")
    items = list(Item.objects.filter(study=study).order_by("key"))
    with stored_at_once():
        for number, item in enumerate(items):
            for first in ("r1", "r2"):
                judge_item(made, item, first if number < 12 else "r1", 60, shown_first=first)
    ask(study, "length", seed=1)
    length = make_run(study=study, judge="lefty", orders="both", bias_probe="length")
    judge_item(length, items[0], "r1", shown_first="r1")

    (position,) = section_of(study)["position"]

    assert (position["judge"], position["shift"], position["flipped"]) == ("lefty", 0.25, 0.25)
