"""Limits of the study as a whole."""

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.limits import CHOSEN_ELSEWHERE, INDIVIDUALS, OPT_IN, STEREOTYPES, language_limit
from analysis.report.section import Report
from analysis.report.text.numbers import number_of


def limits_of_study(report: Report) -> Iterator[tuple[str, str]]:
    study, inputs, human = report["study"], report["inputs"], report["human"]
    if study["simulated"]:
        yield "simulated", "Simulated data: nothing here is about real people or real models."
    yield "stereotypes", STEREOTYPES
    yield "individuals", INDIVIDUALS
    if human["answers"]:
        # Participants are counted by state; imported annotators are not among them.
        yield "opt_in", OPT_IN if human["people"] else CHOSEN_ELSEWHERE
    asked_in = {_asked_in(judge["record"]["parameters"]) for judge in report["judges"]} - {""}
    yield "language", language_limit(study["language"], asked_in, study.get("item_languages", ()))
    if inputs["truth"]["unknown"]:
        unknown = inputs["truth"]["unknown"]
        which = "any" if unknown == inputs["items"] else f"{unknown:,}"
        yield (
            "truth",
            f"The person's own answer is unknown for {which} of the {inputs['items']:,} items; "
            "these items score nobody.",
        )
    yield from _items(report)
    if human["answers"]:
        yield (
            "generality",
            "The intervals of the headline, of “At a glance” and of the comparison with people are "
            "about items, people, personas and questions like these. Those under accuracies in "
            "other tables are about items like these, with these personas and questions. Where a "
            "table says so, an interval is about these annotators only. None is about people of "
            "another kind than those who took part.",
        )


def _asked_in(parameters: Mapping[str, Any]) -> str:
    """The language of a run's prompts; empty for juries and imported judgments."""
    asked = "prompts" in parameters
    return str(parameters.get("prompt_language", "en")) if asked else ""


def _items(report: Report) -> Iterator[tuple[str, str]]:
    inputs = report["inputs"]
    if min(inputs["questions"], inputs["personas"]) < inputs["items"]:
        yield (
            "shared",
            f"The {number_of(inputs['items'], 'item')} share "
            f"{number_of(inputs['personas'], 'persona')} and "
            f"{number_of(inputs['questions'], 'question')}; items that share them are "
            "alike. The intervals of the headline, of “At a glance”, of differences from people "
            "and of groups count that; those under accuracies in other tables do not.",
        )
