"""Report chapter on differences between panels: accuracy and agreement, each with a test."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from analysis.report.quantities import Name, Population, Quantity, Text, Words, bare, clause, say
from analysis.report.report_json import Json, number, put
from analysis.report.results import cannot_tell
from analysis.report.section import Analysis, ReportJson, Section, Sentence
from analysis.report.sentences import holds, level_of
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, table_of_entries
from analysis.report.words import reason
from analysis.stats.core.multiplicity import holm
from extras.panels.differences import (
    FEWEST,
    PanelTest,
    Scores,
    agreement_with_others,
    panels_differ,
    person_scores,
)
from extras.panels.reader import PanelsOfPeople

KIND = "panels"  # of claims
MEASURES = {"accuracy": "accuracy", "agreement": "agreement with others"}
# Why nobody has a value.
NO_VALUES = {"accuracy": "not_scored", "agreement": "no_pairs"}


def _group(
    name: str, rows: "np.typing.NDArray[np.bool_]", people: int, values: Mapping[str, Scores]
) -> Json:
    entry: Json = {"name": name, "people": people, "answers": int(rows.sum())}
    for measure, why in NO_VALUES.items():
        known = values[measure][rows]
        known = known[~np.isnan(known)]
        put(entry, measure, known.mean() if known.size else None, why)
    return entry


def _above(members: "np.typing.NDArray[np.bool_]", scores: Mapping[str, Scores]) -> Json:
    """How far its people are above the mean of their items, which is what is tested."""
    entry: Json = {}
    for measure, why in NO_VALUES.items():
        known = scores[measure][members]
        known = known[~np.isnan(known)]
        mean = number(known.mean()) if known.size else None
        put(entry, f"{measure}_above", mean, why)
    return entry


def _test(measure: str, test: PanelTest, p_holm: float | None) -> Json:
    entry: Json = {"of": measure, "panels": test.panels, "people": test.people}
    put(entry, "p", test.p, test.reason)
    put(entry, "p_holm", p_holm, test.reason)
    return entry


def groups_table(report: ReportJson) -> Table:
    return table_of_entries(
        "panels",
        "People by the panel that sent them",
        [(entry["name"], entry) for entry in report["panels"]["groups"]],
        [
            ("People", "count", "people"),
            ("Answers", "count", "answers"),
            ("Right", "percent", "accuracy"),
            ("above items", "points", "accuracy_above", "Right"),
            ("Agreement with others", "percent", "agreement"),
            ("above items", "points", "agreement_above", "Agreement with others"),
        ],
        "Above items: each person’s mean minus the mean of their items, over people; panels can "
        "have answered easier items. Agreement with others: of all other people’s answers to the "
        "same items, the share that is the same. Panels are not drawn: their people may differ in "
        "more than the panel.",
        first="Panel",
    )


def tests_table(report: ReportJson) -> Table:
    return table_of_entries(
        "panels_tests",
        "Whether panels differ",
        [(MEASURES[entry["of"]].capitalize(), entry) for entry in report["panels"]["tests"]],
        [
            ("Panels", "count", "panels"),
            ("People", "count", "people"),
            ("p", "p", "p"),
            ("Holm p", "p", "p_holm"),
        ],
        "Test: each person’s mean above the mean of their items, permuted among panels; the "
        f"statistic is the sum of squares between panels. Panels of fewer than {FEWEST} people are "
        "left out. Holm p: over both rows.",
        first="Of what",
    )


class PanelsSection(Section):
    """Whether the people of different panels answer differently."""

    name = "panels"
    title = "Panels"
    inside = "Accuracy and agreement of people by the panel that sent them"
    has_claims = True
    keys = """
        # Panels
        panels | object | People by the panel that sent them.
        groups | list | One entry for each panel.
        groups.name | text | The panel’s name.
        panels.groups.people | count | People with answers.
        panels.groups.answers | count | Their answers.
        panels.groups.accuracy | share | Share of right answers.
        panels.groups.agreement | share | Share of the others’ answers that is the same.
        accuracy_above | share | Mean over people of their share minus that of their items.
        agreement_above | share | The same of agreement with others.
        tests | list | Tests that panels do not differ.
        of | text | What is compared: accuracy or agreement.
        tests.panels | count | Panels with enough people.
        panels.tests.people | count | People of these panels.
    """
    analyses = (Analysis("panels", tables=("panels", "panels_tests"), paths=("panels",)),)

    def is_needed(self, report: ReportJson) -> bool:
        return bool(report.get("panels", {}).get("groups"))

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        """The entry of report.json; empty if no panel sent anybody."""
        sent = study.data.of(PanelsOfPeople)
        if sent is None:
            return {}
        answers = study.data.answers
        choice, truth = answers.choice.astype(np.int64), study.truth[answers.item]
        is_scored = (choice >= 0) & (truth >= 0)
        values = {
            "accuracy": np.where(is_scored, choice == truth, np.nan),
            "agreement": agreement_with_others(choice, answers.item),
        }
        scores = {
            name: person_scores(measured, answers.item, answers.rater, len(study.data.raters))
            for name, measured in values.items()
        }
        tests = {
            name: panels_differ(of, sent.panel, rng=study.rng()) for name, of in scores.items()
        }
        for name, measured in values.items():
            if np.isnan(measured).all():
                tests[name] = replace(tests[name], reason=NO_VALUES[name])
        adjusted = holm([test.p for test in tests.values()])
        of_answer = sent.panel[answers.rater]
        people = np.unique(answers.rater)
        return {
            "panels": {
                "groups": [
                    _group(
                        name, of_answer == place, int((sent.panel[people] == place).sum()), values
                    )
                    | _above(sent.panel == place, scores)
                    for place, name in enumerate(sent.names)
                    if (sent.panel[people] == place).any()
                ],
                "tests": [
                    _test(name, test, p)
                    for (name, test), p in zip(tests.items(), adjusted, strict=True)
                ],
            }
        }

    def claims(self, report: ReportJson) -> Mapping[str, Sequence[float | None]]:
        if not self.is_needed(report):
            return {}
        return {KIND: [entry["p_holm"] for entry in report["panels"]["tests"]]}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if self.is_needed(report):
            yield groups_table(report)
            yield tests_table(report)

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        if not self.is_needed(report):
            return
        people = (f"{group['name']} {group['people']:,}" for group in report["panels"]["groups"])
        yield Sentence.of(
            "methods", f"Annotators by the panel that sent them: {', '.join(people)}."
        )
        for place, entry in enumerate(report["panels"]["tests"]):
            words = _in_words(report, entry, f"panels.tests.{place}")
            yield Sentence("finding", words)


def _in_words(report: ReportJson, entry: ReportJson, path: str) -> Text:
    differ = clause("panels differ in {measure}", measure=Words(MEASURES[entry["of"]]))
    if entry["p"] is None:
        why = bare(reason(entry["p_reason"]))
        return say("{open}: {why}.", open=cannot_tell(differ), why=why)
    groups, people = report["panels"]["groups"], f"{path}.people"
    among = sum(group["people"] for group in groups)
    of = Population("person", "of panels that are large enough", entry["people"], among, people)
    size = clause(
        "{panels} panels, {p.of}, adjusted p {p}; one test of all of them has no interval",
        panels=Quantity("count", None, entry["panels"], f"{path}.panels"),
        p=Quantity("p", of, entry["p_holm"], f"{path}.p_holm"),
    )
    if not holds(entry, level_of(report, KIND), "p_holm"):
        return say("{open} ({size}).", open=cannot_tell(differ), size=size)
    above = []
    for place, group in enumerate(groups):
        key, at = f"{entry['of']}_above", f"panels.groups.{place}"
        if group[key] is not None and group["people"] >= FEWEST:
            own = Population("person", "", group["people"], path=f"{at}.people")
            points = Quantity("points", own, group[key], f"{at}.{key}")
            name = Name(group["name"])
            above.append((group[key], clause("{x} ({x.of} of {name})", x=points, name=name)))
    (_, low), *_, (_, high) = sorted(above, key=lambda one: one[0])
    form = "{differ}, from {low} to {high} points from the mean of their items: {size}."
    return say(form, differ=differ, low=low, high=high, size=size)


CHAPTER = PanelsSection()
