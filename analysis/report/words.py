"""Words of a report: numbers, names, reasons and limits."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from analysis.report.report_json import ReportJson
from analysis.report.rules import TOO_SMALL
from studies.extra import mapped
from studies.prompts import base_of, language_name


def figure(value: float | None, form: str) -> str:
    """Format a number by a Python format, with a true minus sign and a dash for None.

    >>> figure(-0.0321, ".3f"), figure(-0.0001, "+.1f"), figure(None, ".3f")
    ('−0.032', '0.0', '–')
    """
    if value is None:
        return "–"
    text = f"{value:{form}}".replace("-", "−")
    # A number that rounds to zero has no sign.
    return text if text.strip("+−0.") else text.lstrip("+−")


def percent(value: float | None) -> str:
    return "–" if value is None else f"{figure(value * 100, '.1f')} %"


def decimal(value: float | None, digits: int = 3) -> str:
    return figure(value, f".{digits}f")


def number(value: float | None) -> str:
    """A quantity with a unit, such as points of certainty."""
    return figure(value, ".1f")


def count(n: int) -> str:
    """A number alone, formatted as in `number_of`."""
    return f"{n:,}"


def number_of(n: int, what: str) -> str:
    """A number of things in a sentence.

    >>> number_of(1, "item"), number_of(1300, "item"), number_of(2, "person")
    ('1 item', '1,300 items', '2 people')
    >>> number_of(2, "pair of answers")
    '2 pairs of answers'
    """
    return f"{n:,} {what if n == 1 else plural(what)}"


def plural(what: str) -> str:
    if what == "person":
        return "people"
    noun, of, rest = what.partition(" of ")
    many = f"{noun[:-1]}ies" if noun.endswith("reply") else f"{noun}s"
    return f"{many}{of}{rest}"


def share_of(share: float, n: int, what: str) -> str:
    """A share of `n` things in a sentence or, below ten, a count, as in every table.

    >>> share_of(1.0, 1, "item"), share_of(0.4, 5, "item"), share_of(0.65, 1300, "item")
    ('1 of 1 item', '2 of 5 items', '65.0 % of 1,300 items')
    """
    part = percent(share) if n >= TOO_SMALL else f"{share * n:.0f}"
    return f"{part} of {number_of(n, what)}"


def points(value: float | None) -> str:
    """A difference of two shares, in percentage points with its sign."""
    return "–" if value is None else figure(value * 100, "+.1f")


def percent_range(ends: Sequence[float] | None) -> str:
    return "–" if ends is None else f"{ends[0] * 100:.1f}–{ends[1] * 100:.1f} %"


def points_range(ends: Sequence[float] | None) -> str:
    return "–" if ends is None else f"{points(ends[0])} to {points(ends[1])}"


def decimal_range(ends: Sequence[float] | None, digits: int = 3) -> str:
    return "–" if ends is None else f"{decimal(ends[0], digits)} to {decimal(ends[1], digits)}"


def p_cell(p: float | None) -> str:
    """A p value for a column with the heading p."""
    if p is None:
        return "–"
    return "< .001" if p < 0.001 else f"{p:.3f}".replace("0.", ".", 1)


def p_value(p: float) -> str:
    """A p value within a sentence: “< .001” or “= .034”."""
    return p_cell(p) if p < 0.001 else f"= {p_cell(p)}"


def listed(names: Sequence[str]) -> str:
    """Join names as in a sentence.

    >>> listed(["items"]), listed(["items", "people", "personas"])
    ('items', 'items, people and personas')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


FEATURES = {"all": "whole persona", "none": "no persona"}


def features_words(features: str) -> str:
    """The part of the persona that a run saw, in words."""
    return FEATURES.get(features, features.replace(",", ", "))


def run_name(entry: Mapping[str, Any], among: Sequence[Mapping[str, Any]] = ()) -> str:
    """The shortest unique name among the runs: judge, then differences, then hash."""
    same = [other for other in among if other["judge"] == entry["judge"]]
    parts = []
    if len({other["setting"] for other in same}) > 1:
        parts.append(entry["setting"])
    if len({other["features"] for other in same}) > 1:
        parts.append(features_words(entry["features"]))
    for key, usual in (("wording", "protocol’s words"), ("framing", "observer")):
        if len({other.get(key) for other in same}) > 1:
            parts.append(entry.get(key, usual))
    alike = [
        other
        for other in same
        if all(other.get(k) == entry.get(k) for k in ("setting", "features", "wording", "framing"))
    ]
    if len(alike) > 1:
        parts.append(entry["run"][:6])
    return f"{entry['judge']} ({', '.join(parts)})" if parts else str(entry["judge"])


def asked_name(entry: Mapping[str, Any]) -> str:
    """A judge's name with its wording and framing, if not the defaults.

    >>> asked_name({"judge": "j"}), asked_name({"judge": "j", "wording": "short@1"})
    ('j', 'j (short@1)')
    """
    parts = [entry[key] for key in ("wording", "framing") if key in entry]
    return f"{entry['judge']} ({', '.join(parts)})" if parts else str(entry["judge"])


def run_names(report: Mapping[str, Any]) -> list[str]:
    """The name of each run of the report, in order."""
    return [run_name(judge, report["judges"]) for judge in report["judges"]]


def whole_runs(report: Mapping[str, Any]) -> list[int]:
    """Positions of the runs that saw the whole persona, or of all runs if none did."""
    judges = report["judges"]
    whole = [index for index, judge in enumerate(judges) if judge["features"] == "all"]
    return whole or list(range(len(judges)))


def named_comparisons(report: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Name and comparison of the runs that saw the whole persona. report.json has all runs."""
    names = run_names(report)
    return [(names[index], report["comparison"][index]) for index in whole_runs(report)]


def named_entries(report: Mapping[str, Any], part: str) -> list[tuple[str, Mapping[str, Any]]]:
    """Name and entry of every run in one part of the report: `judges` or `comparison`."""
    return list(zip(run_names(report), report[part], strict=True))


MAJORITY_WORDS = "the majority of people"


def people_words(report: Mapping[str, Any]) -> str:
    """What decides an item: the only person, one person of each item, or a majority."""
    if report["human"].get("annotators") == 1:
        return "the only person"
    has_no_pairs = report["human"].get("agreement", {}).get("percent_reason") == "no_pairs"
    return "one person per item" if has_no_pairs else MAJORITY_WORDS


# Extras add those of their chapters when Django starts.
REASONS = {
    "no_votes": "nobody answered",
    "tie": "the maximum is shared",
    "no_variation": "all values are the same",
    "too_few_items": "too few items",
    "too_few_annotators": "people too few, or their shares of the answers too unequal",
    "too_few_clusters": "personas or questions too few, or their shares of the items too unequal",
    "no_pairs": "no item has two answers",
    "empty_group": "nothing to count",
    "one_order": "each reply puts the whole set in one order",
    "no_discordant": "both are right and wrong on the same items",
    "not_certified": "no threshold could be certified",
    "dependent_items": "items share a persona or a question",
    "no_truth": "the right answer is unknown",
    "not_stated": "no certainty was given",
    "not_scored": "no answer, or no known right answer",
    "one_sample": "every item was asked only once",
    "not_offered": "not offered in this setting",
    "not_reported": "not reported",
    "several_currencies": "rewards were promised in several currencies",
    "words_gone": "its words are no longer stored",
    "no_exclusions": "nobody was excluded",
    "nobody_flagged": "nobody has signs of a program",
    "no_payments": "nobody was paid through this study",
    "not_identified": "the data do not identify it",
    "one_judge": "fewer than two runs saw the whole persona",
    "biased": "the estimate is biased by chance, and no interval allows for that",
    "not_connected": "some systems never lose to the others, or never meet them",
    "too_few_systems": "fewer than three systems",
    "at_chance": "it may be no better than chance",
    "too_few_of_a_label": "nobody gave one of the labels",
    "not_settled": "the model did not converge",
    "too_large": "the study is too large for it",
    "nothing_compared": "the headline makes no comparison",
    "too_few": "too few items",
    "incomplete_grid": "not every framing was asked with every wording",
    "no_plan": "no analysis plan was frozen",
    "no_other_items": "the plan sealed every item of this report, or none",
    "is_reference": "the others are compared with them",
    "none_reach": "more errors among the most certain",
    "no_threshold": "this way of labelling has no threshold",
}


def reason(code: str | None) -> str:
    return REASONS.get(code or "") or mapped("reasons").get(code or "", code or "")


def threshold_words(report: ReportJson) -> str:
    """The threshold and its origin, such as “80, set before the data”."""
    parameters = report["parameters"]
    kind = "explored" if parameters["explored"] else threshold_standing(report)
    return f"{parameters['threshold']}, {kind}"


def threshold_standing(report: ReportJson) -> str:
    """The origin of the study's threshold. Only a plan frozen before the data registers it."""
    changes = report["registration"]["late_changes"]
    if any(change["setting"] == "threshold" for change in changes):
        return "changed after the first data"
    plan = report["registration"]["plan"]
    if plan and plan["before_data"]:
        return "registered"
    human = report["human"]
    # Nobody knows when a file was first read; people who take part here are counted by state.
    is_imported = any(run["record"]["parameters"].get("imported") for run in report["judges"])
    is_of_file = (human.get("answers") or is_imported) and not human.get("people")
    return "from the settings" if is_of_file else "set before the data"


STEREOTYPES = "Answers from profiles may be stereotypes."
CHOSEN_ELSEWHERE = (
    "It is not stored how people were chosen and whether they were paid; they represent nobody "
    "but themselves."
)


CHOSEN_PARTLY = (
    "Some people chose to take part here; of the others it is not stored how they were chosen. "
    "They represent nobody but themselves."
)


def opt_in(*, is_paid: bool) -> str:
    """Who the people of a study are, of whom it is known what they were promised."""
    paid = "for pay" if is_paid else "without pay"
    return f"People chose to take part {paid}; they represent nobody but themselves."


INDIVIDUALS = "These are averages. Do not use them for decisions about individuals."


def language_limit(
    language: str,
    asked_in: Collection[str] = (),
    items: Collection[str] = (),
    of_a_file: Sequence[str] = (),
    *,
    people: bool = True,
) -> str:
    """The sentence on languages; `asked_in` are those of judges' prompts, if there are any.

    `items` are the languages of the items' texts. `of_a_file` are the sides whose answers came
    from a file, which does not say in which language they were asked. Empty if neither `people`
    nor judges were asked.
    """
    if of_a_file:
        return (
            f"It is not stored in which language {listed(of_a_file)} were asked; results may "
            "differ in other languages."
        )
    if not people and not asked_in:
        return ""
    if not language and people:
        return "The language is not stated; results may differ in other languages."
    judges = " and ".join(language_name(code) for code in sorted(asked_in))
    if not people:
        return f"Judges were asked in {judges}; results may differ in other languages."
    if {base_of(code) for code in items} - {base_of(language)}:
        own = " and ".join(f"“{code}”" for code in items)
        around = f"people were asked in {language_name(language)}"
        due = "Results may differ in other languages."
        if judges:
            around += f", and judges in {judges}"
            due = (
                "Part of the difference between judges and people may be due to language; results "
                "may differ in other languages."
            )
        return f"The items' own texts are in {own}; around them, {around}. {due}"
    others = sorted({code for code in asked_in if code != base_of(language)})
    if others:
        names = " and ".join(language_name(code) for code in others)
        whose = "The prompts of judges" if len(set(asked_in)) == 1 else "The prompts of some judges"
        return (
            f"People were asked in {language_name(language)}. {whose} are in {names} around the "
            "items' own words, so part of the difference between judges and people may be due "
            "to language; results may differ in other languages."
        )
    return (
        f"Everything was asked in the language “{language}”; results may differ in other languages."
    )
