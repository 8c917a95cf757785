"""Sentences on accuracy, certainty and agreement say what their numbers say, whatever these are."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.report.citation import _items, _judges, _people, _rules
from analysis.report.quantities import (
    Name,
    Population,
    Quantity,
    QuantityInterval,
    clause,
    recorded,
)
from analysis.report.results import (
    AgainstPeople,
    Finding,
    TestResult,
    decided_by_judge,
    decided_by_people,
)
from analysis.report.sections.accuracy.section import Accuracy
from analysis.report.sections.agreement.coefficients import (
    Coefficients,
    check_text,
    expected_agreement,
)
from analysis.report.sections.bias.probes import Probes
from analysis.report.sections.bias.section import OwnResponsesSection
from analysis.report.sections.certainty import distribution
from analysis.report.sections.certainty.section import CertaintySection, certainty_headline
from analysis.report.sections.glance.headline import headline
from analysis.report.sections.glance.section import Glance
from analysis.report.sections.groups.section import GroupsOfErrors
from analysis.report.sections.limits import LimitsSection
from analysis.report.sections.position import LengthSection, lights, position_figure
from analysis.report.sections.record.section import Record
from analysis.report.sentences import (
    CALIBRATION,
    CERTAIN,
    GROUPS,
    LENGTH,
    OWN,
    PROBES,
    RANKING,
    SIDES,
    TOGETHER,
)
from analysis.report.study import standing
from analysis.report.verdict.answer import answer_of
from analysis.report.verdict.claims import what_was_found
from analysis.report.verdict.next_step import settling_of
from analysis.report.words import points_range
from tests.sampling import examples

NAMES = ("k", "Acme Inc.", "o1 {mini}", "people", "ä judge", "50 %")
UNITS = "items?|answers?|people|persons?|repl(?:y|ies)|personas?|questions?|runs?|points"


def is_sound(text, names=()):
    """Plurals, full stops, capitals and populations of one text that `say` made."""
    words = str(text)
    assert not re.search(r"\.\.|  |\{(?!mini)", words.replace("Acme Inc.", "Acme")), words
    for n, unit in re.findall(rf"(?<![\d.,±+−])(\d[\d,]*) ({UNITS})\b", words):
        is_one = unit.rstrip("s") == unit and unit not in ("people", "replies")
        assert is_one == (n == "1") or unit == "points", words
    assert not re.search(r"\) \(|\(\(", words), words
    begins = words.startswith(tuple(names)) or not words[0].islower()
    assert begins, words
    assert text.mixed == []
    for piece in text.parts:
        of = piece.quantity and piece.quantity.of
        if of and of.among is not None and not of.is_whole:
            assert re.search(rf"of {of.among:,}\b", words), (words, of)
            assert f"{of.n:,}" in words or piece.text in words


shares = st.floats(0, 1, allow_nan=False).map(lambda value: round(value, 10))
counts = st.integers(0, 400)


@st.composite
def intervals(draw, value, low=-1.0, high=1.0):
    """Ends around a value, or the reason why there are none."""
    if draw(st.integers(0, 4)) == 0:
        return None
    below, above = draw(st.floats(0, 0.5)), draw(st.floats(0, 0.5))
    return [max(low, value - below), min(high, value + above)]


def put(entry, key, ends):
    entry[key] = ends
    if ends is None:
        entry[f"{key}_reason"] = "too_few_items"


@st.composite
def differences(draw, n, *, family=1):
    """The entry of a difference: value, interval, tests and state, in any combination."""
    value = draw(st.sampled_from([-1, 1])) * draw(shares) if n else None
    tests = draw(st.integers(0, family))
    entry = {"n": n, "value": value, "margin": 0.05, "family": family, "tests": tests}
    ends = draw(intervals(value)) if n else None
    put(entry, "ci", ends)
    put(entry, "ci_as_best", ends and [ends[0] - draw(st.floats(0, 0.1)), ends[1]])
    put(
        entry, "equivalence_ci", ends and [ends[0] * 0.9 + value * 0.1, ends[1] * 0.9 + value * 0.1]
    )
    for key in ("p", "p_equivalence", "p_holm", "equivalence_p_holm"):
        entry[key] = draw(shares) if ends else None
    states = ["equivalent", "inconclusive"]
    # Nothing that is equal differs.
    states += ["different", "different_within_margin"] if value else []
    entry["state"] = draw(st.sampled_from(states)) if ends else None
    entry["detectable"] = draw(st.none() | st.floats(0.01, 1)) if ends else None
    sizes = {kind: draw(st.integers(1, 40)) for kind in ("people", "personas", "questions")}
    entry |= {"clusters": sizes, "people_largest": draw(shares)}
    kinds = draw(st.lists(st.sampled_from(sorted(sizes)), unique=True))
    entry |= {"too_few": kinds[:1], "few": kinds[1:2], "one": kinds[2:]}
    entry["people_uneven"] = draw(st.booleans())
    entry["people_effective"] = draw(st.none() | st.floats(1, 40))
    for key in ("judge_accuracy", "people_accuracy"):
        entry[key] = draw(shares) if n else None
    if draw(st.booleans()):
        entry["asked_of_all"] = family
    entry["se"] = draw(st.floats(0.001, 0.3))
    return entry


@st.composite
def cells(draw, most, key="ci"):
    """Right answers among at most so many."""
    n = draw(st.integers(0, most))
    correct = draw(st.integers(0, n))
    cell = {"n": n, "correct": correct, "accuracy": correct / n if n else None}
    clusters: dict[str, Any] = {}
    for name in ("ci", "ci_as_best"):
        put(clusters, name, draw(intervals(correct / n, 0.0)) if n else None)
    return cell | {"clusters": clusters}


@st.composite
def sides(draw, items):
    side = draw(cells(items))
    side["high"] = draw(cells(side["n"]))
    side["low"] = draw(cells(side["n"] - side["high"]["n"]))
    side["at_threshold"] = draw(st.integers(0, side["n"]))
    return side


@st.composite
def reports(draw):
    """The parts of report.json that these sentences read."""
    items = draw(st.integers(1, 400))
    people = draw(sides(items))
    rest = items - people["n"]
    people |= dict.fromkeys(("ties", "no_truth", "no_votes"), 0)
    people[draw(st.sampled_from(["ties", "no_truth", "no_votes"]))] = rest
    answers = draw(st.integers(0, items * 3))
    single = draw(sides(answers))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
    judges, comparison = [], []
    for place, name in enumerate(names):
        judge = draw(sides(items))
        identity = {"run": f"run{place}", "judge": name, "setting": "certainty", "features": "all"}
        out = dict.fromkeys(("tie", "no_truth", "refused", "unparseable", "error", "open"), 0)
        reason = draw(st.sampled_from(["tie", "no_truth", "refused"]))
        out[reason] = items - judge["n"]
        both = {"n": 0, "consistent": 0}
        if reason == "tie" and draw(st.booleans()):
            both = {"n": items, "consistent": judge["n"]}
        judges.append(
            judge
            | identity
            | {"items": items, "excluded": out, "judgments": {"done": items}}
            | {"position": {"both_orders": both}}
            | {"record": {"backend": draw(st.sampled_from(["openai", "jury"]))}}
        )
        judges[-1]["record"] |= {
            "samples": draw(st.integers(1, 3)),
            "parameters": {"judges": ["k", "3b"]},
        }
        judges[-1]["ties"] = draw(st.sampled_from([{}, {"share_reason": "not_offered"}]))
        n = draw(st.integers(0, min(judge["n"], people["n"])))
        entry = identity | {"difference_general": draw(differences(n, family=len(names)))}
        common = draw(st.integers(0, items))
        entry |= {"common_items": common, "agreement_with_majority": None}
        entry["pooled_replacement"] = {"advantage_of_people": None}
        if common:
            entry["agreement_with_majority"] = draw(st.integers(0, common)) / common
        put(entry, "agreement_as_best_ci", draw(intervals(0.5, 0.0)))
        entry["certainty"] = draw(certainties(items, answers, n, family=len(names)))
        comparison.append(entry)
    agree = draw(st.none() | shares)
    agreement = {"percent": agree, "unanimous": {"n": draw(st.integers(1, items))}}
    put(agreement, "percent_general_ci", None if agree is None else draw(intervals(agree, 0.0)))
    alpha = {"value": None if agree is None else draw(st.floats(-1, 1))}
    put(alpha, "ci", None if agree is None else draw(intervals(alpha["value"])))
    agreement["krippendorff_alpha"] = alpha
    expected = {"items": draw(st.integers(1, items)), "agreement": agree, "observed": agree}
    if draw(st.booleans()):
        expected |= dict.fromkeys(("follows", "right", "majority", "majority_observed"), 0.5)
    agreement["from_accuracy"] = expected
    agreement["certainty_alpha"] = alpha["value"]
    checked = {"value": draw(st.none() | st.floats(-1, 1)), "agrees": draw(st.booleans())}
    agreement["alpha_check"] = {
        "package": "krippendorff",
        "version": "0.9.0",
        "choices": checked,
        "certainty": checked,
    }
    known = any(side["n"] for side in (people, *judges))
    return {
        "inputs": {
            "items": items,
            "personas": 40,
            "questions": 40,
            "truth": {"r1": 0, "r2": 0, "unknown": 0 if known else items},
        },
        "study": {"ask_certainty": True, "allow_tie": False},
        "parameters": {"threshold": draw(st.sampled_from([75, 80])), "explored": False},
        "registration": {"plan": None, "late_changes": []},
        "human": {
            "answers": answers,
            "not_counted": {"surplus": draw(st.integers(0, 1))},
            "annotators": draw(st.integers(1, 40)),
            "majority": people,
            "individual": single,
            "agreement": agreement,
        },
        "judges": judges,
        "comparison": comparison,
        "claims_tested": {"kinds": [], "members": []},
    }


@st.composite
def certainties(draw, items, answers, n, *, family):
    """How the certainties of a judge and people compare."""
    rho = draw(st.none() | st.floats(-1, 1))
    entry = {"items": draw(st.integers(1, items)), "spearman": rho}
    entry["spearman_reason"] = "no_variation"
    put(entry, "spearman_general_ci", None if rho is None else draw(intervals(rho)))
    entry |= {"judgments": draw(counts), "answers": draw(st.integers(0, answers))}
    entry["closed"] = entry["judgments"] + draw(st.integers(0, 3))
    mean = draw(st.none() | st.floats(1, 100))
    entry |= {"model_mean": mean, "human_mean": mean}
    entry["high_sets"] = {
        "n": n,
        "judge_on_own": draw(cells(n)),
        "people_on_own": draw(cells(n)),
        "difference_general": draw(differences(n, family=family)),
        "cells": {"both": {"people": draw(cells(n))}},
    }
    return entry


def positions(draw, most):
    """How often side A was chosen; the right sides are known for some of the answers."""
    n = draw(st.integers(0, most))
    n_truth = draw(st.integers(0, n))
    entry: dict[str, Any] = {"n": n, "n_truth": n_truth}
    entry["share_a"] = draw(shares) if n else None
    entry["truth_share_a"] = draw(shares) if n_truth else None
    entry["share_a_scored"] = draw(shares) if n_truth else None
    put(entry, "share_a_scored_ci", draw(intervals(0.5, 0.0)) if n_truth else None)
    n_a = draw(st.integers(0, n_truth))
    for key, among in (("right_when_a", n_a), ("right_when_b", n_truth - n_a)):
        entry[key] = {"n": among, "correct": draw(st.integers(0, among))}
    return entry


def lengths(draw, most):
    """How often the longer response is chosen and right, and where each kind is right."""
    parts = {f"right_when_{key}": draw(cells(most // 2)) for key in ("longer", "shorter")}
    n = sum(part["n"] for part in parts.values())
    return parts | {"n": n, "longer_chosen": draw(shares), "longer_true": draw(shares)}


UP = ("side A", "shorter response", "higher than", "rises", "right more", "more often on")
DOWN = ("side B", "longer response", "lower than", "falls", "right less", "less often on")
KINDS = (SIDES, LENGTH, CALIBRATION, RANKING, TOGETHER, GROUPS, PROBES, OWN, CERTAIN)


def with_tests(draw, report):
    """Add all kinds of claims with their tests, in any combination of sign and state."""
    human, items = report["human"], report["inputs"]["items"]
    human |= {"position": positions(draw, human["answers"]), "verbosity": lengths(draw, items)}
    sides = [("people", human["individual"]), ("majority", human["majority"])]
    for place, judge in enumerate(report["judges"]):
        position = positions(draw, 2 * items)
        judge["position"] |= position
        judge["verbosity"] = lengths(draw, items)
        sides.append((f"judges.{place}", judge))
    for _, side in sides:
        n = side["high"]["n"] + side["low"]["n"]
        gap = draw(st.floats(-1, 1)) if n else None
        side["calibration"] = {"n": n, "gap": gap}
        side["certainty"] = {"summary": {"n": n}}
    members = []
    for kind in (SIDES, LENGTH, CALIBRATION, RANKING, TOGETHER):
        for who, _ in sides:
            if (kind == LENGTH and who == "people") or (kind == TOGETHER and "j" not in who[:1]):
                continue
            if kind == SIDES and who == "majority":
                continue
            test = {"kind": kind, "who": who, "t": 1.0, "p_max": draw(st.none() | shares)}
            if kind == SIDES:
                of = human["position"] if who == "people" else dict(sides)[who]["position"]
                test["value"] = draw(st.floats(-1, 1)) if of["n_truth"] else None
                put(test, "ci", draw(intervals(test["value"])) if of["n_truth"] else None)
                test["n"] = of["n_truth"]
            else:
                test["n"] = draw(st.integers(0, min(items, human["answers"])))
            if kind in (LENGTH, CALIBRATION, RANKING):
                test["value"] = draw(st.none() | st.floats(-1, 1))
                put(test, "ci", None if test["value"] is None else draw(intervals(test["value"])))
            members.append(test)
    kinds = []
    for kind in KINDS:
        tested = draw(st.integers(1, 20))
        entry = {"kind": kind, "tested": tested, "hold": draw(st.integers(0, tested))}
        kinds.append(entry | {"level": draw(st.sampled_from([0.0, 0.05, 1.0]))})
    totals = {key: sum(entry[key] for entry in kinds) for key in ("tested", "hold")}
    report["claims_tested"] = totals | {"kinds": kinds, "members": members}
    report["group_errors"] = {
        "judges": [[group(draw, items) for _ in range(2)] for _ in report["judges"]]
    }
    report["bias"] = {
        "probes": [probe(draw, items) for _ in range(draw(st.integers(0, 4)))],
        "own": [own(draw, items) for _ in range(draw(st.integers(0, 2)))],
    }


def one_test(draw, p):
    value = draw(st.none() | st.floats(-1, 1))
    entry = {"value": value, p: None if value is None else draw(st.none() | shares)}
    put(entry, "ci", None if value is None else draw(intervals(value)))
    return entry


def group(draw, items):
    entry = {"label": "age", "value": "30", "n": draw(st.integers(1, items))}
    entry |= {key: one_test(draw, "p_max") for key in ("difference", "beyond_people")}
    return entry


def probe(draw, items):
    shift = one_test(draw, "p_holm")
    return {
        "judge": draw(st.sampled_from(NAMES[:2])),
        "run": "1",
        "setting": "standard",
        "features": "all",
        "compared_with": draw(st.sampled_from([None, "2"])),
        "probe": draw(st.sampled_from(["length", "50 % off"])),
        "target": "drawn",
        "mitigations": draw(st.sampled_from([[], ["warning"]])),
        "items": draw(st.integers(1, items)),
        "shift": shift["value"],
        "shift_ci": shift["ci"],
        "shift_ci_reason": "too_few_items",
        "p_holm": shift["p_holm"],
    }


def own(draw, items):
    entry: dict[str, Any] = {"judge": draw(st.sampled_from(NAMES))}
    for key in ("own", "people"):
        found = {"n": draw(st.integers(0, items)), "bias": one_test(draw, "p_holm")}
        found |= {name: {"value": draw(shares)} for name in ("chosen", "gold", "dbg")}
        entry[key] = found
    return entry


def with_records(draw, report):
    """Add what was asked, what is missing, and who took part and how."""
    items, human = report["inputs"]["items"], report["human"]
    report["inputs"] |= {"personas": draw(st.integers(1, items)), "runs_left_out": 1}
    report["inputs"] |= {"questions": draw(st.integers(1, items))}
    report["inputs"]["truth"] |= {"unknown": draw(st.integers(0, items)), "tie": items // 9}
    report["study"] |= {
        "simulated": draw(st.booleans()),
        "language": draw(st.sampled_from(["", "en", "de"])),
        "question": "Which of 2 would you prefer?",
        "source": {
            "name": "data 2.0",
            "pooled_from": draw(st.sampled_from([[], ["one", "two 2"]])),
            "pooled_people": {
                key: draw(counts) for key in ("in_several", "repeated_answers", "unknown")
            },
        },
    }
    pay = {"people": draw(st.integers(1, 9)), "currency": "GBP", "minutes": 15}
    pay["reward"] = draw(st.sampled_from([0, 3.4]))
    paid = {"promised": [pay | {"rewards": 6.8}], "currency": "GBP"}
    paid |= {"finished": draw(st.integers(0, 9)), "rewards": draw(st.sampled_from([None, 6.8]))}
    paid["per_correct"] = draw(st.sampled_from([0, 0.05]))
    human |= {"pay": paid, "people": {"arrived": 3}}
    human["not_counted"] = {key: draw(st.integers(0, 3)) for key in ("surplus", "excluded")}
    human["not_counted"]["excluded_people"] = draw(st.integers(0, 3))
    human["majority"]["ties"] = draw(st.integers(0, items))
    for judge in report["judges"]:
        done = draw(st.integers(0, items))
        judge |= {"judgments": {"done": done, "open": items - done}, "competes": True}
        judge["excluded"]["skipped"] = 0
        judge["cost"] = {"price_remark": draw(st.sampled_from(["", "The price has no date."]))}
        judge["record"]["parameters"]["temperature"] = 0.7
        judge["record"] |= {
            "orders": "both",
            "snapshots": ["gpt-4o-2024"],
            "sent": [],
            "conditions": ["2 of 4 answers came from “x 2.1”."],
        }
        for key in ("right_when_a", "right_when_b"):
            judge["position"][key] = draw(cells(items))
        side = {"n": draw(st.integers(1, items)), "accuracy": draw(st.none() | shares)}
        judge["reading"] = {
            "judgments": items,
            "leniently": draw(st.integers(0, items)),
            "only_certainty": draw(st.integers(1, items)),
            "strict": side,
            "lenient": side,
        }
    change = {"setting": "margin", "before": 0.05, "after": 0.1, "on": "2026-11-29"}
    report["registration"] = {
        "plan": None,
        "because": "No plan was frozen in 2026.",
        "late_changes": [change, change | {"setting": "threshold", "before": 80, "after": 75}],
        "late_extras": [{"title": "3 kinds", "on": "2026-11-29", "after_report": False}],
    }
    report["parameters"] |= {"margin": 0.05, "bootstrap": 2000}
    report["seed"] = 20240701
    report["software"] = {"thirdperson": "1.2", "numpy": "2.0", "scipy": "1.1"}


@settings(max_examples=examples(25, every=100), derandomize=True)
@given(reports(), st.data())
def test_every_sentence_about_sides_biases_groups_and_claims_is_sound(report, data):
    with_tests(data.draw, report)
    with recorded() as texts:
        light_of = {str(light.text): light.light for light in lights(report)}
        position_figure(report)
        for section in (LengthSection(), Probes(), OwnResponsesSection(), GroupsOfErrors()):
            list(section.sentences(report))
        report["headline"] = headline(report)
        report["cautions"] = {}
        table = what_was_found(report)

    for text in texts:
        is_sound(text, NAMES)
    for words, light in light_of.items():
        gap = re.search(
            r"a difference of ([+−]?)[\d.]+ points(?:, 95 % CI ([+−]?).* to ([+−]?))?", words
        )
        if light in ("red", "amber"):
            # Words, number and both ends of the interval say the same, if it is there and not 0.
            assert set(gap.groups()) - {None, ""} <= {
                "+" if "lean to side A" in words.replace("leans", "lean") else "−"
            }
        elif light == "unknown" and gap and gap[2] and gap[2] == gap[3]:
            assert "can be chance" in words or "Errors without a preference" in words
    for claim, number, interval, about in ([c.text for c in row] for row in table.cells):
        if not claim.startswith("Open: ") and number != "–":
            is_up, is_down = (any(word in claim for word in words) for words in (UP, DOWN))
            is_zero = re.match(r"(ρ = )?[+−]?0\.0", number)
            assert is_zero or not is_up or "−" not in number, (claim, number)
            assert is_zero or not is_down or "−" in number, (claim, number)
            # The first screen's answer allows for choosing the best run; its margin is not 0.
            signs = set(re.findall(r"(?:^|to )([+−]?)\d", interval))
            assert " was right " in claim or len(signs) < 2 or "0.0" in interval, (claim, interval)
        assert re.match(r"[\d,]+ \w|see its chapter", about), about


@settings(max_examples=examples(25, every=100), derandomize=True)
@given(reports(), st.data())
def test_every_sentence_about_the_record_what_is_missing_and_the_methods_is_sound(report, data):
    with_tests(data.draw, report)
    with_records(data.draw, report)
    report["headline"] = headline(report)
    with recorded() as texts:
        for section in (Glance(), Record(), LimitsSection()):
            list(section.sentences(report))
        for part in (_items, _people, _judges, _rules):
            list(part(report))

    for text in texts:
        is_sound(text, (*NAMES, "x 2.1", "one and two 2"))
    assert any(str(text).startswith("Resamples: 2,000, seed 20240701;") for text in texts)


@settings(max_examples=examples(25, every=100), derandomize=True)
@given(reports())
def test_every_sentence_of_these_chapters_is_sound_whatever_the_numbers(report):
    with recorded() as texts:
        report["headline"] = headline(report)
        report["certainty_headline"] = certainty_headline(report)
        for section in (Accuracy(), CertaintySection(), Coefficients()):
            list(section.sentences(report))
        expected_agreement(report)
        check_text(report)
        if report["headline"]["state"] in ("better", "worse", "cannot_tell", "too_few"):
            report["cautions"] = {}
            answer_of(report)
            settling_of(report)

    assert texts
    for text in texts:
        is_sound(text, NAMES)
    names = [judge["judge"] for judge in report["judges"]]
    if "judge" in report["headline"]:
        assert report["headline"]["judge"] in names
        # Whatever name it is, it stays as it is written.
        assert any(report["headline"]["judge"] in str(text) for text in texts)


@st.composite
def compared(draw):
    """A report with one judge, and the state that its difference has."""
    n, more = draw(st.integers(0, 300)), draw(st.sampled_from([0, 100]))
    report = {
        "inputs": {"items": n + more, "truth": {"unknown": draw(st.sampled_from([0, more]))}},
        "judges": [{"excluded": {"no_truth": draw(st.sampled_from([0, more]))}}],
        "comparison": [{"difference_general": draw(differences(n, family=2))}],
    }
    return report, standing(report["comparison"][0]["difference_general"])


@settings(max_examples=examples(25, every=100), derandomize=True)
@given(compared())
def test_the_words_the_number_and_the_interval_of_a_comparison_say_the_same(compared):
    report, state = compared
    entry = report["comparison"][0]["difference_general"]
    found = AgainstPeople.of_run(report, 0, state=state, judge="k", people="the majority")
    words, answer = str(found.sentence()), str(found.answer())

    if state == "too_few":
        assert "too few for a comparison" in words
        assert "too few for a comparison" in answer
        return
    value, ends = entry["value"], entry["ci_as_best"]
    assert words.startswith("We cannot tell") == (state == "cannot_tell" or ends is None)
    for verb, often, is_said in (("better", "more", 1), ("worse", "less", -1)):
        assert (f"k did {verb} than" in words) == (state == verb)
        assert (f"was right {often} often than" in answer) == (state == verb)
        if state == verb:
            assert value * is_said > 0
            assert "percentage points" in answer
    shown = re.search(r"the difference is ([+−]?)[\d.]+ points", words)
    if abs(value) > 0.001:
        assert shown[1] == ("+" if value > 0 else "−")
    if ends is None:
        assert "without an interval" in words
        return
    assert f"(95 % CI {points_range(ends)}" in words
    excludes = ends[0] > 0 or ends[1] < 0
    if state in ("better", "worse"):
        assert ("includes 0" in words) != excludes
    elif state == "cannot_tell":
        assert ("by chance" in words) or not excludes
        assert ("by chance" in answer) == excludes
        is_equal = "this does not show that both are right equally often" in answer
        assert is_equal or ("can be chance" in answer) != excludes


@settings(max_examples=examples(25, every=100), derandomize=True)
@given(st.floats(-1, 1), st.data(), st.booleans())
def test_a_claim_needs_its_test_its_sign_and_its_interval(value, data, holds):
    ends = data.draw(intervals(value))
    of = Population("item", n=50, among=50)
    interval = QuantityInterval(tuple(ends)) if ends else QuantityInterval(why="too few items")
    number = Quantity("points", of, value, interval=interval)
    result = TestResult(number, holds)
    more, less = clause("k is right more often"), clause("k is right less often")

    words = str(
        result.claim(
            {Finding.ABOVE: more, Finding.BELOW: less},
            whether=more,
            number=clause("{x} points on {x.of} ({x.interval})", x=number),
        )
    )

    excludes = bool(ends) and (ends[0] > 0 or ends[1] < 0)
    assert words.startswith("We cannot tell whether") == (not holds or not excludes)
    assert words.startswith("K is right more") == (holds and excludes and value > 0)
    assert words.startswith("K is right less") == (holds and excludes and value < 0)
    assert words.endswith("this can be chance.") == (excludes and not holds)


@pytest.mark.parametrize(
    ("excluded", "both", "words"),
    [
        ({}, 0, "240 items"),
        ({"tie": 163}, 240, "77 items (of 240) on which both orders agree"),
        ({"tie": 163}, 0, "77 items (of 240) it decided"),
        ({"tie": 100, "refused": 63}, 240, "77 items (of 240) it decided"),
        ({"no_truth": 163}, 0, "77 items (of 240) with a known answer that it decided"),
        (
            {"no_truth": 100, "tie": 63},
            240,
            "77 items (of 240) with a known answer on which both orders agree",
        ),
    ],
)
def test_the_items_of_a_judge_are_named_by_what_it_left_out(excluded, both, words):
    n = 240 - sum(excluded.values())
    orders = {"n": both, "consistent": both - excluded.get("tie", 0)}
    judge = {"n": n, "excluded": excluded, "position": {"both_orders": orders}}

    inputs = {"items": 240, "truth": {"unknown": 240}}
    of = decided_by_judge({"inputs": inputs, "judges": [judge]}, 0)

    assert str(of) == words
    # A true tie that was no option has a known answer, and is not scored either.
    inputs["truth"]["unknown"] = 0
    of = decided_by_judge({"inputs": inputs, "judges": [judge]}, 0)
    assert str(of) == words.replace("a known answer", "a right answer on offer")


@pytest.mark.parametrize(
    ("missing", "people", "words"),
    [
        ({}, 3, "240 items"),
        ({"ties": 40}, 3, "200 items (of 240) with a majority"),
        ({"no_truth": 30, "ties": 10}, 3, "200 items (of 240) with a known answer and a majority"),
        ({"no_votes": 40}, 1, "200 items (of 240) with an answer"),
    ],
)
def test_the_items_of_people_are_named_by_what_is_missing(missing, people, words):
    side = dict.fromkeys(("ties", "no_truth", "no_votes"), 0) | missing
    side["n"] = 240 - sum(missing.values())

    human = {"majority": side, "annotators": people}
    inputs = {"items": 240, "truth": {"unknown": 240}}

    assert str(decided_by_people({"inputs": inputs, "human": human})) == words


def test_the_title_of_certainty_names_those_that_are_right_less_often_when_certain(monkeypatch):
    for more, less, title in (
        (["a"], [], "a is correct more often when certain"),
        ([], ["b", "c"], "b and c are correct less often when certain"),
        (["a"], ["b"], "a is correct more often when certain, b is correct less often when"),
        ([], [], "Right and wrong answers by certainty"),
    ):
        both = [list(map(Name, names)) for names in (more, less)]
        monkeypatch.setattr(distribution, "held", lambda *_, both=both: both)
        assert str(distribution._histograms_title({})).startswith(title)
