"""Of studies that have little in common: every interval holds its estimate and has a width."""

import json
import random
from collections import defaultdict

import pytest

from analysis.data.dataset import load_dataset
from analysis.report.build import all_tables, build_report
from analysis.report.report_json import to_json
from analysis.report.tables import in_general
from analysis.report.words import run_names
from studies.models import Study
from tests.analysis.builders import answer, judge_item, make_rater, make_run, random_study
from tests.analysis.partial import report_of
from tests.analysis.walking import faults, intervals
from tests.factories import make_item, make_persona, make_study, stored_at_once

pytestmark = pytest.mark.django_db

RUNS = (
    {"judge": "steady", "setting": "certainty"},
    {"judge": "steady", "setting": "certainty", "features": "age"},
    {"judge": "both ways", "setting": "tie", "orders": "both"},
    {"judge": "steady", "setting": "standard", "samples": 3, "features": "none"},
)


def by_chance() -> Study:
    return random_study(21, n_items=36, n_raters=10, allow_tie=True, runs=RUNS)


def small() -> Study:
    return random_study(22, n_items=5, n_raters=3, per_item=(2, 3), truths=("r1", "r2"), runs=RUNS)


@stored_at_once()
def planned(people: str, judge: str, certainty: str, *, n_items: int = 30) -> Study:
    """Three people and two runs; each side is right as its rule says, item by item.

    Rules of being right: `always`, `never`, `half` (every second item) and `split` (people alone:
    two say one thing, one the other). Of certainty: `constant`, `telling` (high where right).
    """
    study = make_study(slug=f"{people}-{judge}-{certainty}-{n_items}")
    raters = [make_rater(study=study) for _ in range(3)]
    runs = [make_run(study=study, judge=name) for name in ("one", "other")]
    personas = [make_persona(study=study) for _ in range(5)]
    for number in range(n_items):
        item = make_item(
            study=study, first_person="r1", persona=personas[number % 5], topic="ab"[number % 2]
        )
        for order, rater in enumerate(raters):
            is_right = order == 0 if people == "split" else _right(people, number)
            answer(rater, item, _choice(is_right), _stated(certainty, is_right))
        for run in runs:
            is_right = _right(judge, number)
            judge_item(run, item, _choice(is_right), _stated(certainty, is_right))
    return study


def _right(rule: str, number: int) -> bool:
    return {"always": True, "never": False, "half": number % 2 == 0}[rule]


def _choice(is_right: bool) -> str:
    return "r1" if is_right else "r2"


def _stated(rule: str, is_right: bool) -> int:
    return 90 if rule == "constant" or is_right else 60


@stored_at_once()
def all_ties() -> Study:
    """Two people who never agree, and a judge who sides with the first."""
    study = make_study(slug="all-ties")
    raters = [make_rater(study=study) for _ in range(2)]
    run = make_run(study=study)
    for number in range(40):
        item = make_item(study=study)
        for rater, choice in zip(raters, ("r1", "r2"), strict=True):
            answer(rater, item, choice, 90 - number)
        judge_item(run, item, "r1", 90)
    return study


@stored_at_once()
def one_person() -> Study:
    study, rng = make_study(slug="one-person"), random.Random(3)
    rater, run = make_rater(study=study), make_run(study=study)
    for _ in range(20):
        item = make_item(study=study, first_person=rng.choice(["r1", "r2"]))
        answer(rater, item, rng.choice(["r1", "r2"]), rng.choice([60, 80, 100]))
        judge_item(run, item, rng.choice(["r1", "r2"]), rng.choice([60, 80, 100]))
    return study


STUDIES = {
    "by chance": by_chance,
    "small": small,
    "all ties": all_ties,
    "one person": one_person,
    "everybody right": lambda: planned("always", "always", "constant"),
    "people right, judges wrong": lambda: planned("always", "never", "constant"),
    "judges right, people wrong": lambda: planned("never", "always", "telling"),
    "one certainty": lambda: planned("half", "half", "constant"),
    "telling certainty": lambda: planned("half", "half", "telling"),
    "two against one": lambda: planned("split", "half", "telling"),
    "two items": lambda: planned("half", "always", "telling", n_items=2),
    "one item": lambda: planned("always", "always", "constant", n_items=1),
}


@pytest.mark.sampled(keep=2)
@pytest.mark.parametrize("name", STUDIES)
def test_every_interval_holds_its_estimate_and_has_a_width(name):
    study = STUDIES[name]()

    report = json.loads(to_json(report_of(study, seed=3)))

    assert list(intervals(report))
    assert faults(report) == []


def test_an_accuracy_has_one_interval_in_all_tables():
    report = build_report(load_dataset(by_chance().slug), seed=1, bootstrap=100)
    sides = {"People": "majority", "People, majority": "majority"}
    sides |= {"People, single answers": "individual", "People, single": "individual"}
    entries = {name: report["human"][key] for name, key in sides.items()}
    entries |= dict(zip(run_names(report), report["judges"], strict=True))
    wanted, found = defaultdict(set), defaultdict(set)
    for name, entry in entries.items():
        for cell in (entry, entry["high"], entry["low"]):
            ends = in_general(cell)["ci"]
            wanted[name, cell["correct"], cell["n"]].add(ends and tuple(ends))
    for table in all_tables(report).values():
        for row in table.rows:
            for column, cell in zip(table.columns, row, strict=True):
                who = column.group if (row[0], 0) == (report["study"]["title"], 0) else row[0]
                if column.kind == "share" and (key := (who, cell["correct"], cell["n"])) in wanted:
                    found[key].add((tuple(cell["ci"]) if cell["ci"] else None, table.name))
    assert len(found) > 8
    for key, shown in found.items():
        intervals = {ends for ends, _ in shown} - {None}
        assert intervals <= wanted[key], (key, shown)
