"""The tier of “Judge’s Verdict”: a judge’s kappa with people within people’s with each other."""

from collections.abc import Iterator

from analysis.report.section import ReportJson, Section
from analysis.report.tables import Table, table_of_entries
from analysis.report.words import named_entries, reason


def tiers_table(report: ReportJson) -> Table:
    rows = []
    for name, entry in named_entries(report, "comparison"):
        found = entry["human_likeness"]
        label = found["label"] or f"none: {reason(found['label_reason'])}"
        rows.append((name, found | {"z": entry["human_likeness_z"], "tier": label}))
    return table_of_entries(
        "tiers",
        "Tier of each judge by its kappa with people",
        rows,
        [
            ("People", "count", "people"),
            ("Judge", "decimal", "judge_kappa", "Mean kappa with people"),
            ("People", "decimal", "people_kappa", "Mean kappa with people"),
            ("Difference", "decimal", "difference", "Judge minus people"),
            ("95 % interval", "range", "ci", "Judge minus people"),
            ("z", "decimal", "z"),
            ("Tier", "text", "tier"),
        ],
        "z: the difference in standard deviations of people’s kappas. “Human-like” is |z| below 1, "
        "“super-consistent” 1 or more, “below human” −1 or less (Judge’s Verdict, 2025), with ten "
        "people or more. Where no two people share 30 items, a person is compared with all others "
        "together. A person’s kappa then differs by chance too, which brings z closer to 0: read "
        "the difference and its interval first, which is for these people.",
    )


class TierSection(Section):
    """The tier of each judge within people's kappas with each other."""

    name = "tiers"
    shows = ("tiers",)

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if any(run["human_likeness"]["people_kappa"] is not None for run in report["comparison"]):
            yield tiers_table(report)


TIERS = TierSection()
