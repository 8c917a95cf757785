"""Which tables and figures a report has."""

from collections.abc import Mapping
from typing import Any

from analysis.report import tables_checks as checks
from analysis.report import tables_judges as judges
from analysis.report.figures import Figure
from analysis.report.sections.accuracy import figures as figures_accuracy
from analysis.report.sections.accuracy import tables as accuracy
from analysis.report.sections.certainty import figures as figures_certainty
from analysis.report.sections.certainty import tables as certainty
from analysis.report.sections.certainty import threshold_tables as thresholds
from analysis.report.sections.choices import figure as figures_multiverse
from analysis.report.sections.choices import table as choices
from analysis.report.sections.glance import crowd_equivalence_tables as worth
from analysis.report.sections.groups import heat_maps as figures_groups
from analysis.report.sections.groups import tables as groups
from analysis.report.sections.methods import sources
from analysis.report.sections.methods import tables as record
from analysis.report.sections.record import tables as people
from analysis.report.tables import Table

TABLES = (
    accuracy.at_a_glance,
    checks.clusters,
    accuracy.table_a,
    accuracy.table_b,
    accuracy.table_b_single,
    judges.comparison,
    judges.difference_intervals,
    people.single_intervals,
    thresholds.by_band,
    checks.several_judges,
    checks.ranks,
    worth.worth,
    worth.mixes,
    certainty.bands,
    certainty.certainty,
    thresholds.measures,
    thresholds.other_certainties,
    thresholds.item_by_item,
    certainty.histogram,
    certainty.reliability,
    certainty.sweep,
    certainty.coverage,
    certainty.like_for_like,
    certainty.high_sets,
    thresholds.interaction,
    thresholds.certified,
    thresholds.threshold_rules,
    thresholds.paper_compat,
    thresholds.recalibration,
    thresholds.scale_use,
    people.agreement,
    checks.aggregation,
    judges.replacement,
    worth.leave_one_out,
    judges.same_mistakes,
    worth.shared_guess,
    groups.personas,
    groups.own_group,
    groups.ablation_cells,
    judges.ablations,
    judges.position,
    judges.ties,
    checks.verbosity,
    judges.noise,
    judges.excluded,
    judges.cost,
    groups.price,
    people.people,
    people.quotas,
    people.exclusions,
    people.raters,
    people.items,
    choices.multiverse,
    record.band_definitions,
    record.registered,
    sources.numbers,
)


def all_tables(report: Mapping[str, Any]) -> dict[str, Table]:
    """Every table of report.json by its name; one without rows is left out."""
    made = [maker(report) for maker in TABLES]
    made += accuracy.groups(report) + checks.group_differences(report)
    made += checks.annotator_groups(report)
    made += groups.who_judges_whom(report) + judges.matrices(report)
    return {table.name: table for table in made if table.rows}


FIGURES = (
    figures_accuracy.forest,
    figures_certainty.histograms,
    figures_certainty.reliability,
    figures_certainty.risk_coverage,
    figures_certainty.certainty_curves,
    figures_accuracy.sheets,
    figures_groups.topics,
    figures_groups.personas,
    figures_accuracy.position,
    figures_multiverse.multiverse,
)


def all_figures(report: Mapping[str, Any]) -> dict[str, Figure]:
    """Every figure by its name; one without anything to draw is left out."""
    made = (maker(report) for maker in FIGURES)
    return {figure.name: figure for figure in made if figure is not None}
