"""Certainty of people and of a judge, item by item and as distributions."""

from collections.abc import Iterator

from analysis.data.arrays import RunData
from analysis.data.verdicts import Verdicts
from analysis.report.report_json import Json, put, put_interval
from analysis.report.section import RUN, Analysis, NumberSource, ReportJson, Section
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, table_of_entries
from analysis.report.words import named_entries
from extras.certainty.stats import compare_certainty, compare_certainty_distributions


def compared(study: ReportedStudy, run: RunData, judge: Verdicts) -> Json:
    pairs = compare_certainty(study.people.certainty, judge.certainty)
    # Single answers, because a mean of three annotators varies less than one reply.
    spread = compare_certainty_distributions(study.votes.certainty, run.judgments.certainty)
    out: Json = {}
    for key in ("pearson", "kendall", "concordance"):
        put(out, key, getattr(pairs, key), pairs.correlation_reason)
    reason = pairs.correlation_reason or ("too_few_items" if pairs.n < 10 else "no_variation")
    put_interval(out, "spearman_ci", pairs.spearman_interval, reason)
    put(out, "wilcoxon_p", pairs.wilcoxon_p, pairs.wilcoxon_reason)
    for key in ("ks", "ks_p", "wasserstein", "human_sd", "model_sd"):
        put(out, key, getattr(spread, key), spread.reason)
    return out


def item_by_item(report: ReportJson) -> Table:
    entries = [(name, versus["certainty"]) for name, versus in named_entries(report, "comparison")]
    return table_of_entries(
        "certainty_by_item",
        "Certainty of judge and people, item by item and as distributions",
        [(name, panel) for name, panel in entries if panel["items"] and panel["judgments"]],
        [
            ("Items", "count", "items"),
            ("Pearson", "decimal", "pearson", "Correlation over items"),
            ("Spearman", "decimal", "spearman", "Correlation over items"),
            ("Kendall", "decimal", "kendall", "Correlation over items"),
            ("Lin", "decimal", "concordance", "Correlation over items"),
            ("mean", "number", "mean_difference", "Judge minus majority"),
            ("Wilcoxon p", "p", "wilcoxon_p", "Judge minus majority"),
            ("people", "number", "human_mean", "Mean of single answers"),
            ("judge", "number", "model_mean", "Mean of single answers"),
            ("KS", "decimal", "ks", "Distance of distributions"),
            ("points", "number", "wasserstein", "Distance of distributions"),
        ],
        "Item by item, the majority's certainty is the mean of those who gave its answer; "
        "distributions are of single answers. Lin's concordance falls if one side is more "
        "certain throughout; the other three ignore that. Wilcoxon's test leaves out items on "
        "which both are equally certain.",
    )


class ItemByItem(Section):
    """Other correlations of both certainties, and how far their distributions are apart."""

    name = "certainty_item_by_item"
    needs = ("certainty_comparison",)
    analyses = (Analysis("certainty_beside", tables=("certainty_by_item",)),)
    sources = (NumberSource("comparison.*.certainty", "certainty_by_item", RUN),)
    shows = ("certainty_by_item",)
    keys = """
pearson | coefficient | Pearson's correlation.
kendall | coefficient | Kendall's tau.
concordance | coefficient | Lin's concordance.
spearman_ci | interval | 95 % interval of Spearman's correlation, for independent items.
wilcoxon_p | probability | p-value of Wilcoxon's signed-rank test.
ks | number | Largest distance of both distributions.
ks_p | probability | p-value of the test of that distance.
wasserstein | number | Wasserstein distance of both distributions.
human_sd | certainty | Standard deviation of people's certainty.
model_sd | certainty | Standard deviation of the judge's certainty.
"""

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        runs = zip(study.data.runs, study.judges, strict=True)
        return {"comparison": [{"certainty": compared(study, *run)} for run in runs]}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield item_by_item(report)


ITEM_BY_ITEM = ItemByItem()
