"""Report chapter on rules that explain where people and judges disagree."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analysis.report.quantities import Name, Population, Quantity, Slot, Text, Words, clause, say
from analysis.report.report_json import Json, put
from analysis.report.results import NOTHING, Finding, by_chance, cannot_tell
from analysis.report.section import ReportJson, Section, Sentence
from analysis.report.sentences import claim_p
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn
from analysis.report.tested import ReportedTest
from analysis.report.words import run_name
from analysis.stats.core.multiplicity import holm
from extras.rules.counting import count_rules
from extras.rules.marks import StudyRules

CLAIM = "rules"
WHO = {"people": "People"}


def rules_table(report: ReportJson) -> Table:
    entries = report["rules"]
    rows = [
        [run_name(entry, entries), rule["text"].removeprefix("The response "), rule["support"]]
        + [rule[key] for key in ("people", "judge", "difference", "ci", "p_holm", "differ")]
        + [rule["with_people"], rule["source"]]
        for entry in entries
        for rule in entry["rules"]
        if rule["support"]
    ]
    columns = (
        TableColumn("Run"),
        TableColumn("The response"),
        TableColumn("Items", "count"),
        TableColumn("People", "percent", "Follow the rule"),
        TableColumn("Judge", "percent", "Follow the rule"),
        TableColumn("Difference", "points", "Follow the rule"),
        TableColumn("95 % interval", "points_range", "Follow the rule"),
        TableColumn("Adjusted p", "p", "Follow the rule"),
        TableColumn("Items", "count", "They disagree"),
        TableColumn("People by the rule", "count", "They disagree"),
        TableColumn("Source"),
    )
    return Table(
        "rules",
        "Who follows which rule",
        columns,
        rows,
        "Items: those for which the rule favours a response; a rule that a judge proposed from one "
        "half of the items is tested on the other. People: share of their answers; judge: share "
        "of verdicts, once for each answer; a tie counts one half. Adjusted p: Holm, over all "
        "rules of all runs; a proposed rule, which has fewer items, gets twice as much of the "
        "level. Disagree: the majority chose another response than the judge. Rules that favour "
        "no response are left out."
        f"{_searched(entries)}",
    )


def _searched(entries: Sequence[Mapping[str, Any]]) -> str:
    more = [
        f"{entry['judge']} {entry['searches']} times" for entry in entries if entry["searches"] > 1
    ]
    return f" Searched more than once: {', '.join(more)}; the newest counts." if more else ""


def reconstructed_table(report: ReportJson) -> Table:
    entries = report["rules"]
    rows = [
        [name, WHO.get(side["who"], name if side["who"] == "judge" else side["who"])]
        + [side[key] for key in ("n", "decided", "value", "ci")]
        for entry in entries
        for name in [run_name(entry, entries)]
        for side in entry["reconstructed"]
    ]
    columns = (
        TableColumn("Rules of"),
        TableColumn("Whose choices"),
        TableColumn("Choices", "count"),
        TableColumn("with a prediction", "count"),
        TableColumn("Reconstructed", "percent"),
        TableColumn("95 % interval", "percent_range"),
    )
    return Table(
        "reconstructed_choices",
        "Choices that all rules together reconstruct",
        columns,
        rows,
        "A sparse logistic model of all rules, fitted to the same side’s choices about other "
        "personas. A choice without a prediction counts one half; 50 % is chance.",
    )


class RulesSection(Section):
    """Rules that people follow more often, or less often, than a judge."""

    name = "rules"
    title = "Why they disagree"
    inside = "Rules, who follows them, and how many choices they reconstruct"
    has_claims = True
    keys = """
# Rules that explain disagreements
rules | list | Rules of each run, those that a judge proposed tested on other items.
rules.proposed_by | text | The judge that proposed and applied rules; empty without one.
searches | count | Searches for rules of this run; the newest counts.
rules.items | count | Items with answers of people and a verdict.
rules.rules | list | The rules.
rules.text | text | What the rule favours.
rules.source | text | `measured` or `proposed`.
weight | number | Its share of the level of all tests, relative to others.
support | count | Items for which the rule favours a response and both sides have an answer.
rules.people | share | Share of people's answers that follow the rule.
rules.judge | share | Share of the judge's verdicts that follow it, once for each answer.
rules.difference | share | People minus judge.
differ | count | Items on which the majority chose another response than the judge.
with_people | count | Those of them on which people follow the rule.
reconstructed | list | Held-out choices that a sparse logistic model of all rules predicts.
reconstructed.who | text | `people`, `judge`, or a group of people.
reconstructed.decided | count | Choices with a prediction.
reconstructed.value | share | Choices predicted rightly; without a prediction, one half.
reconstructed.right | count | The same as a number.
"""

    def is_needed(self, report: ReportJson) -> bool:
        return "rules" in report

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        """The entry of report.json; empty without a finished search."""
        stored = study.data.of(StudyRules)
        entries = [count_rules(study, search) for search in stored.searches] if stored else []
        entries = [entry for entry in entries if entry]
        rules = [rule for entry in entries for rule in entry["rules"]]
        # Over the rules of all runs; a run's own page corrects for its own rules.
        adjusted = holm([rule["p"] for rule in rules], [rule["weight"] for rule in rules])
        for rule, p in zip(rules, adjusted, strict=True):
            put(rule, "p_holm", p, rule.get("p_reason"))
        return {"rules": entries} if entries else {}

    def claims(self, report: ReportJson) -> Mapping[str, Sequence[float | None]]:
        entries = report.get("rules", ())
        return {CLAIM: [claim_p(rule) for entry in entries for rule in entry["rules"]]}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if "rules" in report:
            yield rules_table(report)
            yield reconstructed_table(report)

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        for place, entry in enumerate(report.get("rules", ())):
            yield Sentence("finding", _finding(report, entry, f"rules.{place}"))


def _finding(report: ReportJson, entry: ReportJson, path: str) -> Text:
    """The clearest rule that holds for a run, and how many others do; or that none does."""
    judge, items = Name(run_name(entry, report["rules"])), entry["items"]
    tests = {
        n: ReportedTest.at(
            report,
            CLAIM,
            rule,
            f"{path}.rules.{n}",
            _rule_items(rule, items, f"{path}.rules.{n}.support", f"{path}.items"),
            value="difference",
        )
        for n, rule in enumerate(entry["rules"])
        if rule["p_holm"] is not None
    }
    if not tests:
        return say("No rule can be tested for {judge}: too few items.", judge=judge)
    holding = [n for n, test in tests.items() if test.finding is not Finding.OPEN]
    best = max(holding or tests, key=lambda n: abs(entry["rules"][n]["difference"]))
    rule, test, at = entry["rules"][best], tests[best], f"{path}.rules.{best}"
    follows: Text = clause("people follow")
    if test.finding is Finding.BELOW:
        follows = clause("{judge} follows", judge=judge)
    words: dict[str, Slot] = {
        "judge": judge,
        "n": Population("rule", n=len(tests)),
        "rule": Name(rule["text"][:1].lower() + rule["text"][1:]),
        "follows": follows,
        "of": test.of,
        "size": test.number(
            "people chose by it in {people} and {judge} in {own}, {x} points",
            people=Quantity("rate", test.of, rule["people"], f"{at}.people"),
            own=Quantity("rate", test.of, rule["judge"], f"{at}.judge"),
            judge=judge,
        ),
    }
    if not holding:
        whether = clause("people or {judge} follow a rule more often", judge=judge)
        form = "{open} ({n} tested). The largest difference is that of “{rule}”: {size}.{chance}"
        chance = by_chance(test.result.value.interval) if test.result else NOTHING
        return say(form, open=cannot_tell(whether), chance=chance, **words)
    more: Slot = NOTHING
    if len(holding) > 1:
        others = Population("other rule", n=len(holding) - 1)
        verb = Words("holds" if others.n == 1 else "hold")
        more = clause(" {others} {verb} too.", others=others, verb=verb)
    return say(
        "Of {n} tested, the clearest is one that {follows} more often: “{rule}”: {size}.{more}",
        more=more,
        **words,
    )


def _rule_items(rule: ReportJson, among: int, path: str, among_path: str) -> Population:
    rule_words, n = "for which it favours a response", rule["support"]
    return Population("item", rule_words, n, among, path, among_path)


CHAPTER = RulesSection()
