"""The section on wordings: planted effects, what stays apart, and what was fixed beforehand."""

import random
from dataclasses import replace
from itertools import product

import pytest

from analysis.data.dataset import load_dataset
from analysis.data.frozen_plan import FrozenPlan
from analysis.report.build import build_report
from analysis.report.registration import planned_as
from analysis.report.sections.ablations import ablations
from analysis.report.study import ReportedStudy
from analysis.report.words import run_names
from extras.judges_compared.wording import wordings
from judging.models import Judge, JudgeRun, Jury, PromptTemplate
from judging.wordings import save_wording
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.factories import make_item, make_persona, make_study, stored_at_once

pytestmark = pytest.mark.django_db
TEXT = "{{ persona }} {{ question }} {{ response_a }} {{ response_b }} "


@stored_at_once()
def asked(effects, *, framings=("observer", "persona"), items=48, seed=1, judges=("j",)):
    """A study whose judges are right as often as their wording says, in both orders."""
    draw = random.Random(seed)
    study = make_study(slug=f"ways-{seed}")
    personas = [make_persona(study=study) for _ in range(12)]
    made = [
        make_item(study=study, persona=personas[n % 12], first_person="r1") for n in range(items)
    ]
    raters = [make_rater(study=study) for _ in range(4)]
    for number, item in enumerate(made):
        answer(raters[number % 4], item, draw.choice(["r1", "r1", "r2"]))
    own = {
        name: save_wording(study_id=study.pk, name=name, setting="certainty", template=TEXT + name)
        for name in effects
        if name
    }
    for judge, (name, share), framing in product(judges, effects.items(), framings):
        run = make_run(
            study=study,
            judge=judge,
            orders="both",
            wording=own.get(name),
            framing=framing,
            prompt_hash="",
        )
        for item in made:
            for shown in ("r1", "r2"):
                choice = "r1" if draw.random() < share else "r2"
                judge_item(run, item, choice, 60, shown_first=shown)
    return study


def section_of(study):
    return wordings(ReportedStudy(load_dataset(study.slug), threshold=80, seed=1, draws=50))


@pytest.mark.nightly
def test_a_planted_effect_is_the_wordings_and_every_way_is_listed():
    [entry] = section_of(asked({"": 0.95, "plain": 0.9, "odd": 0.35}))

    effects = {effect["factor"]: effect for effect in entry["effects"]}
    assert effects["wording"]["share"] > 0.9
    assert effects["wording"]["p_holm"] < 0.001
    assert effects["framing"]["p_holm"] > 0.01
    assert effects["order"]["p_holm"] > 0.01
    assert effects["wording"]["levels"] == ["", "odd@1", "plain@1"]
    assert len(entry["ways"]) == 3 * 2 * 3 * 2
    assert len(entry["pairs"]) == 3 * 2
    strong = {(p["first"], p["second"]) for p in entry["pairs"] if (p["p_holm"] or 1) < 0.01}
    assert strong == {("", "odd@1"), ("odd@1", "plain@1")}
    for way in entry["ways"]:
        assert way["agreement_n"] <= 48
        assert way["n"] == 48 or way["undecided"] == "left_out"


@pytest.mark.nightly
def test_runs_of_different_wordings_are_different_judges_of_the_report():
    study = asked({"": 0.8, "odd": 0.6}, judges=("j", "k"), items=16)
    jury = Jury.objects.create(study=study, name="panel")
    jury.judges.set(Judge.objects.filter(name__in=["j", "k"]))

    data = load_dataset(study.slug)
    report = build_report(data, seed=1, bootstrap=50)

    assert len(report["judges"]) == 2 * 4 + 4
    assert len(set(run_names(report))) == len(report["judges"])
    assert "j (odd@1, persona)" in run_names(report)
    assert sum(run.is_jury for run in data.runs) == 4
    assert report["ablations"] == []


def test_a_framing_without_profile_counts_as_no_persona():
    study = asked({"": 0.8}, framings=("observer", "neutral"), items=8)

    features = {run.framing: run.features for run in load_dataset(study.slug).runs}

    assert features == {"observer": "all", "neutral": "none"}


def test_changed_verdicts_are_counted_reading_by_reading():
    [entry] = section_of(asked({"": 1.0, "odd": 0.0, "same": 1.0}, framings=("observer",), items=8))

    assert {
        (pair["first"], pair["second"]): (pair["readings"], pair["changed"])
        for pair in entry["pairs"]
    } == {("", "odd@1"): (16, 1.0), ("", "same@1"): (16, 0.0), ("odd@1", "same@1"): (16, 1.0)}


def test_a_grid_with_gaps_has_no_shares():
    study = asked({"": 0.8, "odd": 0.6}, items=8)
    JudgeRun.objects.filter(wording=None, framing="persona").update(probe_first=True)

    [entry] = section_of(study)

    assert (entry["effects"], entry["low"], entry["low_reason"]) == ([], None, "incomplete_grid")
    assert len(entry["pairs"]) == 1


def test_a_plan_that_names_every_run_fixes_the_list():
    study = make_study(slug="planned")
    wording = save_wording(study_id=study.pk, name="odd", setting="certainty", template=TEXT)
    item = make_item(study=study, first_person="r1")
    for own, framing in ((None, "observer"), (wording, "observer"), (None, "persona")):
        run = make_run(study=study, judge="j", wording=own, framing=framing)
        judge_item(run, item, "r1", 60)
    data = load_dataset(study.slug)
    judges = [planned_as(run) for run in data.runs]
    plan = FrozenPlan({"analyses": ["wording"], "judges": judges}, 0, 0, "2026-05-04")

    def is_fixed(runs):
        [entry] = wordings(ReportedStudy(replace(data, plan=plan, runs=runs), 80, 1, 100))
        return entry["fixed_beforehand"]

    assert is_fixed(data.runs)
    other = [replace(run, wording_sha256=run.wording and "0" * 64) for run in data.runs]
    assert not is_fixed(tuple(other))


@pytest.mark.nightly
def test_less_of_the_persona_is_compared_within_a_wording():
    study = asked({"odd": 0.9}, framings=("observer",), items=8)
    [odd] = load_dataset(study.slug).runs
    for wording in (None, PromptTemplate.objects.get()):
        less = make_run(study=study, judge="j", wording=wording, features="none", orders="both")
        for item in study.all_items.all():
            judge_item(less, item, "r1", 60)

    [entry] = ablations(ReportedStudy(load_dataset(study.slug), threshold=80, seed=1, draws=50))

    assert entry["compared_with"] == odd.run
    assert entry["wording"] == "odd@1"
