"""Tables that hold certainty to account: thresholds, corrections, the scale, the comparison."""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.report.sections.accuracy.equal_certainty import over_studies
from analysis.report.sections.certainty.tables import certain_sides
from analysis.report.tables import Column, Table
from analysis.report.text.numbers import beside_people, reason, run_name, run_names

Report = Mapping[str, Any]


def threshold_rules(report: Report) -> Table:
    rows = []
    for who, side in certain_sides(report):
        rules, held = side["certainty"]["rules"], side["certainty"]["held_out"]
        rows.append(
            [
                who,
                rules["at"],
                rules["at_least"],
                rules["above"],
                held["threshold"],
                held["chosen_on"],
                held["measured_on"],
                held["coverage"],
            ]
        )
    tau = report["parameters"]["threshold"]
    columns = (
        Column("Who"),
        Column(f"Exactly {tau}", "count"),
        Column(f"≥ {tau}", "share"),
        Column(f"> {tau}", "share"),
        Column("Threshold", "number", "Chosen on half, measured on the other"),
        Column("choosing half", "share", "Chosen on half, measured on the other"),
        Column("other half", "share", "Chosen on half, measured on the other"),
        Column("Coverage", "percent", "Chosen on half, measured on the other"),
    )
    return Table(
        "threshold_rules",
        f"The threshold {tau} ({chosen(report)}), both ways to read it, and one that saw half",
        columns,
        rows,
        "The lowest certainty that reaches 80 % on one half of the personas, with at least 30 "
        "answers; what it gives on the other half is the only honest one of the two.",
    )


def paper_compat(report: Report) -> Table:
    rows = [
        [who, side["no_certainty"], side["low"], side["paper_compat"]["low"]]
        for who, side in certain_sides(report)
        if side["no_certainty"]
    ]
    columns = (
        Column("Who"),
        Column("Without certainty", "count"),
        Column("Low", "share"),
        Column("Low, with those", "share"),
    )
    return Table(
        "paper_compat",
        "Low certainty, and what it is if a missing certainty counts as low",
        columns,
        rows,
        "Everywhere else an answer without certainty is neither high nor low. The code released "
        "with the source article reads it as 0, that is, as low (“paper_compat”).",
    )


def certified(report: Report) -> Table:
    rows = []
    for name, found in zip(run_names(report), report["selective"], strict=True):
        certificate = found["certificate"]
        if not certificate["items"]:
            continue
        tested = certificate["tested"]
        rows.append(
            [
                name,
                "none" if found["threshold"] is None else f"{found['threshold']:.0f}",
                found["coverage"],
                found,
                certificate["items"],
                tested[-1]["n"] if tested else None,
                tested[-1]["errors"] if tested else None,
                tested[-1]["p"] if tested else None,
                reason(found["threshold_reason"]) if found["threshold"] is None else "",
            ]
        )
    columns = (
        Column("Run"),
        Column("Certified from"),
        Column("Coverage", "percent", "Over all items"),
        Column("right", "share", "Over all items"),
        Column("Items tested", "count"),
        Column("accepted", "count", "Last test"),
        Column("wrong", "count", "Last test"),
        Column("p", "p", "Last test"),
        Column("Why none"),
    )
    first = report["selective"][0] if report["selective"] else None
    return Table(
        "certified",
        "From which certainty on the judge may be trusted, with a certificate",
        columns,
        rows,
        "" if first is None else _certificate_note(first),
    )


def _certificate_note(first: Mapping[str, Any]) -> str:
    made = first["certificate"]
    return (
        f"Certified: with {1 - made['delta']:.0%} confidence, over all runs together, at least "
        f"{first['target']:.0%} of the answers that the threshold accepts are right on new items "
        "drawn as these were. Items that share a persona or a question are right or wrong "
        "together, so one item of each is tested; the others count only in coverage and accuracy, "
        "whose interval is no certificate. Thresholds are tested from strict to lenient until "
        f"one fails; p has to be at most {made['delta'] / made['judges']:.3g}, which takes at "
        f"least {made['fewest']} accepted answers. None certified: trust no answer on its "
        "certainty alone."
    )


def chosen(report: Report) -> str:
    return f"set {report['parameters']['threshold_chosen']}".replace("set post hoc", "post hoc")


def recalibration(report: Report) -> Table:
    rows = []
    for who, side in certain_sides(report):
        found, measures = side["certainty"]["recalibration"], side["certainty"]["measures"]
        rows.append(
            [who, found["n"]]
            + [found[key] for key in ("raw", "isotonic", "logistic", "base_rate")]
            # Where nothing varies, resamples are all alike: that is no certainty.
            + [measures["skill"]["ci"] if found["raw"] is not None else None]
            + [measures["auroc"]["value"], measures["auroc"]["ci"]]
        )
    columns = (
        Column("Who"),
        Column("n", "count"),
        Column("as stated", "decimal", "Brier score"),
        Column("isotonic", "decimal", "Brier score"),
        Column("logistic", "decimal", "Brier score"),
        Column("a constant", "decimal", "Brier score"),
        Column("Constant less stated, 95 %", "range"),
        Column("AUROC", "decimal"),
        Column("95 % interval", "range"),
    )
    return Table(
        "recalibration",
        "What certainty is worth, as stated and corrected",
        columns,
        rows,
        "Lower Brier scores are better. Corrections are fitted on four fifths of the items and "
        "measured on the rest; the constant is the share of right answers there. A stated "
        "certainty above the constant is worth less than saying the same number every time. "
        "Intervals draw items anew.",
    )


def scale_use(report: Report) -> Table:
    found = report["human"]["scale_use"]
    rows = [
        ["As stated", found["icc"]["value"], found["icc"]["ci"], found["auroc"]],
        [
            "Less each person's mean",
            found["icc_centred"]["value"],
            found["icc_centred"]["ci"],
            found["auroc_centred"],
        ],
    ]
    columns = (
        Column("People's certainty"),
        Column("ICC(1,1)", "decimal"),
        Column("95 % interval", "range"),
        Column("AUROC", "decimal"),
    )
    return Table(
        "scale_use",
        "How people use the scale",
        columns,
        rows if any(row[1] is not None for row in rows) else [],
        "ICC: the share of the variance of certainty that lies between items and not between the "
        "people who answered them.",
    )


def interaction(report: Report) -> Table:
    rows = []
    for name, versus in beside_people(report):
        found = versus["certainty"]["interaction"]
        if found["interaction"]["value"] is not None:
            rows.append(
                [
                    name,
                    found["n"],
                    found["people"]["value"],
                    found["model"]["value"],
                    found["interaction"]["value"],
                    found["interaction"]["ci"],
                    found["p"],
                ]
            )
    columns = (
        Column("Run"),
        Column("Answers", "count"),
        Column("people", "decimal", "Log odds ratio of high certainty"),
        Column("judge", "decimal", "Log odds ratio of high certainty"),
        Column("Judge less people", "decimal"),
        Column("95 % interval", "range"),
        Column("p", "p"),
    )
    return Table(
        "interaction",
        "Does high certainty say more from the judge than from a person?",
        columns,
        rows,
        "A sensitivity analysis: logistic regression of being right on who answers, high "
        "certainty, and both, over single answers; its variance allows for items, people, "
        "personas and questions in common. Above 0: the judge's high certainty says more.",
    )


def measures(report: Report) -> Table:
    rows = []
    for who, side in certain_sides(report):
        found = side["calibration"]
        rows.append(
            [who, found["right"], found["wrong"]]
            + [found[key] for key in ("ece", "ece_mass", "ece_distinct", "ece_half_scale", "mce")]
            + [found["brier_parts"][key] for key in ("reliability", "resolution", "uncertainty")]
            + [found[key] for key in ("auprc_correct", "auprc_error", "base_rate", "e_aurc")]
        )
    columns = (
        Column("Who"),
        Column("right", "count", "Answers"),
        Column("wrong", "count", "Answers"),
        Column("ten bins", "decimal", "ECE"),
        Column("equal numbers", "decimal", "ECE"),
        Column("by value", "decimal", "ECE"),
        Column("0 as a coin flip", "decimal", "ECE"),
        Column("largest gap", "decimal", "ECE"),
        Column("reliability", "decimal", "Brier score ="),
        Column("− resolution", "decimal", "Brier score ="),
        Column("+ uncertainty", "decimal", "Brier score ="),
        Column("right", "decimal", "AUPRC"),
        Column("wrong", "decimal", "AUPRC"),
        Column("Share right", "decimal"),
        Column("E-AURC", "decimal"),
    )
    return Table(
        "certainty_measures",
        "More measures of certainty",
        columns,
        rows,
        "Few certainties are said, and said often: ECE by value has one bin for each. Read as a "
        "coin flip, certainty 0 means one half. AUPRC has to be read beside the share right (for "
        "right answers) or one less that (for wrong ones). E-AURC is what the best order of the "
        "same answers would save.",
    )


def other_certainties(report: Report) -> Table:
    labels = {
        "probabilities": "probability of its answer",
        "agreement": "agreement of its readings",
    }
    rows = []
    for name, judge in zip(run_names(report), report["judges"], strict=True):
        found = judge["other_certainties"]
        kinds = [(label, found[key]) for key, label in labels.items() if found[key]["n"]]
        if kinds:
            kinds.insert(0, ("in words", judge["calibration"]))
        for label, kind in kinds:
            if kind["n"]:
                row = [kind[key] for key in ("ece", "brier", "auroc", "aurc")]
                rows.append([name, label, kind["n"], *row])
    columns = (
        Column("Run"),
        Column("Certainty as"),
        Column("n", "count"),
        Column("ECE", "decimal"),
        Column("Brier", "decimal"),
        Column("AUROC", "decimal"),
        Column("AURC", "decimal"),
    )
    return Table(
        "other_certainties",
        "Certainty that no judge was asked for",
        columns,
        rows,
        "What a judge says of its certainty beside the probability that the model gave its answer, "
        "and beside the share of its readings that gave it. Lower is better except for AUROC.",
    )


_BY_ITEM = (
    "pearson", "spearman", "kendall", "concordance", "mean_difference", "wilcoxon_p",
    "human_mean", "model_mean", "ks", "wasserstein",
)  # fmt: skip


def item_by_item(report: Report) -> Table:
    rows = []
    for name, versus in zip(run_names(report), report["comparison"], strict=True):
        found = versus["certainty"]
        if found["items"] and found["judgments"]:
            rows.append([name, found["items"], *(found[key] for key in _BY_ITEM)])
    columns = (
        Column("Run"),
        Column("Items", "count"),
        Column("Pearson", "decimal", "Correlation over items"),
        Column("Spearman", "decimal", "Correlation over items"),
        Column("Kendall", "decimal", "Correlation over items"),
        Column("Lin", "decimal", "Correlation over items"),
        Column("mean", "number", "Judge less majority"),
        Column("Wilcoxon p", "p", "Judge less majority"),
        Column("people", "number", "Mean of single answers"),
        Column("judge", "number", "Mean of single answers"),
        Column("KS", "decimal", "Distance of distributions"),
        Column("points", "number", "Distance of distributions"),
    )
    return Table(
        "certainty_by_item",
        "Certainty of judge and people, item by item and as distributions",
        columns,
        rows,
        "Item by item the majority's certainty is the mean of those who gave its answer; "
        "distributions are of single answers. Lin's concordance falls where one side is more "
        "certain throughout, which the other three do not see. Wilcoxon's test leaves out items "
        "on which both are equally certain.",
    )


_BANDS = {"high": "both certain", "low": "neither certain"}
_BAND_FIELDS = ("n", "difference", "ci", "b", "c", "p")
_BAND_COLUMNS = (
    Column("Items where"),
    Column("Items", "count"),
    Column("Difference", "points"),
    Column("95 % interval", "points_range"),
    Column("Only judge right", "count"),
    Column("Only people right", "count"),
    Column("McNemar p", "p"),
)
_BAND_NOTE = (
    "Paired, on items where both sides are at or above the threshold and where both are below it. "
    "Tango's intervals and McNemar's tests: they hold for these annotators only. Holm: adjusted "
    "over every judge and both bands"
)


def by_band(report: Report) -> Table:
    rows = [
        [name, label, *(versus["by_band"][band][key] for key in (*_BAND_FIELDS, "p_holm"))]
        for name, versus in beside_people(report)
        for band, label in _BANDS.items()
        if versus["by_band"][band]["n"]
    ]
    return Table(
        "by_band",
        "Judge beside majority at equal certainty, on common items",
        (Column("Run"), *_BAND_COLUMNS, Column("Holm p", "p")),
        rows,
        f"{_BAND_NOTE}.",
    )


def by_band_over_studies(reports: Sequence[Report]) -> Table:
    """The same of several studies, with Holm's p over all of their tests."""
    rows = [
        [
            report["study"]["title"],
            run_name(versus, report["comparison"]),
            _BANDS[band],
            *(versus["by_band"][band][key] for key in _BAND_FIELDS),
            p,
        ]
        for report, versus, band, p in over_studies(reports)
        if versus["by_band"][band]["n"]
    ]
    return Table(
        "by_band",
        "Judge beside majority at equal certainty, over all data",
        (Column("Data"), Column("Run"), *_BAND_COLUMNS, Column("Holm p, all data", "p")),
        rows,
        f"{_BAND_NOTE}, of every study in this table.",
    )
