"""The chapter on certainty, and its main findings as sentences chosen by rule."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analysis.report.report_json import Json
from analysis.report.rules import TOO_SMALL
from analysis.report.section import ReportJson, Section, Sentence
from analysis.report.sections.certainty.calibration import CalibrationSection
from analysis.report.sections.certainty.comparison import CertaintyComparison, HighSetsSection
from analysis.report.sections.certainty.distribution import DistributionSection
from analysis.report.sentences import (
    CERTAIN,
    THRESHOLD,
    TOGETHER,
    Text,
    despite_interval,
    detectable_words,
    fill,
    holds,
    holm_words,
    level_of,
    members,
    shown,
    state_with,
    texts,
    who_of,
)
from analysis.report.study import ReportedStudy, asked_about
from analysis.report.words import (
    certainty_limit,
    decimal,
    decimal_range,
    listed,
    percent,
    points,
    points_range,
    reason,
    run_name,
    run_names,
    whole_runs,
)


def certainty_headline(report: Mapping[str, Any]) -> Json:
    """The findings on certainty, for the same run as the headline.

    Three findings by rule: whether its certainty rises with the annotators' (interval of Spearman's
    correlation in general), mean certainty of single answers, and whether the judge, where certain,
    is right more often than annotators where they are (interval of the difference, both sets
    resampled).
    """
    found = [versus["certainty"] for versus in report["comparison"]]
    stated = [index for index, entry in enumerate(found) if entry["spearman"] is not None]
    if not stated:
        return state_with("not_comparable", _not_comparable(found))
    asked = asked_about(report)
    index = stated[0] if asked is None else asked
    judge, versus, path = report["judges"][index], found[index], f"comparison.{index}.certainty"
    name = run_name(judge, report["judges"])
    if index not in stated:
        return state_with("not_comparable", _not_stated(name, len(stated))) | who_of(judge)
    test = dict(members(report, TOGETHER)).get(name, {})
    differs = holds(test, level_of(report, TOGETHER))
    sentences = [
        _together(name, versus, path, differs),
        _more_certain(name, versus, path),
    ]
    if report["inputs"]["truth"]["unknown"] == report["inputs"]["items"]:
        unknown = "No right answers are known, so accuracy where certain cannot be compared."
        return state_with("no_truth", *sentences, unknown) | who_of(judge)
    state, sentence = _on_own_ground(
        name,
        versus["high_sets"],
        f"{path}.high_sets",
        report["parameters"]["threshold"],
        level_of(report, CERTAIN),
    )
    return state_with(state, *sentences, sentence) | who_of(judge)


def _not_comparable(found: Sequence[Mapping[str, Any]]) -> str:
    if "no_variation" in {entry["spearman_reason"] for entry in found}:
        return (
            "One or both sides always state the same certainty, so it is undefined whether the "
            "certainties of judges and people rise together."
        )
    return "No run states a certainty on enough items on which people state one."


def _not_stated(name: str, others: int) -> str:
    """The judge of the headline states no certainty that can be compared, but others do."""
    do = "another judge does" if others == 1 else f"{others:,} other judges do"
    return (
        f"{name} states no certainty on enough items on which people state one, so theirs and its "
        f"own cannot be compared; {do}, in the tables."
    )


def _together(name: str, found: Mapping[str, Any], path: str, differs: bool) -> Text:
    ends = found["spearman_general_ci"]
    rho = shown(decimal(found["spearman"], 2), f"{path}.spearman")
    words: dict[str, object] = {
        "name": name,
        "items": shown(found["items"], f"{path}.items"),
        "found": rho,
    }
    if ends is not None:
        interval = shown(decimal_range(ends, 2), f"{path}.spearman_general_ci")
        words["found"] = fill("{rho} (95 % CI {ends})", rho=rho, ends=interval)
    else:
        why = reason(found["spearman_general_ci_reason"])
        words["found"] = fill("{rho} (no interval: {why})", rho=rho, why=why)
    tail = "Spearman's correlation over {items} items is {found}."
    by_chance = despite_interval(ends)
    if not differs or not by_chance:
        return fill(
            "We cannot tell whether the certainty of {name} rises with that of people: "
            f"{tail}{by_chance}",
            **words,
        )
    moves = "rises with" if ends[0] > 0 else "falls with"
    return fill(f"The certainty of {{name}} {moves} that of people: {tail}", **words)


def _more_certain(name: str, found: Mapping[str, Any], path: str) -> str | Text:
    if found["model_mean"] is None:
        return "Too few certainties were stated for a comparison of means."
    return fill(
        "Mean certainty: {model} in replies by {name}, {human} in answers by people (distance of "
        "the distributions {distance} points, KS {ks}).",
        name=name,
        model=shown(f"{found['model_mean']:.0f}", f"{path}.model_mean"),
        human=shown(f"{found['human_mean']:.0f}", f"{path}.human_mean"),
        distance=shown(f"{found['wasserstein']:.1f}", f"{path}.wasserstein"),
        ks=shown(f"{found['ks']:.2f}", f"{path}.ks"),
    )


def _on_own_ground(
    name: str, sets: Mapping[str, Any], path: str, threshold: float, level: float
) -> tuple[str, Text]:
    difference, judge = sets["difference_general"], sets["judge_on_own"]
    people = sets["people_on_own"]
    words: dict[str, object] = {
        "name": name,
        "threshold": shown(f"{threshold:g}", THRESHOLD),
        "n_judge": shown(judge["n"], f"{path}.judge_on_own.n"),
        "n_people": shown(people["n"], f"{path}.people_on_own.n"),
    }
    if min(judge["n"], people["n"]) < TOO_SMALL or difference["value"] is None:
        return "too_few", fill(
            "Too few items have a high certainty (≥ {threshold}) for a comparison there "
            "({n_judge} for {name}, {n_people} for people).",
            **words,
        )
    words |= {
        "judge": shown(percent(judge["accuracy"]), f"{path}.judge_on_own.accuracy"),
        "people": shown(percent(people["accuracy"]), f"{path}.people_on_own.accuracy"),
        "gap": shown(points(difference["value"]), f"{path}.difference_general.value"),
    }
    form = (
        "{words}: {judge} of {n_judge} and {people} of {n_people}, a difference of {gap} points "
        "{tail}.{finds}"
    )
    if difference["ci"] is None:
        return "cannot_tell", fill(
            form,
            words=fill(CERTAIN_WORDS["cannot_tell"], **words),
            tail=f"(no interval: {reason(difference['ci_reason'])})",
            finds="",
            **words,
        )
    differs = holds(difference, level, "p_holm")
    state = ("better" if difference["value"] > 0 else "worse") if differs else "cannot_tell"
    tail = fill(
        "(95 % CI {ci}{holm}) on items that both decided",
        ci=shown(points_range(difference["ci_as_best"]), f"{path}.difference_general.ci_as_best"),
        holm=holm_words(difference, "p_holm", f"{path}.difference_general"),
    )
    finds: Text | str = ""
    if state == "cannot_tell":
        finds = fill(
            "{chance}{finds}",
            chance=despite_interval(difference["ci_as_best"]),
            finds=detectable_words(difference, f"{path}.difference_general"),
        )
    claim = fill(CERTAIN_WORDS[state], **words)
    return state, fill(form, words=claim, tail=tail, finds=finds, **words)


_ON_OWN = "on its items of high certainty (≥ {threshold}) than people on theirs"
CERTAIN_WORDS = {
    "better": f"{{name}} is correct more often {_ON_OWN}",
    "worse": f"{{name}} is correct less often {_ON_OWN}",
    "cannot_tell": f"We cannot tell whether {{name}} is correct more often {_ON_OWN}",
}


class CertaintyHeadline(Section):
    """The finding on certainty, for the run of the headline."""

    name = "certainty_headline"
    needs = (
        "headline",
        "accuracies",
        "certainty_comparison",
        "high_sets",
        "claims",
        "replacement",
    )

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return {"certainty_headline": certainty_headline(earlier)}

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        for text in texts(report["certainty_headline"]):
            yield Sentence("finding", text)


def _of_certainty(report: ReportJson) -> Iterator[str]:
    threshold = report["parameters"]["threshold"]
    people = report["human"]["majority"]
    sides = [("people", people)] if report["human"]["answers"] else []
    names = run_names(report)
    sides += [(names[index], report["judges"][index]) for index in whole_runs(report)]
    scored = [(name, side) for name, side in sides if side["n"]]
    stating = [(name, side) for name, side in scored if side["high"]["n"] + side["low"]["n"]]
    never = [name for name, side in stating if not side["high"]["n"]]
    always = [name for name, side in stating if not side["low"]["n"]]
    if scored and not stating:
        yield "No scorable answer has a certainty, so none is high or low."
    if never:
        yield (
            f"{listed(never)} never {_states(never)} {threshold} or more, so the cells of high "
            "certainty are empty, not zero."
        )
    if always:
        yield (
            f"{listed(always)} {_states(always)} {threshold} or more every time, so this threshold "
            "cannot separate right from wrong answers. AUROC shows whether a higher certainty does."
        )


def _states(names: Sequence[str]) -> str:
    return "states" if len(names) == 1 and names != ["people"] else "state"


def _certainty(report: Mapping[str, Any]) -> str:
    at = report["human"]["individual"]["at_threshold"]
    text = certainty_limit(report["parameters"]["threshold"])
    if at:
        text += f" {at:,} of people's single answers are exactly there."
    return (
        f"{text} High and low depend on each side's own certainty, so their cells have different "
        "items and must not be subtracted."
    )


class CertaintySection(Section):
    """Each side's use of certainty, its accuracy, and the gain from thresholds."""

    name = "certainty"
    title = "Certainty"
    inside = "Histograms, calibration, thresholds, and use of the scale"
    has_threshold = True
    parts: Sequence[Section] = (
        CertaintyHeadline(),
        DistributionSection(),
        CalibrationSection(),
        CertaintyComparison(),
        HighSetsSection(),
    )

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        for text in _of_certainty(report):
            yield Sentence.of("missing", text)
        if report["study"]["ask_certainty"]:
            yield Sentence.of("limit", _certainty(report), "certainty")
