"""Sentences about the tests of extras, made of the result of each after its correction.

A claim, and that we cannot tell, come from one function, so a chapter only says what was compared.
"""

from dataclasses import dataclass

from analysis.report.quantities import (
    NO_INTERVAL,
    Population,
    Quantity,
    QuantityInterval,
    Slot,
    Text,
    Unit,
    bare,
    clause,
    say,
)
from analysis.report.report_json import ReportJson
from analysis.report.results import (
    NOTHING,
    Finding,
    TestResult,
    cannot_tell,
)
from analysis.report.sentences import holds, level_of
from analysis.report.words import reason


@dataclass(frozen=True)
class ReportedTest:
    """A test in report.json; `why` says why it has no number.

    `result` holds if its adjusted p is at most the level that the report leaves to its kind.
    """

    of: Population
    result: TestResult | None = None
    why: str = ""

    @classmethod
    def at(
        cls,
        report: ReportJson,
        kind: str,
        entry: ReportJson,
        path: str,
        of: Population,
        *,
        unit: Unit = "points",
        value: str = "value",
        p: str = "p_holm",
        detectable: Quantity | None = None,
    ) -> "ReportedTest":
        """The test of a kind of claims in the entry at `path`; `value` and `p` are its keys."""
        if entry[value] is None:
            return cls(of, why=reason(entry.get(f"{value}_reason") or entry.get("p_reason")))
        interval = QuantityInterval.at(entry, "ci", path) if "ci" in entry else NO_INTERVAL
        number = Quantity(unit, of, entry[value], f"{path}.{value}", interval)
        adjusted = entry.get(p)
        result = TestResult(
            number,
            holds(entry, level_of(report, kind), p),
            p=None if adjusted is None else Quantity("p", of, adjusted, f"{path}.{p}"),
            detectable=detectable,
        )
        return cls(of, result)

    @property
    def finding(self) -> Finding:
        return Finding.OPEN if self.result is None else self.result.finding

    def sentence(
        self,
        above: Text,
        below: Text,
        *,
        whether: Text,
        number: str = "{x} points",
        **slots: Slot,
    ) -> Text:
        """The claim that holds, or that we cannot tell; `number` is the form of what was found."""
        if self.result is None:
            return say("{open}: {why}.", open=cannot_tell(whether), why=bare(self.why))
        return self.result.claim(
            {Finding.ABOVE: above, Finding.BELOW: below},
            whether=whether,
            number=self.number(number, **slots),
        )

    def number(self, form: str = "{x} points", **slots: Slot) -> Text:
        """What was found, on how many, with the interval or why there is none, and p."""
        assert self.result is not None  # noqa: S101 -- the caller has looked
        x, p = self.result.value, self.result.p
        # An interval is for one number alone, p is corrected.
        form += " on {x.of} ({ends}{p})"
        ends = clause("{x.interval}", x=x)
        adjusted = clause(", adjusted p {p}", p=p) if p is not None else NOTHING
        return clause(form, x=x, ends=ends, p=adjusted, **slots)
