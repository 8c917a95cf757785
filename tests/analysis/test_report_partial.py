"""Reports in which something is missing: parts of the data, or a part that fails."""

import datetime as dt
import random
from collections.abc import Callable

import pytest

from analysis.report import render, section
from analysis.report.build import sections
from analysis.report.report_json import Json, to_json, without_people
from studies.models import Study
from tests.analysis.builders import answer, judge_item, little_study, make_rater, make_run
from tests.analysis.partial import report_of
from tests.factories import make_item, make_persona, make_study, stored_at_once

pytestmark = pytest.mark.django_db

AGES = ("young", "old", "oldest")
# With so many personas a part of them fills the tables of groups, and another leaves them empty.
SIZES = ((1, 6), (4, 3), (17, 2), (24, 2))
RUNS = (
    {"judge": "one", "setting": "certainty"},
    {"judge": "one", "setting": "certainty", "features": "none", "feature_keys": []},
    {"judge": "one", "setting": "standard", "orders": "both"},
    {"judge": "two", "setting": "tie", "samples": 2},
    {"judge": "two", "setting": "certainty", "bias_probe": "length"},
    {"judge": "two", "setting": "certainty", "bias_probe": "none+reflection"},
    {"judge": "two", "setting": "certainty", "features": "age", "feature_keys": ["age"]},
    {"judge": "three", "setting": "certainty", "is_imported": True},
)


def whole(study: Study) -> tuple[Json, str]:
    """The report and its page, as people and readers of a shared copy see it."""
    report = report_of(study)
    to_json(report)
    page = render.render_html(report, date=dt.date(2026, 5, 1))
    render.render_html(without_people(report), date=dt.date(2026, 5, 1))
    return report, page


@stored_at_once()
def partial_study(seed: int) -> Study:
    """A study whose people, judges and right answers each leave out some personas or items."""
    rng = random.Random(seed)
    study = make_study(
        slug=f"partial-{seed}", allow_tie=rng.random() < 0.3, ask_certainty=rng.random() < 0.8
    )
    n_personas, per_persona = rng.choice(SIZES)
    personas = [_persona(study, AGES[number % 3]) for number in range(n_personas)]
    known, answered = _some(rng), _some(rng)
    raters = [make_rater(study=study) for _ in range(rng.choice([1, 3, 6]))]
    options = ["r1", "r2", "tie"] if study.allow_tie else ["r1", "r2"]
    items = []
    for number in range(n_personas * per_persona):
        truth = rng.choice(options)
        item = make_item(
            study=study,
            key=f"i{number:03}",
            persona=personas[number % n_personas],
            question=f"Question {number % 20}?",
            first_person=truth if known(number) else "",
        )
        items.append((item, number, truth))
        if answered(number):
            for rater in rng.sample(raters, rng.randint(1, len(raters))):
                certainty = rng.choice([50, 70, 80, 95]) if study.ask_certainty else None
                first = rng.choice(["r1", "r2"])
                answer(rater, item, _verdict(rng, truth), certainty, shown_first=first)
    for parameters in rng.sample(RUNS, rng.choice([0, 1, 2, 4])):
        run, judged = make_run(study=study, **parameters), _some(rng)
        is_read = rng.random() < 0.75
        for item, number, truth in items:
            if not judged(number):
                continue
            for first in ("r1", "r2") if run.orders == "both" else (rng.choice(["r1", "r2"]),):
                for sample in range(1, run.samples + 1):
                    judge_item(
                        run,
                        item,
                        _verdict(rng, truth) if is_read else "",
                        rng.choice([50, 80, 90]) if is_read and run.setting != "standard" else None,
                        state="done" if is_read else "unparseable",
                        shown_first=first,
                        sample=sample,
                    )
    return study


def _persona(study: Study, age: str):
    features = [{"key": "age", "label": "Age", "value": age, "text": f"Age: {age}"}]
    return make_persona(study=study, features=features)


def _verdict(rng: random.Random, truth: str) -> str:
    return truth if rng.random() < 0.6 else rng.choice(["r1", "r2"])


def _some(rng: random.Random) -> Callable[[int], bool]:
    """Which items a side covers: all, none, those of one age, a few, or all but one age."""
    age = rng.randrange(3)
    return rng.choice(
        [
            lambda number: True,
            lambda number: False,
            lambda number: number % 3 == age,
            lambda number: number < 5,
            lambda number: number % 3 != age,
        ]
    )


@pytest.mark.sampled(keep=4)
@pytest.mark.parametrize("seed", range(200))
def test_a_report_is_made_of_data_in_which_parts_are_missing(seed):
    report, page = whole(partial_study(seed))

    assert "failed_parts" not in report
    assert "could not be made" not in page


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("answered", ["nobody", "the old", "all"])
def test_groups_of_errors_that_only_the_judge_answered(answered):
    rng = random.Random(1)
    study = make_study()
    rater, run = make_rater(study=study), make_run(study=study)
    with stored_at_once():
        for number in range(24):
            age = AGES[number % 2]
            item = make_item(study=study, persona=_persona(study, age), first_person="r1")
            judge_item(run, item, rng.choice(["r1", "r2"]), 70)
            if answered == "all" or answered == f"the {age}":
                answer(rater, item, rng.choice(["r1", "r2"]), 70)

    report, page = whole(study)

    [[entry]] = report["group_errors"]["judges"]
    assert (entry["value"], entry["n"], entry["personas"]) == ("old", 12, 12)
    assert entry["difference"]["p"] is not None
    beyond = entry["beyond_people"]
    if answered == "all":
        assert beyond["value"] is not None
    else:
        assert (beyond["value"], beyond["p"]) == (None, None)
        assert beyond["value_reason"] == beyond["p_holm_reason"] == "empty_group"
    assert "Personas on which each side errs" in page


def _fail(*args, **kwargs):
    raise ZeroDivisionError("a program error")


@pytest.mark.sampled(keep=3)
@pytest.mark.parametrize("name", [one.name for one in sections()])
@pytest.mark.parametrize("step", ["compute", "tables", "figures", "sentences", "context"])
def test_a_part_that_fails_never_takes_the_report_with_it(name, step, monkeypatch, caplog):
    monkeypatch.setattr(section, "RAISES", False)
    [part] = [one for one in sections() if one.name == name]
    study = little_study(1)
    monkeypatch.setattr(type(part), step, _fail)

    report, page = whole(study)

    assert "ZeroDivisionError" not in page
    if step == "compute":
        assert name in report["failed_parts"]
    if f"“{name}” of a report failed" in caplog.text:
        assert f"The part “{name.replace('_', ' ')}” could not be made" in page
    assert page.count("</section>") > 10
