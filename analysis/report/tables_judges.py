"""Tables about the judges: beside people, with less of the persona, by side, and their record."""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.report.tables import Column, Kind, Table
from analysis.report.text.numbers import features_words, run_names, whole_runs

Report = Mapping[str, Any]
Entry = Mapping[str, Any]
# Heading, kind, where the value lies in the entry, and the heading above, if any.
Field = tuple[str, Kind, str] | tuple[str, Kind, str, str]

READINGS = {
    "different": "different",
    "equivalent": "equivalent",
    "different_within_margin": "different, within the margin",
    "inconclusive": "cannot tell",
}


def _table(
    name: str,
    title: str,
    labelled: Sequence[tuple[str, Entry]],
    fields: Sequence[Field],
    note: str = "",
    *,
    first: str = "Run",
) -> Table:
    """A table with one row per entry and one column per field."""
    columns = [Column(first), *(Column(f[0], f[1], f[3] if len(f) > 3 else "") for f in fields)]
    rows = [[label, *(_dig(entry, field[2]) for field in fields)] for label, entry in labelled]
    return Table(name, title, tuple(columns), rows, note)


def _dig(entry: Entry, path: str) -> Any:
    value: Any = entry
    for key in path.split("."):
        value = value[key]
    return value


def _runs(report: Report, part: str) -> list[tuple[str, Entry]]:
    return list(zip(run_names(report), report[part], strict=True))


CONDITIONAL = "these annotators only"


def comparison(report: Report) -> Table:
    margin = report["parameters"]["margin"] * 100
    entries = [
        (name, {**entry, "reading": READINGS.get(entry["difference_general"]["state"])})
        for name, entry in _runs(report, "comparison")
    ]
    return _table(
        "comparison",
        "Every run beside the majority, on common items",
        entries,
        [
            ("Items", "count", "difference.n"),
            ("Difference", "points", "difference.value"),
            ("95 % interval", "points_range", "difference_general.ci"),
            ("p", "p", "difference_general.p"),
            ("Holm p", "p", "difference_general.p_holm"),
            ("of runs", "count", "difference_general.family"),
            ("90 % interval", "points_range", "difference_general.equivalence_ci"),
            ("Holm p of equivalence", "p", "difference_general.equivalence_p_holm"),
            ("Reading", "text", "reading"),
            ("from", "points", "difference.bounds.low", "Whatever is missing"),
            ("to", "points", "difference.bounds.high", "Whatever is missing"),
        ],
        "Intervals, p values and reading allow for people, personas and questions in common: they "
        "are about others like these. Holm: adjusted over so many runs, those that compete for "
        "being the best (of the others, over those that saw the same features). Different: Holm's "
        "p is at most .05. Equivalent: that of two one-sided tests is, for a margin of "
        f"±{margin:g} points set in the study. Whatever is missing: the least and the greatest "
        "difference that ties and missing answers allow.",
    )


def same_mistakes(report: Report) -> Table:
    return _table(
        "same_mistakes",
        "Do people and judge make the same mistakes?",
        [pair for pair in _runs(report, "comparison") if pair[1]["same_mistakes"]["n"]],
        [
            ("Both right", "count", "same_mistakes.both_right"),
            ("Only judge", "count", "same_mistakes.only_judge"),
            ("Only people", "count", "same_mistakes.only_people"),
            ("Both wrong", "count", "same_mistakes.both_wrong"),
            ("Kappa of being right", "decimal", "same_mistakes.kappa"),
            ("95 % interval", "range", "same_mistakes.ci"),
        ],
        "Kappa beyond what the two accuracies give: 0 for unrelated mistakes, 1 for the same ones.",
    )


def noise(report: Report) -> Table:
    return _table(
        "noise",
        "What changes when a judge is asked again",
        [pair for pair in _runs(report, "judges") if pair[1]["noise"]["same_choice"] is not None],
        [
            ("Readings", "count", "noise.runs"),
            ("Items", "count", "noise.items"),
            ("Same choice", "percent", "noise.same_choice"),
            ("Items that flip", "percent", "noise.flipped"),
            ("SD of accuracy", "decimal", "noise.accuracy_sd"),
            ("SD of certainty", "number", "noise.certainty_sd"),
            ("between readings", "decimal", "noise.run_variance", "Variance of being right"),
            ("between items", "decimal", "noise.item_variance", "Variance of being right"),
        ],
        "The baseline for every other change: two readings of one item agree this often.",
    )


def replacement(report: Report) -> Table:
    return _table(
        "replacement",
        "Could the judge sit among the annotators?",
        _runs(report, "comparison") if report["human"]["answers"] else [],
        [
            ("Agrees with majority", "percent", "agreement_with_majority"),
            ("Kappa", "decimal", "cohen_kappa"),
            ("ω", "decimal", "alt_test.omega", "alt-test, ε = .1"),
            ("ρ", "decimal", "alt_test.rho", "alt-test, ε = .1"),
            ("tested", "count", "alt_test.tested", "alt-test, ε = .1"),
            ("skipped", "count", "alt_test.skipped", "alt-test, ε = .1"),
            ("ω", "decimal", "alt_test.certainty.omega", "the same of certainty"),
            ("ρ", "decimal", "alt_test.certainty.rho", "the same of certainty"),
            ("people's advantage", "points", "pooled_replacement.advantage_of_people", "pooled"),
            ("p", "p", "pooled_replacement.p", "pooled"),
            ("z", "decimal", "human_likeness_z", "kappa with people"),
            ("difference", "decimal", "human_likeness.difference", "kappa with people"),
        ],
        "The alternative annotator test skips people with fewer than 30 usable items; with 30 "
        "items each it rarely passes. The pooled test asks about the average annotator.",
    )


def difference_intervals(report: Report) -> Table:
    return _table(
        "difference_intervals",
        "The same differences by other intervals and tests",
        [pair for pair in _runs(report, "comparison") if pair[1]["difference"]["n"]],
        [
            ("Difference", "points", "difference.value"),
            ("in general", "points_range", "difference_general.ci", "95 % interval"),
            ("degrees of freedom", "number", "difference_general.df"),
            ("as the best", "points_range", "difference_general.ci_as_best", "95 % interval"),
            ("Tango", "points_range", "difference.ci", CONDITIONAL),
            ("Wald", "points_range", "difference.wald_ci", CONDITIONAL),
            ("Only judge right", "count", "mcnemar.b", CONDITIONAL),
            ("Only people right", "count", "mcnemar.c", CONDITIONAL),
            ("McNemar p", "p", "mcnemar.p", CONDITIONAL),
            ("Holm p", "p", "mcnemar.p_holm", CONDITIONAL),
        ],
        "In general: items, people, personas and questions are taken as drawn from others like "
        "them. It needs at least 8 people, and 4 times as many as there are answers to an item. "
        "As the best: the same with a lower end that allows for naming the best of several runs. "
        "Tango's and Wald's intervals and McNemar's exact test hold for these annotators only. "
        "Wald's has no width where no item differs; it is here to compare with papers that use it.",
    )


def matrices(report: Report) -> list[Table]:
    """Agreement of everybody with everybody, by either coefficient."""
    names, last = run_names(report), len(report["matrix"]) - 1
    # Positions in the matrix: people, then the runs, then the truth.
    shown = [0, *(index + 1 for index in whole_runs(report)), last]
    labels = ["People, majority", *(names[index - 1] for index in shown[1:-1]), "Truth"]
    tables = []
    for name, key, coefficient in (
        ("agreement_matrix", "kappa", "Cohen's kappa"),
        ("agreement_matrix_alpha", "alpha", "Krippendorff's alpha"),
    ):
        rows = [
            [label, *(report["matrix"][row][column][key] for column in shown)]
            for label, row in zip(labels, shown, strict=True)
        ]
        columns = (Column(coefficient), *(Column(label, "decimal") for label in labels))
        tables.append(
            Table(
                name,
                "Agreement of everybody with everybody",
                columns,
                rows if report["judges"] else [],
                f"{coefficient} on the items that both decided; “–” where it is undefined.",
            )
        )
    return tables


def ablations(report: Report) -> Table:
    return _table(
        "ablations",
        "What is lost when the judge sees less of the person",
        [
            (entry["judge"], {**entry, "features": features_words(entry["features"])})
            for entry in report["ablations"]
        ],
        [
            ("Setting", "text", "setting"),
            ("Features shown", "text", "features"),
            ("Items", "count", "n"),
            ("Accuracy lost", "points", "accuracy_lost"),
            ("95 % interval", "points_range", "ci"),
            ("McNemar p", "p", "p"),
            ("Holm p", "p", "p_holm"),
            ("Same choice", "percent", "same_choice"),
            ("Certainty lost", "number", "certainty_drop"),
            ("within a run", "percent", "beyond_noise.within", "Two readings agree"),
            ("across", "percent", "beyond_noise.across", "Two readings agree"),
            ("Change beyond noise", "points", "beyond_noise.excess"),
            ("95 %", "points_range", "beyond_noise.ci"),
        ],
        "Each run beside the run of the same judge and setting with every feature, item by item. "
        "Holm: adjusted over the feature sets of one judge and setting. Where both runs were read "
        "several times, the last columns tell a change from what another reading would change "
        "anyway: 0 where the features change nothing, however noisy the judge is.",
        first="Judge",
    )


def position(report: Report) -> Table:
    people = report["human"]["position"]
    entries = [(name, judge["position"]) for name, judge in _runs(report, "judges")]
    return _table(
        "position",
        "Does the side decide?",
        [(who, found) for who, found in [("People", people), *entries] if found["n"]],
        [
            ("Answers", "count", "n"),
            ("Share A", "percent", "share_a"),
            ("A is right", "percent", "truth_share_a"),
            ("when A is right", "percent", "right_when_a.accuracy", "Accuracy"),
            ("when B is right", "percent", "right_when_b.accuracy", "Accuracy"),
            ("McNemar p", "p", "p"),
            ("Same choice in both orders", "percent", "both_orders.consistency"),
        ],
        "From one order, a liking for a side and for what stood there cannot be told apart; both "
        "orders can.",
        first="Who",
    )


def ties(report: Report) -> Table:
    runs = [(name, judge) for name, judge in _runs(report, "judges") if judge["ties"]["n"]]
    return _table(
        "ties",
        "How often a tie is said, and how often it is true",
        runs,
        [
            ("Decided", "count", "ties.n"),
            ("Said tie", "count", "ties.ties"),
            ("Share", "percent", "ties.share"),
            ("Share of true ties", "percent", "ties.truth_share"),
        ],
    )


def excluded(report: Report) -> Table:
    reasons = (
        ("tie", "undecided"),
        ("no_truth", "no truth"),
        ("unparseable", "unparseable"),
        ("refused", "refused"),
        ("skipped", "skipped"),
        ("error", "error"),
        ("open", "not yet asked"),
    )
    fields: list[Field] = [("Items asked", "count", "items"), ("Scored", "count", "n")]
    fields += [(label, "count", f"excluded.{key}", "Not scored") for key, label in reasons]
    fields += [
        ("all wrong", "percent", "bounds.low", "Accuracy, were they"),
        ("all right", "percent", "bounds.high", "Accuracy, were they"),
    ]
    return _table(
        "excluded",
        "Items that count, and why others do not",
        _runs(report, "judges"),
        fields,
        "Each item is counted once. Missing answers are missing: neither wrong nor low.",
    )


def cost(report: Report) -> Table:
    return _table(
        "cost",
        "What the judges cost",
        _runs(report, "judges"),
        [
            ("Requests", "count", "cost.requests"),
            ("failed", "count", "cost.failed_requests"),
            ("Tokens in", "count", "cost.tokens_in"),
            ("Tokens out", "count", "cost.tokens_out"),
            ("US dollars", "money", "cost.usd"),
            ("per right answer", "money", "cost.usd_per_correct"),
        ],
        "From the ledger of requests, failed ones included; “–” where no price or usage is known.",
    )
