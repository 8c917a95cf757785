"""Certainty from the entropy of a judge's preference, next to the certainty that it states."""

from collections.abc import Iterator

import numpy as np

from analysis.data.arrays import MISSING, TIE, Floats, RunData
from analysis.data.verdicts import Ints, Verdicts, probability_shares, reading_shares
from analysis.report.report_json import Json, number, put, put_estimate
from analysis.report.section import ReportJson, Section
from analysis.report.study import ReportedStudy, identity
from analysis.report.tables import Table, TableColumn
from analysis.report.words import run_name
from analysis.stats.certainty.risk_coverage import accuracy_at_coverage
from analysis.stats.comparison.noise import certainty_from_entropy
from analysis.stats.core.results import BoolArray
from analysis.stats.core.shared_variance import Sharing
from extras.certainty.stats import general_quality

COVERAGES = (0.25, 0.5, 0.75)
SOURCES = {"probabilities": "probabilities", "readings": "shares of readings"}
SIGNALS = {"entropy": "entropy of its preference", "stated": "stated"}


def preference_certainties(study: ReportedStudy) -> Json:
    """The entry of report.json; empty if no run has several readings or probabilities."""
    found = []
    for place in study.whole_runs:
        run, judge = study.data.runs[place], study.judges[place]
        if not run.is_jury and (entry := _of_run(study, run, judge)):
            found.append(identity(run) | entry)
    return {"preference_certainty": found} if found else {}


def preferences(study: ReportedStudy, run: RunData, judge: Verdicts) -> tuple[str, Floats] | None:
    """The probability of response 1 over both orders, given no tie, and its source."""
    for source, read in (("probabilities", probability_shares), ("readings", reading_shares)):
        shares = read(study.data, run, judge).shares[:, :TIE]
        total = shares.sum(axis=1)
        share = np.divide(shares[:, 0], total, out=np.full(total.size, np.nan), where=total > 0)
        # One reading in each order leaves only decided and undecided items, and nothing to rank.
        lean = np.abs(share - 0.5)
        if np.unique(lean[lean > 0].round(9)).size > 1:
            return source, np.clip(share, 0.0, 1.0)
    return None


def _of_run(study: ReportedStudy, run: RunData, judge: Verdicts) -> Json:
    known = preferences(study, run, judge)
    if known is None:
        return {}
    source, share = known
    certainty = certainty_from_entropy(share)
    choice = np.where(share > 0.5, 0, 1)
    truth = study.binary_truth
    # The preferred response, which is also known where orders or readings tie in number.
    decided = ~np.isnan(share) & (share != 0.5) & (truth >= 0)
    right = np.where(decided, choice == truth, MISSING).astype(np.int64)
    both = decided & ~np.isnan(judge.certainty) & (judge.correct >= 0) & (choice == judge.answer)
    out: Json = {
        "source": source,
        "decided": int(decided.sum()),
        "undecided": int((share == 0.5).sum()),
    }
    out["alone"] = _quality(certainty, right, decided, study.shared.judged)
    if both.any():
        # On the same items with the same verdicts, so that only the order by certainty differs.
        out["entropy"] = _quality(certainty, right, both, study.shared.judged)
        out["stated"] = _quality(judge.certainty, right, both, study.shared.judged)
    return out


def _quality(certainty: Floats, right: Ints, rows: BoolArray, sharing: Sharing) -> Json:
    values, correct = certainty[rows].round(9), right[rows]
    quality = general_quality(values, correct, sharing.take(rows))
    out: Json = {"n": quality.n, "correct": int((correct == 1).sum())}
    put(out, "accuracy", float((correct == 1).mean()) if quality.n else None, "empty_group")
    for name in ("auroc", "aurc"):
        put_estimate(out, name, getattr(quality, name))
    out["at_coverage"] = [
        {"coverage": coverage, "accuracy": number(accuracy_at_coverage(values, correct, coverage))}
        for coverage in COVERAGES
    ]
    return out


def preference_table(report: ReportJson) -> Table:
    found = report["preference_certainty"]
    rows = []
    for each in found:
        name = run_name(each, found)
        signals = [("alone", SIGNALS["entropy"])] if "entropy" not in each else SIGNALS.items()
        for key, label in signals:
            side = each[key]
            row = [name, label, SOURCES[each["source"]] if key != "stated" else "reply"]
            row += [side["n"], side["accuracy"], side["auroc"], side["auroc_ci"], side["aurc"]]
            rows.append([*row, *(at["accuracy"] for at in side["at_coverage"])])
    columns = (
        TableColumn("Run"),
        TableColumn("Certainty"),
        TableColumn("From"),
        TableColumn("Items", "count"),
        TableColumn("Right", "percent"),
        TableColumn("AUROC", "decimal"),
        TableColumn("95 %", "range", "AUROC"),
        TableColumn("AURC", "decimal"),
        *(
            TableColumn(f"{coverage * 100:g} %", "percent", "Right among the most certain")
            for coverage in COVERAGES
        ),
    )
    return Table(
        "preference_certainty",
        "Entropy of preference next to stated certainty",
        columns,
        rows,
        "Entropy of preference: how decided the probability of response 1 is, the mean over both "
        "orders, from option probabilities or else from repeated readings. Both rows of a run are "
        "about the same items and the same choices. AUROC .5 means that certainty says nothing; "
        "lower is better for AURC. Equal certainties count as their mean.",
    )


class PreferenceCertainty(Section):
    """Certainty by the entropy of a judge's preference, next to its stated certainty."""

    name = "preference_certainty"
    shows = ("preference_certainty",)
    keys = """
preference_certainty | list | Certainty from the entropy of each run's preference.
preference_certainty.source | text | `probabilities` of the options, or shares of `readings`.
preference_certainty.decided | count | Items with a preferred response and a right answer.
preference_certainty.undecided | count | Items without a preferred response.
alone | object | All items with a preferred response.
preference_certainty.entropy | object | Items that also have a stated certainty, by entropy.
preference_certainty.stated | object | The same items and choices, by stated certainty.
at_coverage | list | Accuracy of the most certain answers.
at_coverage.coverage | share | Share of the answers.
"""

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return preference_certainties(study)

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if "preference_certainty" in report:
            yield preference_table(report)


PREFERENCES = PreferenceCertainty()
