"""Agreement among annotators in choices and certainties, and a second computation of alpha."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any, Literal

import numpy as np

from analysis.data.arrays import TIE
from analysis.report.figures import (
    PEOPLE,
    REFERENCE,
    Figure,
    Variant,
    axis,
    bar_trace,
    label,
    panel,
    share_axis,
    vertical,
)
from analysis.report.quantities import (
    Name,
    Population,
    Quantity,
    QuantityInterval,
    Text,
    Unit,
    Words,
    clause,
    joined,
    say,
)
from analysis.report.report_json import (
    Json,
    estimate,
    number,
    pick,
    put,
    put_ci,
    put_estimate,
    put_interval,
    undefined,
)
from analysis.report.results import items, people_agree
from analysis.report.section import Analysis, NumberSource, ReportJson, Section, Sentence
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn
from analysis.report.words import decimal, percent, reason
from analysis.stats.agreement.alpha import certainty_alpha, krippendorff_alpha
from analysis.stats.agreement.coefficients import (
    brennan_prediger,
    certainty_band_counts,
    fleiss_kappa,
    general_agreement,
    gwet_ac,
    percent_agreement,
)
from analysis.stats.agreement.from_accuracy import guessed_majority, shared_stereotype
from analysis.stats.core.aggregation import unanimity
from analysis.stats.core.resampling import bootstrap_agreement
from analysis.stats.core.results import FloatArray, IntArray
from analysis.stats.core.votes import Votes

SHEET = 30  # items on one annotator's sheet in the source article's draw


BINS_OF_DRAWS = 31  # a share of 30 takes one of 31 values


def agreement(votes: Votes, *, seed: int, draws: int) -> Json:
    """All common coefficients, with every resample starting from the report's seed."""

    def rng() -> np.random.Generator:
        return np.random.default_rng(seed)

    counts = votes.counts()
    out: Json = {}
    put_estimate(out, "percent", percent_agreement(counts, n_draws=draws, rng=rng()))
    out["krippendorff_alpha"] = estimate(krippendorff_alpha(counts, n_draws=draws, rng=rng()))
    pairs = krippendorff_alpha(counts, resample="pairs", n_draws=draws, rng=rng())
    put_ci(out["krippendorff_alpha"], "pairs_ci", pairs)
    for key, coefficient in (
        ("fleiss_kappa", fleiss_kappa),
        ("gwet_ac1", gwet_ac),
        ("brennan_prediger", brennan_prediger),
    ):
        put_estimate(out, key, coefficient(counts, n_draws=draws, rng=rng()))
    out["without_ties"] = _without_ties(votes, rng, draws)
    put_estimate(out, "certainty_alpha", certainty_alpha(votes, n_draws=draws, rng=rng()))
    ordinal = certainty_alpha(votes, metric="ordinal", n_draws=draws, rng=rng())
    put_estimate(out, "certainty_alpha_ordinal", ordinal)
    bands = certainty_band_counts(votes)
    ac2 = gwet_ac(bands, weights="quadratic", n_draws=draws, rng=rng())
    put_estimate(out, "certainty_bands_ac2", ac2)
    same = unanimity(votes)
    out["unanimous"] = {"n": same.n, "unanimous": same.unanimous, "single": same.single}
    put(out["unanimous"], "share", same.unanimous / same.n if same.n else None, "no_pairs")
    out["bootstrap"] = _sheets(votes, seed=seed, draws=draws)
    steadier = bootstrap_agreement(votes, unit="all_pairs", size=SHEET, n_draws=draws, rng=rng())
    out["bootstrap"]["all_pairs"] = pick(steadier, "mean sd")
    return out


def _without_ties(votes: Votes, rng: Callable[[], np.random.Generator], draws: int) -> Json:
    """Alpha of the answers that name a response, if ties were offered too."""
    if votes.n_options == 2:
        return undefined("not_offered", "value", "ci")
    counts = votes.take(votes.choice != TIE).counts()[:, :2]
    return estimate(krippendorff_alpha(counts, n_draws=draws, rng=rng()))


def _sheets(votes: Votes, *, seed: int, draws: int) -> Json:
    result = bootstrap_agreement(votes, size=SHEET, n_draws=draws, rng=np.random.default_rng(seed))
    out: Json = {"unit": result.unit, "draws": result.n_draws, "size": result.size}
    out |= pick(result, "mean sd")
    put_interval(out, "ci", result.interval, result.reason or "no_variation")
    out |= pick(result, "expected_mean expected_sd")
    put(out, "standard_error", result.standard_error, result.reason or "too_few_items")
    out["items"], out["pairs"] = result.n_items, result.n_pairs
    hits = np.rint(result.draws * SHEET).astype(np.int64)
    out["histogram"] = np.bincount(hits, minlength=BINS_OF_DRAWS).tolist() if hits.size else []
    return out


def from_accuracy(accuracy: float | None, majority: float | None, scored: Votes) -> Json:
    """The agreement of scored answers, and that expected from independent errors or one guess."""
    answers = scored.counts().sum(axis=1)
    out: Json = {"items": int((answers > 1).sum())}
    observed = percent_agreement(scored.counts()).value
    if observed is None or accuracy is None or scored.n_options != 2:
        reason = "not_offered" if scored.n_options != 2 else "empty_group"
        return out | undefined(reason, "agreement", "observed", "follows", "right", "majority")
    out["observed"] = number(observed)
    model = shared_stereotype(observed, accuracy)
    out["agreement"] = number(model.agreement_from_accuracy)
    out |= pick(model, "follows right")
    predicted = None
    if model.follows is not None and model.right is not None:
        predicted = guessed_majority(model.follows, model.right, answers[answers > 0])
    put(out, "majority", predicted, model.reason)
    put(out, "majority_observed", majority, "empty_group")
    return out


def agreement_table(report: ReportJson) -> Table:
    entry = report["human"]["agreement"]
    sheets, name = entry["bootstrap"], f"Sheets of {entry['bootstrap']['size']}"
    # Name, path of the value, its key, and the key of its interval.
    measures: list[tuple[str, ReportJson, str, str | None]] = [
        ("Items on which two people agree", entry, "percent", "percent_ci"),
        ("… of items with a known answer", entry["from_accuracy"], "observed", None),
        ("… expected from accuracy alone", entry["from_accuracy"], "agreement", None),
        ("Krippendorff's alpha", entry["krippendorff_alpha"], "value", "ci"),
        ("… resampling pairs, not items", entry["krippendorff_alpha"], "value", "pairs_ci"),
        ("Fleiss' kappa", entry, "fleiss_kappa", "fleiss_kappa_ci"),
        ("Gwet's AC1", entry, "gwet_ac1", "gwet_ac1_ci"),
        ("Brennan-Prediger", entry, "brennan_prediger", "brennan_prediger_ci"),
        ("Items on which all agree", entry["unanimous"], "share", None),
        (f"{name}: mean agreement", sheets, "mean", "ci"),
        (f"{name}: standard deviation", sheets, "sd", None),
        (f"{name}, all pairs: standard deviation", sheets["all_pairs"], "sd", None),
        ("Alpha of certainty (interval)", entry, "certainty_alpha", "certainty_alpha_ci"),
        (
            "Alpha of certainty (ordinal)",
            entry,
            "certainty_alpha_ordinal",
            "certainty_alpha_ordinal_ci",
        ),
        ("AC2 of the five certainty bands", entry, "certainty_bands_ac2", "certainty_bands_ac2_ci"),
    ]
    if report["study"]["allow_tie"]:
        before = [label for label, *_ in measures].index("Fleiss' kappa")
        alpha = ("Krippendorff's alpha, without ties", entry["without_ties"], "value", "ci")
        measures.insert(before, alpha)
    rows = [
        [
            label,
            where[key],
            where[interval] if interval else None,
            "" if where[key] is not None else reason(where[f"{key}_reason"]),
        ]
        for label, where, key, interval in measures
    ]
    columns = [
        TableColumn("Measure"),
        TableColumn("Value", "decimal"),
        TableColumn("95 % interval", "range"),
    ]
    if any(row[-1] for row in rows):
        columns.append(TableColumn("Why undefined"))
    rows = [row[: len(columns)] for row in rows]
    return Table(
        "agreement",
        "How much people agree",
        tuple(columns),
        rows if report["human"]["answers"] else [],
        "Intervals resample items. AC1 and Brennan-Prediger count all options offered, chosen or "
        "not; AC2 weights bands by squared distance. A sheet is one annotator pair on each of 30 "
        "items drawn without replacement; its standard deviation is the spread of single sheets, "
        "not the error of the mean.",
    )


# Agreement on sheets of 30 in the source article: mean and standard deviation.
PUBLISHED = (0.597, 0.087)


def sheets(report: ReportJson) -> Figure | None:
    """The source article's bootstrap: agreement on sheets of 30."""
    entry = report["human"]["agreement"]
    draws = entry["bootstrap"]
    if draws["mean"] is None:
        return None
    size = draws["size"]
    # Only if both are about all items.
    about_all = entry["from_accuracy"]["items"] == report["inputs"]["items"]
    expected = entry["from_accuracy"]["agreement"] if about_all else None
    lines = [vertical(draws["mean"], PEOPLE, "solid")]
    labels = [label(draws["mean"], f"mean {percent(draws['mean'])}", 1.0)]
    if expected is not None:
        lines.append(vertical(expected, REFERENCE))
        labels.append(label(expected, f"from accuracy alone {percent(expected)}", 1.09))
    counts = draws["histogram"]
    drawing = panel(
        "",
        f"Agreement of two people on {draws['draws']} sheets of {size} items: mean "
        f"{percent(draws['mean'])}, standard deviation {percent(draws['sd'])}.",
        [
            bar_trace(
                x=[hits / size for hits in range(size + 1)],
                y=counts,
                width=0.9 / size,
                marker={"color": PEOPLE},
                opacity=0.75,
                hovertemplate="%{x:.1%} agree: %{y} sheets<extra></extra>",
            )
        ],
        height=300,
        margin={"l": 52, "r": 16, "t": 48, "b": 44},
        xaxis=share_axis("agreement on one sheet", range=[0.0, 1.02]),
        yaxis=axis("sheets"),
        shapes=lines,
        annotations=labels,
    )
    alpha: Text | Words = Words("")
    if entry["krippendorff_alpha"]["value"] is not None:
        alpha = clause(", alpha is {x}", x=_alpha_of_people(report))
    title = say("Two people agree on {x} of items{alpha}", x=people_agree(report), alpha=alpha)
    dashed = " Dashed: agreement expected from people of this accuracy with independent errors."
    caption = say(
        "{draws} draws of {items}, one pair of people on each, without replacement (unit {unit})."
        "{dashed}",
        draws=Quantity("count", None, draws["draws"], "human.agreement.bootstrap.draws"),
        items=Population("item", n=size),
        unit=Words(draws["unit"]),
        dashed=Words("" if expected is None else dashed),
    )
    return Figure(
        "sheets",
        title,
        caption,
        "agreement",
        [drawing],
        variant=_article_comparison(lines, labels),
    )


def _article_comparison(lines: Sequence[ReportJson], labels: Sequence[ReportJson]) -> Variant:
    """The published mean, with one standard deviation on each side."""
    mean, sd = PUBLISHED
    band = {
        "type": "rect",
        "x0": mean - sd,
        "x1": mean + sd,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "fillcolor": REFERENCE,
        "opacity": 0.12,
        "line": {"width": 0},
        "layer": "below",
    }
    words = label(mean, f"source article {decimal(mean)} ± {decimal(sd)}", 1.18)
    return Variant(
        f"With the source article's {decimal(mean)} ± {decimal(sd)}",
        {
            "shapes": [*lines, band, vertical(mean, REFERENCE, "dot")],
            "annotations": [*labels, words],
            "margin.t": 68,
        },
        {"shapes": list(lines), "annotations": list(labels), "margin.t": 48},
    )


class Coefficients(Section):
    """All common coefficients, and the source article's bootstrap."""

    name = "agreement_coefficients"
    analyses = (
        Analysis(
            "agreement",
            tables=(
                "agreement",
                "aggregation",
                "agreement_matrix",
                "agreement_matrix_alpha",
            ),
            paths=(
                "human.agreement",
                "human.aggregation",
                "matrix",
                "comparison.*.agreement_with_majority",
                "comparison.*.agreement_ci",
                "comparison.*.agreement_as_best_ci",
                "comparison.*.cohen_kappa",
                "comparison.*.cohen_kappa_ci",
            ),
            main=("human.agreement.percent", "comparison.*.cohen_kappa"),
            uses=("resamples",),
        ),
    )
    sources = (NumberSource("human.agreement", "agreement"),)

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        entry = agreement(study.votes, seed=study.seed, draws=study.draws)
        general = general_agreement(study.votes.counts(), study.shared.items)
        put_ci(entry, "percent_general_ci", general)
        return {"human": {"agreement": entry}}

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        if report["human"]["agreement"]["krippendorff_alpha"]["value"] is not None:
            agree, alpha = people_agree(report), _alpha_of_people(report)
            text = say(
                "Two people who judged the same item gave the same answer on {agree} of "
                "{agree.of}; Krippendorff's alpha is {alpha}{interval}.",
                agree=agree,
                alpha=alpha,
                interval=clause(" ({x.interval})", x=alpha) if alpha.interval.ends else Words(""),
            )
            yield Sentence("methods", text)

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield agreement_table(report)

    def figures(self, report: ReportJson) -> Iterator[Figure | None]:
        yield sheets(report)


class AgreementFromAccuracy(Section):
    """The agreement expected from the annotators' accuracy."""

    name = "agreement_from_accuracy"
    needs = ("accuracies", "agreement_coefficients")

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        human = earlier["human"]
        # Both over the same items: accuracy is known where the right answer is.
        scored = study.votes.take(study.correct_alone >= 0)
        expected = from_accuracy(
            human["individual"]["accuracy"], human["majority"]["accuracy"], scored
        )
        return {"human": {"agreement": {"from_accuracy": expected}}}


def _alpha_of_people(report: ReportJson) -> Quantity:
    path = "human.agreement.krippendorff_alpha"
    entry, of = report["human"]["agreement"]["krippendorff_alpha"], people_agree(report).of
    interval = QuantityInterval.at(entry, "ci", path)
    return Quantity("coefficient", of, entry["value"], f"{path}.value", interval)


def expected_agreement(report: ReportJson) -> Text | None:
    """The agreement expected from people's accuracy, and what one shared guess would explain."""
    entry, path = report["human"]["agreement"]["from_accuracy"], "human.agreement.from_accuracy"
    if entry["agreement"] is None:
        return None
    rule = "with a known answer and two or more answers"
    of = items(report, rule, entry["items"], f"{path}.items")
    units: dict[str, Unit] = {"agreement": "rate", "observed": "rate", "majority": "rate"}
    units |= {"follows": "coefficient", "right": "coefficient", "majority_observed": "rate"}
    x = {
        key: Quantity(unit, of, entry[key], f"{path}.{key}")
        for key, unit in units.items()
        if entry.get(key) is not None
    }
    guess: Text | Words = Words("")
    if "follows" in x:
        guess = clause(
            " If all share one guess per item, each follows it with probability {follows}, and it "
            "is right with probability {right}: that predicts a majority that is right on "
            "{majority}, and {majority_observed} was observed.",
            **x,
        )
    return say(
        "Two people of this accuracy with independent errors would agree on {agreement} of the "
        "{agreement.full}; they agree on {observed}.{guess}",
        agreement=x["agreement"],
        observed=x["observed"],
        guess=guess,
    )


PACKAGE = "krippendorff"
# The package compares all pairs of values: two or three choices, but up to 100 certainties.
MAX_CHOICES, MAX_CERTAINTIES = 100_000, 3_000
KINDS = ("choices", "certainty")
# Both programs add the same terms in a different order.
TOLERANCE = 1e-9


class AlphaCheck(Section):
    """Alpha of choices and certainty from another program, and whether it matches ours."""

    name = "alpha_check"
    needs = ("agreement_coefficients",)

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        votes, entry = study.votes, earlier["human"]["agreement"]
        stated = votes.take(~np.isnan(votes.certainty))
        check: Json = {"package": PACKAGE, "version": version(PACKAGE)}
        check["choices"] = _check(
            entry["krippendorff_alpha"],
            "value",
            lambda: _alpha(votes.counts(), "nominal") if votes.n <= MAX_CHOICES else None,
        )
        check["certainty"] = _check(
            entry,
            "certainty_alpha",
            lambda: _certainty_alpha(stated) if stated.n <= MAX_CERTAINTIES else None,
        )
        return {"human": {"agreement": {"alpha_check": check}}}

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        check = report["human"]["agreement"].get("alpha_check")
        if check and False in {check[kind]["agrees"] for kind in KINDS}:
            yield Sentence("missing", check_text(report))


def check_words(report: ReportJson) -> str:
    """The sentences on whether both programs agree; empty without alpha."""
    return str(check_text(report))


def check_text(report: ReportJson) -> Text:
    check = report["human"]["agreement"].get("alpha_check", {})
    kinds = [kind for kind in KINDS if kind in check]
    same = [kind for kind in kinds if check[kind]["agrees"]]
    sentences = [_unequal(report, check, kind) for kind in kinds if kind not in same]
    if same:
        equal = say(
            "The package {package} computes the same alpha of {kinds}.",
            package=_package(check),
            kinds=Words(" and of ".join(same)),
        )
        sentences.insert(0, equal)
    return joined([text for text in sentences if text], " ", " ")


def _package(check: ReportJson) -> Name:
    return Name(f"{check['package']} {check['version']}")


def _unequal(report: ReportJson, check: ReportJson, kind: str) -> Text | None:
    """Why the other program has no alpha or a different one; None if neither has any."""
    ours = report["human"]["agreement"]
    own = ours["krippendorff_alpha"]["value"] if kind == "choices" else ours["certainty_alpha"]
    theirs = check[kind]["value"]
    if own is None:
        return None
    if theirs is None:
        return say(
            "Alpha of {kind} was not checked with the package {package}, because there are more "
            "than {most} answers.",
            kind=Words(kind),
            package=Name(PACKAGE),
            most=Quantity("count", None, MAX_CHOICES if kind == "choices" else MAX_CERTAINTIES),
        )
    return say(
        "The package {package} computes a different alpha of {kind}: {theirs} instead of {own}. "
        "Use neither until you know why.",
        package=_package(check),
        kind=Words(kind),
        theirs=Quantity("exact", None, theirs),
        own=Quantity("exact", None, own),
    )


def _check(ours: Mapping[str, Any], key: str, compute: Callable[[], float | None]) -> Json:
    """The other program's alpha, and whether it equals ours."""
    if ours[key] is None:
        return undefined(ours[f"{key}_reason"], "value", "agrees")
    theirs = compute()
    if theirs is None:
        return undefined("too_large", "value", "agrees")
    return {"value": number(theirs), "agrees": abs(theirs - ours[key]) <= TOLERANCE}


def _certainty_alpha(votes: Votes) -> float:
    values, code = np.unique(votes.certainty, return_inverse=True)
    counts = np.zeros((votes.n_items, values.size), dtype=np.int64)
    np.add.at(counts, (votes.item, code), 1)
    return _alpha(counts, "interval", values)


def _alpha(
    counts: IntArray, level: Literal["nominal", "interval"], values: FloatArray | None = None
) -> float:
    import krippendorff

    return float(
        krippendorff.alpha(value_counts=counts, value_domain=values, level_of_measurement=level)
    )
