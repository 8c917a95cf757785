"""Groups of personas that a judge errs on, in a report."""

import datetime as dt
import random
import re

import pytest

from analysis.report.build import all_figures, all_sentences, all_tables
from analysis.report.render import render_html
from analysis.report.report_json import without_people
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.analysis.partial import report_of
from tests.analysis.walking import faults
from tests.factories import make_item, make_persona, make_study, stored_at_once

MIRROR = {"r1": "r2", "r2": "r1"}


def feature(value, key="age", label="Age"):
    return {"key": key, "label": label, "value": value, "text": f"{label}: {value}"}


@pytest.mark.nightly
@pytest.mark.django_db
def test_a_group_that_a_judge_errs_on_is_named_and_others_are_not():
    rng = random.Random(2)
    study = make_study()
    raters = [make_rater(study=study) for _ in range(12)]
    biased, fair = (make_run(study=study, judge=name) for name in ("biased", "fair"))
    with stored_at_once():
        for number in range(30):
            old = number % 2 == 0
            features = [
                feature("<old>" if old else "young"),
                feature(("north", "south", "west")[number % 3], "region", "Region"),
                feature(f"name {number}", "name", "Name"),
            ]
            persona = make_persona(study=study, features=features)
            for place in range(4):
                own = rng.choice(["r1", "r2"])
                item = make_item(
                    study=study, key=f"{number:02}-{place}", persona=persona, first_person=own
                )
                for rater in rng.sample(raters, 3):
                    answer(rater, item, own if rng.random() < 0.7 else MIRROR[own], 70)
                wrong = rng.random() < (0.7 if old else 0.1)
                judge_item(biased, item, MIRROR[own] if wrong else own, 70)
                judge_item(fair, item, MIRROR[own] if rng.random() < 0.3 else own, 70)

    report = report_of(study)

    found = report["group_errors"]
    by_judge = dict(zip([j["judge"] for j in report["judges"]], found["judges"], strict=True))
    first = by_judge["biased"][0]
    assert (first["label"], first["value"], first["personas"], first["n"]) == (
        "Age",
        "<old>",
        15,
        60,
    )
    assert first["difference"]["value"] > 0.4
    assert first["difference"]["p_max"] == first["difference"]["p"] == 1 / 2000
    assert first["difference"]["p_holm"] == 4 * first["difference"]["p"]
    assert first["beyond_people"]["p_max"] < 0.05
    assert [(e["label"], e["value"]) for e in found["people"]].count(("Age", "<old>")) == 1
    assert {entry["label"] for entry in found["people"]} == {"Age", "Region"}
    assert len(found["people"]) == 4
    words = [str(one.text) for one in all_sentences(report, "finding")]
    [said] = [text for text in words if "more often on personas with" in text]
    assert said.startswith("biased errs more often on personas with Age <old> than on others: +")
    assert "beyond the errors of people there" in said
    assert len(all_tables(report)["errors_by_group"].rows) == 12
    page = render_html(report, date=dt.date(2026, 5, 1))
    assert "Personas on which each side errs" in page
    assert "with Age &lt;old&gt; than" in page
    assert not faults({"group_errors": found})


@pytest.mark.django_db
def test_a_report_without_effects_claims_nothing_about_groups_sides_or_certainty():
    rng = random.Random(4)
    study = make_study()
    raters = [make_rater(study=study) for _ in range(12)]
    runs = [make_run(study=study, judge=f"judge {number}") for number in range(3)]
    ages = ("18-24", "25-34", "35-44", "45-54", "55-64", "65+")
    with stored_at_once():
        for number in range(30):
            # Nobody errs on the three oldest personas: a group without errors, by chance alone.
            oldest = number >= 27
            age = ages[5] if oldest else ages[number % 5]
            persona = make_persona(study=study, features=[feature(age)])
            for place in range(4):
                own = rng.choice(["r1", "r2"])
                item = make_item(
                    study=study, key=f"{number:02}-{place}", persona=persona, first_person=own
                )
                for rater in rng.sample(raters, 3):
                    answer(rater, item, own if rng.random() < 0.9 else MIRROR[own], 90)
                for run in runs:
                    right = oldest or rng.random() < 0.88
                    judge_item(run, item, own if right else MIRROR[own], 90)

    report = report_of(study)

    assert not [
        text
        for one in all_sentences(report, "finding")
        if " often on personas with" in (text := str(one.text))
    ]
    titles = {name: str(figure.title) for name, figure in all_figures(report).items()}
    assert titles["position"] == "How often side A was chosen, and how often it was right"
    tested = report["claims_tested"]
    # Three people at 90 % make a majority that is right more often than each of them, and an
    # extra can claim that certainties are to be trusted.
    held = {each["kind"]: each["hold"] for each in tested["kinds"] if each["hold"]}
    assert held.pop("certainty that can be trusted", 1) == 1
    assert held == {"certainty against accuracy": 1}
    few = [one for one in report["group_errors"]["people"] if one["personas"] < 5]
    kept = without_people(report)["group_errors"]
    assert few
    assert not [one for side in (kept["people"], *kept["judges"]) for one in side if one in few]
    assert min(one["personas"] for one in kept["people"]) >= 5
    page = re.sub(r"<[^>]*>", "", render_html(report, date=dt.date(2026, 5, 1)))
    hold = sum(each["hold"] for each in tested["kinds"])
    assert f"{tested['tested']} claims were tested, and {hold} hold" in page
    assert not faults({"claims_tested": tested})
