"""The limits of a report, generated from what it rests on."""

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.limits import INDIVIDUALS, OPT_IN, STEREOTYPES, certainty_limit, language_limit
from analysis.report.encode import Json
from analysis.report.sentences import late_changes
from analysis.report.text.numbers import SMALL, run_names, share_of

MAX_NAMED = 8
# Shares of unread or refused items above which a run's accuracy is one of the easy items.
MANY_MISSING = 0.05


def limitations(report: Mapping[str, Any]) -> list[Json]:
    """Sentences with a code each, the gravest first."""
    return [{"limit": code, "text": text} for code, text in _limits(report)]


def _limits(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    study, inputs, human = report["study"], report["inputs"], report["human"]
    if study["simulated"]:
        yield "simulated", "Simulated data: nothing here is about real people or real models."
    yield "stereotypes", STEREOTYPES
    yield "individuals", INDIVIDUALS
    if human["answers"]:
        yield "opt_in", OPT_IN
    yield "language", language_limit(study["language"])
    if study["ask_certainty"]:
        yield "certainty", _certainty(report)
    yield from _cells(report)
    if inputs["truth"]["unknown"]:
        unknown = inputs["truth"]["unknown"]
        which = "any" if unknown == inputs["items"] else f"{unknown:,}"
        yield (
            "truth",
            f"Nobody knows the person's own answer to {which} of the {inputs['items']:,} items; "
            "these say nothing about who was right.",
        )
    yield from _missing(report)
    yield from _conditions(report)
    if people := human["not_counted"].get("excluded_people", 0):
        yield (
            "excluded",
            f"{people} {'person is' if people == 1 else 'people are'} excluded. The multiverse "
            "says whether the headline would be the same with them.",
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
    yield from _choices(report)
    yield "certified", _certified(report)


def _certainty(report: Mapping[str, Any]) -> str:
    at = report["human"]["individual"]["at_threshold"]
    told = certainty_limit(report["parameters"]["threshold"])
    if at:
        told += f" {at:,} single answers of people stand exactly there."
    return (
        f"{told} High and low are chosen by each side's own certainty: their cells hold different "
        "items and must not be subtracted."
    )


def _certified(report: Mapping[str, Any]) -> str:
    found = zip(run_names(report), report["selective"], strict=True)
    names = [name for name, entry in found if entry["threshold"] is not None]
    if not names:
        return "No threshold is certified, so no accuracy is promised for items outside this study."
    return (
        f"A threshold is certified for {', '.join(names)} alone, and for items that are drawn as "
        "these were; nothing else is promised for items outside this study."
    )


def _cells(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Which of the main cells rest on fewer than 30 items."""
    sides = [("the majority", report["human"]["majority"])]
    sides += zip(run_names(report), report["judges"], strict=True)
    small = [
        f"{name}, {band} certainty ({side[band]['n']})"
        for name, side in sides
        for band in ("high", "low")
        if 0 < side[band]["n"] < SMALL
    ]
    if small:
        more = f" and {len(small) - MAX_NAMED} more" if len(small) > MAX_NAMED else ""
        yield (
            "small_cells",
            f"These cells hold fewer than {SMALL} items and are rough: "
            f"{'; '.join(small[:MAX_NAMED])}{more}.",
        )


def _missing(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    failures = ("unparseable", "refused", "skipped", "error", "open")
    missing = []
    for name, judge in zip(run_names(report), report["judges"], strict=True):
        failed = sum(judge["excluded"][key] for key in failures)
        # One without any answer has no accuracy, and is told of at the top.
        if judge["n"] and failed / judge["items"] > MANY_MISSING:
            missing.append(f"{name} ({share_of(failed / judge['items'], judge['items'], 'item')})")
    if missing:
        yield (
            "missing",
            "Some runs have no answer to many items, and their accuracy is one of the others: "
            f"{'; '.join(missing)}.",
        )


def _conditions(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Runs whose requests were not sent as set, or that more than one model answered."""
    for name, judge in zip(run_names(report), report["judges"], strict=True):
        for sentence in judge["record"]["conditions"]:
            yield "conditions", f"{name}: {sentence}"


def _items(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    inputs = report["inputs"]
    if min(inputs["questions"], inputs["personas"]) < inputs["items"]:
        yield (
            "shared",
            f"The {inputs['items']:,} items share {inputs['personas']:,} personas and "
            f"{inputs['questions']:,} questions; items that share them are alike. The intervals of "
            "the headline, of “At a glance”, of differences from people and of groups count that; "
            "those under accuracies in other tables do not.",
        )


def _choices(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Where the headline leans on a choice, and where nothing was announced."""
    for claim in report["multiverse"]["claims"]:
        if claim["holds"] < claim["of"]:
            over = "all items" if claim["claim"] == "all" else "what each is certain of"
            yield (
                f"multiverse_{claim['claim']}",
                f"The finding over {over} depends on choices: it comes out the same in "
                f"{claim['holds']} of {claim['of']} specifications.",
            )
    if report["registration"]["plan"] is None:
        yield "explored", f"{report['registration']['because']} All of this is explored."
    for sentence in late_changes(report):
        yield "late_change", sentence
