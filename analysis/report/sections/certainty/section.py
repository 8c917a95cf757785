"""The chapter on certainty."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analysis.limits import certainty_limit
from analysis.report.section import Report, Section, Sentence
from analysis.report.sections.certainty.calibration import CalibrationSection
from analysis.report.sections.certainty.certified import Certified
from analysis.report.sections.certainty.comparison import CertaintyComparison
from analysis.report.sections.certainty.distribution import DistributionSection
from analysis.report.sections.certainty.headline import CertaintyHeadline
from analysis.report.sections.certainty.high_sets import HighSetsSection
from analysis.report.sections.certainty.interaction import InteractionSection
from analysis.report.sections.certainty.other_certainties import OtherCertainties
from analysis.report.sections.certainty.scale_use import ScaleUse
from analysis.report.sections.certainty.signals import Signals
from analysis.report.sections.certainty.thresholds import Thresholds
from analysis.report.sections.certainty.validation import Validation
from analysis.report.text.names import listed, run_names, whole_runs


def _of_certainty(report: Report) -> Iterator[str]:
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
        yield "No answer that can be scored has a certainty, so none is high or low."
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
        text += f" {at:,} single answers of people are exactly there."
    return (
        f"{text} High and low are chosen by each side's own certainty: their cells hold different "
        "items and must not be subtracted."
    )


class CertaintySection(Section):
    """Each side's use of certainty, its accuracy, and the gain from thresholds on it."""

    name = "certainty"
    title = "Certainty of people and judges"
    inside = "Histograms, calibration, thresholds, and use of the scale"
    has_threshold = True
    parts: Sequence[Section] = (
        CertaintyHeadline(),
        DistributionSection(),
        CalibrationSection(),
        CertaintyComparison(),
        HighSetsSection(),
        InteractionSection(),
        Validation(),
        OtherCertainties(),
        Signals(),
        Thresholds(),
        Certified(),
        ScaleUse(),
    )

    def sentences(self, report: Report) -> Iterator[Sentence]:
        for text in _of_certainty(report):
            yield Sentence.of("missing", text)
        if report["study"]["ask_certainty"]:
            yield Sentence.of("limit", _certainty(report), "certainty")
