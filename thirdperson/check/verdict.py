"""The verdict of a report as a word, an exit code and terminal lines."""

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.report.quantities import Name, capitalised, clause
from analysis.report.results import not_settled
from analysis.report.verdict.answer import (
    JudgeStanding,
    counted_people,
    headline_run,
    replacement_of,
    standings_of,
    trust_of,
)
from analysis.report.verdict.chart import VerdictChart
from analysis.report.verdict.first_screen import verdict_of
from analysis.report.verdict.next_step import labels_needed, rests_on
from analysis.report.words import number_of, percent, points, points_range
from analysis.stats.core.results import Trust
from thirdperson.check.terminal import Terminal, aligned

EXIT_CODES = {Trust.TRUSTED: 0, Trust.NOT_TRUSTED: 1, Trust.INCONCLUSIVE: 3}


@dataclass(frozen=True)
class CheckFinding:
    """A report's verdict on its judges.

    `references` are trivial judges, as in report.json, if agreement decides. `labels_needed` is the
    approximate number of further labels by people that a verdict needs; 0 if there is one, None if
    no number is enough.
    """

    trust: Trust
    sentence: str
    caveats: Sequence[str]
    settling: str
    sensitivity: str
    labels_needed: int | None
    items: int
    labels: int
    annotators: int
    people_effective: float | None
    judges: Sequence[str]
    lacks_people: bool
    references: Sequence[Mapping[str, Any]]
    chart: VerdictChart | None
    standings: Sequence[JudgeStanding]

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.trust]

    def as_json(self) -> dict[str, Any]:
        return {
            "verdict": self.trust.value,
            "exit_code": self.exit_code,
            "sentence": self.sentence,
            "caveats": list(self.caveats),
            "what_would_settle_it": self.settling,
            "sensitivity": self.sensitivity,
            "labels_needed": self.labels_needed,
            "items": self.items,
            "labels": self.labels,
            "annotators": self.annotators,
            "people_effective": self.people_effective,
            "judges": list(self.judges),
            "reference_judges": list(self.references),
            "verdicts": [
                {
                    "judge": one.judge,
                    "verdict": trust_of(one.word).value,
                    "difference": one.value,
                    "ci": one.interval,
                }
                for one in self.standings
            ],
        }

    def _rows(self) -> list[tuple[str, ...]]:
        """A verdict about each of several judges, as a table in words."""
        if len(self.standings) < 2:
            return []
        rows: list[tuple[str, ...]] = [
            ("Judge", "Verdict", "Difference from people, points (95 % CI)")
        ]
        for one in self.standings:
            gap = points(one.value) + (f" ({points_range(one.interval)})" if one.interval else "")
            rows.append((one.judge, trust_of(one.word).value, gap))
        return rows

    def lines(self, name: str, reading: Sequence[str], out: Path, terminal: Terminal) -> list[str]:
        """The text for a terminal: what was read, the verdict and caveats."""
        judges = ", ".join(self.judges)
        people = counted_people(
            {"clusters": {"people": self.annotators}, "people_effective": self.people_effective}
        )
        size = f"{name}: {number_of(self.items, 'item')}, {number_of(self.labels, 'label')} "
        size += f"by {people}, {'judge' if len(self.judges) == 1 else 'judges'} {judges}"
        lines = terminal.head(size, reading)

        def wrapped(text: str, mark: str = "") -> list[str]:
            return textwrap.wrap(
                text, terminal.width, initial_indent=mark, subsequent_indent=" " * len(mark)
            )

        first, *more = wrapped(f"{self.trust.value}: {self.sentence}")
        coloured = terminal.trust(self.trust) + first.removeprefix(self.trust.value)
        lines += ["", coloured, *more, *([""] if terminal.is_shown else [])]
        lines += terminal.strip(self.chart)
        if self.sensitivity:
            lines += wrapped(self.sensitivity)
        if rows := self._rows():
            lines += ["", *aligned(rows, terminal.width), ""]
        if self.references:
            parts = (
                f"{one['reference']} {percent(one['raw'])} ({percent(one['balanced'])})"
                for one in self.references
            )
            words = "Reference judges agree with a person (balanced) on"
            lines += wrapped(f"{words}: {', '.join(parts)}.")
        if self.trust is Trust.INCONCLUSIVE:
            lines.append(self._needed())
            if self.lacks_people:
                lines.append(
                    "If only these people matter, for example a panel of experts: --these-people"
                )
        lines += wrapped(f"What to do next: {self.settling}")
        lines += [line for caveat in self.caveats for line in wrapped(caveat, "- ")]
        return [*lines, "", f"Report: {out}"]

    def markdown(self, name: str, reading: Sequence[str]) -> str:
        """A comment on a pull request: the verdict, its table, and what was read, folded."""
        mark = {Trust.TRUSTED: "✅", Trust.NOT_TRUSTED: "❌", Trust.INCONCLUSIVE: "❔"}[self.trust]
        lines = [f"### {mark} {self.trust.value}: {escaped(self.sentence)}", ""]
        size = (
            f"{number_of(self.items, 'item')}, {number_of(self.labels, 'label')} by "
            f"{number_of(self.annotators, 'person')}"
        )
        judges = f"{'judge' if len(self.judges) == 1 else 'judges'} {', '.join(self.judges)}"
        lines += [f"{escaped(name)}: {size}, {escaped(judges)}.", ""]
        if self.chart:
            lines += [f"| {self.chart.title} | points (95 % interval) |", "| --- | ---: |"]
            lines += [f"| {escaped(one.name)} | {one.words} |" for one in self.chart.lines] + [""]
        if rows := self._rows():
            head, *rest = [f"| {' | '.join(map(escaped, row))} |" for row in rows]
            lines += [head, "| --- | --- | ---: |", *rest, ""]
        if self.references:
            lines += [
                "| Reference judge | agrees with a person | balanced |",
                "| --- | ---: | ---: |",
            ]
            lines += [
                f"| {one['reference']} | {percent(one['raw'])} | {percent(one['balanced'])} |"
                for one in self.references
            ]
            lines.append("")
        if self.trust is Trust.INCONCLUSIVE:
            lines += [self._needed(), ""]
        lines += [f"What to do next: {escaped(self.settling)}", ""]
        lines += [f"- {escaped(caveat)}" for caveat in self.caveats]
        lines += ["", "<details><summary>What was read</summary>", ""]
        lines += [f"- {escaped(line.strip())}" for line in reading]
        return "\n".join([*lines, "", "</details>", ""])

    def _needed(self) -> str:
        if self.labels_needed is None:
            return "Labels still needed: more labels alone would not settle it."
        return f"Labels still needed: about {self.labels_needed:,}"


def escaped(text: str) -> str:
    """Text from the file as plain words in Markdown."""
    plain = re.sub(r"([\\`*_{}\[\]<>#|~@])", r"\\\1", text)
    return " ".join(plain.split())


def finding_of(report: Mapping[str, Any]) -> CheckFinding:
    verdict = verdict_of(report)
    judges = [judge["judge"] for judge in report["judges"]]
    sentence, settling = verdict.answer.sentence, verdict.settling
    if report["headline"]["state"] == "no_truth" and replacement_of(report) is None and judges:
        one = judges[0] if len(judges) == 1 else f"one of {len(judges)} judges"
        could = clause("{one} could replace an annotator", one=Name(one))
        sentence = (
            f"{capitalised(not_settled(could))}: no item has two labels of people and one of a "
            "judge."
        )
        settling = "A second label of people for these items, or right labels: --gold COLUMN."
    return CheckFinding(
        trust=trust_of(verdict.answer.word),
        sentence=sentence,
        # Ties for the first place, and what changed with the order.
        caveats=[*verdict.notes, *verdict.caveats],
        settling=settling,
        sensitivity=verdict.sensitivity,
        labels_needed=labels_needed(report),
        items=report["inputs"]["items"],
        labels=report["inputs"]["annotations"],
        annotators=report["human"]["annotators"],
        people_effective=rests_on(report).get("people_effective"),
        judges=judges,
        lacks_people=_lacks_people(report),
        references=report["human"]["reference_judges"] if replacement_of(report) else (),
        chart=verdict.chart,
        standings=standings_of(report),
    )


def _lacks_people(report: Mapping[str, Any]) -> bool:
    """Whether there is no verdict because there are too few people to generalise to others."""
    if replacement := replacement_of(report):
        return replacement.why == "clusters" and "people" in replacement.found["too_few"]
    if report["headline"]["state"] != "cannot_tell":
        return False
    difference = report["comparison"][headline_run(report)]["difference_general"]
    return "people" in difference["too_few"]
