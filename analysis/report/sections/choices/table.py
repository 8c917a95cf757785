"""The multiverse as a table."""

from collections.abc import Mapping
from typing import Any

from analysis.report.section import Report
from analysis.report.sections.choices.universe import EXCLUSIONS, TIES, UNITS
from analysis.report.tables import Column, Table

CLAIMS = {"all": "all items", "certain": "where certain"}


STATES = {
    "better": "judge better",
    "worse": "judge worse",
    "equivalent": "equivalent",
    "cannot_tell": "cannot tell",
    "too_few": "too few to say",
}


def multiverse_table(report: Report) -> Table:
    rows = [
        [
            CLAIMS[claim["claim"]],
            TIES[row["ties"]],
            f"≥ {row['threshold']:g}" if "threshold" in row else None,
            EXCLUSIONS[row["exclusions"]],
            UNITS[row["unit"]],
            row["n"],
            row["n_people"],
            row["difference"],
            row["ci"],
            STATES[row["state"]],
            _holds(row),
        ]
        for claim in report["multiverse"]["claims"]
        for row in claim["specifications"]
    ]
    return Table(
        "multiverse",
        "The headline under other choices",
        (
            Column("Comparison over"),
            Column("Ties"),
            Column("High"),
            Column("Answers"),
            Column("What varies"),
            Column("Items of the judge", "count"),
            Column("of people", "count"),
            Column("Judge less people, points", "points"),
            Column("95 % interval", "points_range"),
            Column("Conclusion"),
            Column("Same as the headline"),
        ),
        rows,
        "The first row of each comparison is the one that the headline reports: items, people, "
        "personas and questions vary at once. Where one of them varies, intervals are t intervals "
        "over it; where items vary and no tie counts half, Tango's and McNemar's, for these "
        "annotators only. With several judges Holm's p must be at most .05 in every row. Hasty: a "
        "median time under a third of the median person's; one-sided: nine of ten answers on one "
        "side of the screen, of at least ten." + _left_out(report),
    )


def _holds(row: Mapping[str, Any]) -> str | None:
    if row["reported"]:
        return "headline"
    if row["holds"] is None:
        return None
    return "yes" if row["holds"] else "no"


def _left_out(report: Report) -> str:
    """The options that were left out, with the reasons, in one note."""
    words = {**TIES, **EXCLUSIONS, **UNITS}
    claims = report["multiverse"]["claims"]
    options = {
        f"{words[option['option']]} ({option['because']})"
        for claim in claims[:1]
        for option in claim["left_out"]
    }
    return f" Left out for all items: {'; '.join(sorted(options))}." if options else ""
