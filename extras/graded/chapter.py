"""What people gave next to their choices: strength, scores, criteria and reasons."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from analysis.data.arrays import MISSING, TIE
from analysis.data.verdicts import Ints
from analysis.report.report_json import Json, cell, estimate, number, put, tested
from analysis.report.section import ReportJson, Section, Sentence
from analysis.report.sentences import holds, level_of
from analysis.report.study import ReportedStudy, identity
from analysis.report.tables import Table, table_of_entries
from analysis.report.words import decimal, decimal_range, percent, points, points_range, run_name
from analysis.stats.accuracy.general_accuracy import general_proportion
from analysis.stats.agreement.alpha import krippendorff_alpha
from analysis.stats.certainty.human_llm import general_spearman
from analysis.stats.comparison.general_difference import general_difference
from analysis.stats.core.multiplicity import holm
from analysis.stats.core.results import FloatArray
from extras.graded.agreement import (
    RatedRows,
    graded_kappa,
    means,
    signed,
    tallies,
    within_people,
)
from extras.graded.graded_answers import GradedAnswers, GradeRows

_NAMES = ("slightly", "clearly", "strongly")
_STEPS = np.arange(-3.0, 4.0)
# Kinds of claims.
CERTAIN, RIGHT, LEVEL = (
    "strength and certainty",
    "strength and accuracy",
    "level of a judge’s scores",
)


def graded(study: ReportedStudy) -> Json:
    """The entry of report.json; empty for a study whose people only choose."""
    given = study.data.of(GradedAnswers)
    if given is None:
        return {}
    out: Json = {
        "answers": len(study.data.answers),
        "strength": _strength(study, given) if given.asked_strength else None,
        "scores": _scores(study, given) if given.scale else None,
        "criteria": _criteria(study, given) if given.criteria else None,
        "reasons": int(given.people.has_reason.sum()) if given.asked_reason else None,
    }
    return {"graded": {name: value for name, value in out.items() if value is not None}}


def _strength(study: ReportedStudy, given: GradedAnswers) -> Json:
    answers, people, n = study.data.answers, given.people, len(study.data.items)
    choice = answers.choice.astype(np.int64)
    mine = signed(choice, people.strength)
    sharing = study.shared.answers
    right = study.correct_alone
    entry: Json = {"n": int((~np.isnan(mine)).sum()), "ties": int((mine == 0).sum())}
    for step, name in enumerate(_NAMES, start=1):
        rows = people.strength == step
        scored = rows & (right >= 0)
        share = general_proportion(right[scored] == 1, sharing.take(scored))
        entry[name] = {"answers": int(rows.sum())} | cell(share)
    counts = tallies(answers.item, mine, n, _STEPS)
    entry["alpha"] = _alpha(study, counts, "ordinal", _STEPS)
    was_right = np.where(right >= 0, right.astype(np.float64), np.nan)
    for name, other in (("certainty", answers.certainty), ("right", was_right)):
        entry[name] = tested(within_people(people.strength, other, answers.rater, sharing))
    of_people = means(answers.item, mine, n)
    judges = []
    for run in study.data.runs:
        rows = given.runs.get(run.run)
        if rows is None or np.isnan(rows.strength).all():
            continue
        own = signed(run.judgments.choice.astype(np.int64), rows.strength)
        of_judge = means(run.judgments.item, own, n)
        found: Json = {"n": _n_both(of_people, of_judge)}
        kappa = graded_kappa(of_people, of_judge, _STEPS)
        put(found, "kappa", number(kappa.value), kappa.reason)
        found["rank"] = estimate(general_spearman(of_people, of_judge, study.shared.items))
        judges.append(identity(run) | found)
    return {"people": entry, "judges": judges}


def _alpha(study: ReportedStudy, counts: Ints, metric: Any, values: FloatArray) -> Json:
    return estimate(
        krippendorff_alpha(
            counts, metric=metric, values=values, n_draws=study.draws, rng=study.rng()
        )
    )


def _n_both(one: FloatArray, other: FloatArray) -> int:
    return int((~np.isnan(one) & ~np.isnan(other)).sum())


def _scores(study: ReportedStudy, given: GradedAnswers) -> Json:
    answers, scores, n = study.data.answers, given.people.scores, len(study.data.items)
    scale = np.arange(1.0, given.scale + 1)
    # Each response of each item is a target of its own.
    rated = RatedRows(
        np.concatenate([2 * answers.item, 2 * answers.item + 1]),
        np.tile(answers.rater, 2),
        np.concatenate([scores[:, 0], scores[:, 1]]),
    )
    margin = scores[:, 0] - scores[:, 1]
    chosen = np.where(answers.choice == TIE, np.nan, np.where(answers.choice == 0, 1.0, -1.0))
    decided = ~np.isnan(margin * chosen)
    follows = general_proportion((margin * chosen > 0)[decided], study.shared.answers.take(decided))
    icc = rated.intraclass()
    people: Json = {
        "n": int((~np.isnan(margin)).sum()),
        "chosen_higher": cell(follows, "value", "count"),
        "equal": int((margin == 0).sum()),
        "alpha": _alpha(study, tallies(rated.target, rated.score, 2 * n, scale), "interval", scale),
        "icc_raters": icc.n_raters,
        "icc_targets": icc.n_items,
    }
    put(people, "mean", number(_mean(rated.score)))
    put(people, "icc", number(icc.single), icc.reason)
    put(people, "icc_mean", number(icc.mean), icc.reason)
    of_people = means(rated.target, rated.score, 2 * n)
    judges = []
    for run in study.data.runs:
        rows = given.runs.get(run.run)
        if rows is not None and not np.isnan(rows.scores).all():
            judges.append(
                identity(run)
                | _judge_scores(study, run.setting, rows, run.judgments.item, of_people, given)
            )
    for each, p in zip(judges, holm([each["level"]["p"] for each in judges]), strict=True):
        put(each["level"], "p_holm", number(p), each["level"].get("p_reason"))
    return {"scale": given.scale, "people": people, "judges": judges}


def _judge_scores(
    study: ReportedStudy,
    setting: str,
    rows: GradeRows,
    item: Ints,
    of_people: FloatArray,
    given: GradedAnswers,
) -> Json:
    """A judge's scores next to the mean scores of people, by response and as margins."""
    n, scale = len(study.data.items), given.scale
    highest = int(setting.rpartition("-")[2])
    mine = np.concatenate(
        [means(item, rows.scores[:, side], n)[:, None] for side in (0, 1)], axis=1
    )
    theirs = of_people.reshape(n, 2)
    # A share of the way from the lowest to the highest score, so that scales can be compared.
    apart = (mine - 1) / (highest - 1) - (theirs - 1) / (scale - 1)
    level = general_difference(apart.mean(axis=1), study.shared.items)
    own, people = (each[:, 0] - each[:, 1] for each in (mine, theirs))
    out: Json = {"n": _n_both(own, people), "highest": highest}
    put(out, "mean", number(_mean(mine.ravel())))
    kappa = graded_kappa(mine.ravel(), of_people, np.arange(1.0, scale + 1))
    if highest == scale:
        put(out, "kappa", number(kappa.value), kappa.reason)
    else:
        put(out, "kappa", None, "other_scale")
    out["margin"] = estimate(general_spearman(own, people, study.shared.items))
    out["level"] = tested(level)
    return out


def _mean(values: FloatArray) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None


def _criteria(study: ReportedStudy, given: GradedAnswers) -> Json:
    answers, n = study.data.answers, len(study.data.items)
    people, majority = [], []
    for place, name in enumerate(given.criteria):
        codes = given.people.criteria[:, place].astype(np.int64)
        values = np.where(codes >= 0, codes.astype(np.float64), np.nan)
        counts = tallies(answers.item, values, n, np.arange(3.0))
        majority.append(_most(counts))
        own = (codes >= 0) & (codes != TIE) & (answers.choice != TIE)
        share = general_proportion(
            codes[own] == answers.choice[own], study.shared.answers.take(own)
        )
        entry: Json = {"criterion": name, "n": int((codes >= 0).sum())}
        put(entry, "equal", number(_mean(np.where(codes >= 0, codes == TIE, np.nan))))
        entry |= {"own": cell(share, "value", "count")}
        entry["alpha"] = _alpha(study, counts, "nominal", np.arange(3.0))
        people.append(entry)
    judges = []
    for run in study.data.runs:
        rows = given.runs.get(run.run)
        if rows is None or (rows.criteria < 0).all():
            continue
        found = []
        for place, name in enumerate(given.criteria):
            codes = rows.criteria[:, place].astype(np.float64)
            values = np.where(codes >= 0, codes, np.nan)
            verdict = _most(tallies(run.judgments.item, values, n, np.arange(3.0)))
            both = (verdict >= 0) & (majority[place] >= 0)
            share = general_proportion(
                verdict[both] == majority[place][both], study.shared.items.take(both)
            )
            found.append({"criterion": name, "people": cell(share, "value", "count")})
        judges.append(identity(run) | {"by_criterion": found})
    return {"people": people, "judges": judges}


def _most(counts: Ints) -> Ints:
    """The most frequent verdict; -1 if there is none, or if several are."""
    top = counts.max(axis=1)
    is_clear = (top > 0) & ((counts == top[:, None]).sum(axis=1) == 1)
    return np.where(is_clear, counts.argmax(axis=1), MISSING)


def strength_table(report: ReportJson) -> Table:
    people = report["graded"]["strength"]["people"]
    return table_of_entries(
        "graded_strength",
        "Accuracy of people by the strength of their preference",
        [(name.capitalize(), people[name]) for name in _NAMES],
        [
            ("Answers", "count", "answers"),
            ("Scored", "count", "n", "Right"),
            ("Share", "percent", "accuracy", "Right"),
            ("95 % interval", "percent_range", "ci", "Right"),
        ],
        f"A tie has no strength: {people['ties']:,} answers. Intervals hold for items, people, "
        "personas and questions in general.",
        first="Strength",
    )


def grades_table(report: ReportJson) -> Table:
    """Agreement among people, by level of measurement."""
    return table_of_entries(
        "graded_agreement",
        "Agreement of people on what they gave next to their choices",
        list(_agreements(report["graded"])),
        [
            ("Level", "text", "level"),
            ("Answers", "count", "n"),
            ("Value", "decimal", "alpha.value", "Krippendorff’s alpha"),
            ("95 % interval", "range", "alpha.ci", "Krippendorff’s alpha"),
            ("One person", "decimal", "icc", "ICC"),
            ("Mean of all", "decimal", "icc_mean", "ICC"),
        ],
        "Strength runs from strongly response 2 to strongly response 1, with ties in the middle. "
        "Intervals of alpha resample items and hold for these people. ICC(2,1) and ICC(2,k) need "
        "responses that the same people all scored.",
        first="What",
    )


def _agreements(found: ReportJson) -> Iterator[tuple[str, Json]]:
    none = {"icc": None, "icc_mean": None}
    if "strength" in found:
        yield (
            "Strength of the preference",
            none | {"level": "ordinal"} | dict(found["strength"]["people"]),
        )
    if "scores" in found:
        words = f"Scores, 1 to {found['scores']['scale']}"
        yield words, {"level": "interval"} | dict(found["scores"]["people"])
    for each in found["criteria"]["people"] if "criteria" in found else ():
        yield f"Criterion: {each['criterion']}", none | {"level": "nominal"} | dict(each)


def _judged(found: ReportJson) -> Iterator[tuple[str, Json]]:
    """Every judge that graded, with what it has in common with people."""
    nothing: Json = {
        "kappa": None,
        "rank": {"value": None, "ci": None},
        "level": {"value": None, "ci": None, "p_holm": None},
    }
    for each in found["strength"]["judges"] if "strength" in found else ():
        yield f"{run_name(each, found['strength']['judges'])}: strength", nothing | dict(each)
    for each in found["scores"]["judges"] if "scores" in found else ():
        own = {"rank": each["margin"], "level": each["level"]}
        yield f"{run_name(each, found['scores']['judges'])}: scores", dict(each) | own


def judges_table(report: ReportJson) -> Table:
    return table_of_entries(
        "graded_judges",
        "Grades of judges next to those of people",
        list(_judged(report["graded"])),
        [
            ("Items", "count", "n"),
            ("Weighted kappa", "decimal", "kappa"),
            ("Value", "decimal", "rank.value", "Rank correlation"),
            ("95 % interval", "range", "rank.ci", "Rank correlation"),
            ("Points", "points", "level.value", "Judge minus people"),
            ("95 % interval", "points_range", "level.ci", "Judge minus people"),
            ("Holm p", "p", "level.p_holm", "Judge minus people"),
        ],
        "Kappa has quadratic weights and compares means, rounded to the scale, so it needs one "
        "scale. The rank correlation is of preferences from −3 to 3, or of the score of response 1 "
        "minus that of response 2. Judge minus people: mean scores, in hundredths of the way from "
        "the lowest to the highest score. Intervals hold for items, people, personas and "
        "questions in general.",
        first="Judge",
    )


def criteria_table(report: ReportJson) -> Table:
    found = report["graded"]["criteria"]
    rows: list[tuple[str, Json]] = [
        (f"People, own choice: {each['criterion']}", {"equal": each["equal"], "share": each["own"]})
        for each in found["people"]
    ]
    for judge in found["judges"]:
        name = run_name(judge, found["judges"])
        rows += [
            (
                f"{name}, people’s majority: {each['criterion']}",
                {"equal": None, "share": each["people"]},
            )
            for each in judge["by_criterion"]
        ]
    return table_of_entries(
        "graded_criteria",
        "Verdicts by criterion",
        rows,
        [
            ("No difference", "percent", "equal"),
            ("n", "count", "share.n", "Same verdict"),
            ("Share", "percent", "share.value", "Same verdict"),
            ("95 % interval", "percent_range", "share.ci", "Same verdict"),
        ],
        "People: how often a verdict by the criterion is the same person’s choice as a whole, if "
        "both name a response (n: answers). Judges: how often their verdict is that of people’s "
        "majority by the same criterion (n: items).",
        first="Who, next to what",
    )


class GradedSection(Section):
    """Strength of preferences, scores, verdicts by criterion, and reasons."""

    name = "graded"
    title = "More than a choice"
    inside = "Strength, scores, criteria and reasons"
    has_claims = True
    keys = """
        # More than a choice
        graded | object | What people gave next to their choices.
        graded.answers | count | Answers that count.
        graded.strength | object | How strong people's and judges' preferences are.
        strength.people | object | Strengths of people.
        strength.people.n | count | Answers with a strength, or a tie.
        strength.people.ties | count | Ties, which have no strength.
        slightly | object | Answers with a slight preference, and how many are right.
        clearly | object | Answers with a clear preference, and how many are right.
        strongly | object | Answers with a strong preference, and how many are right.
        strength.people.slightly.answers | count | Answers with this strength.
        strength.people.clearly.answers | count | Answers with this strength.
        strength.people.strongly.answers | count | Answers with this strength.
        graded.alpha | object | Krippendorff's alpha, by the level of measurement.
        strength.people.certainty | object | Rank correlation of strength and certainty.
        strength.people.right | object | Rank correlation of strength and a right answer.
        strength.judges | list | Strengths of judges, next to those of people.
        graded.kappa | number | Kappa with quadratic weights of judge and people.
        graded.rank | object | Rank correlation of the judge's preferences and people's.
        graded.scores | object | Scores of responses.
        scores.scale | count | The highest score of people.
        scores.people | object | Scores of people.
        scores.people.n | count | Answers with scores.
        chosen_higher | object | Answers whose choice has the higher score.
        scores.people.equal | count | Answers with the same score for both responses.
        scores.people.mean | number | Mean score.
        icc | number | ICC(2,1) of one person.
        icc_mean | number | ICC(2,k) of the mean of all people.
        icc_raters | count | People who scored everything that the ICC uses.
        icc_targets | count | Responses that all of them scored.
        scores.judges | list | Scores of judges, next to those of people.
        highest | count | The highest score that the judge could give.
        scores.judges.mean | number | Mean score of the judge.
        scores.judges.margin | object | Rank correlation of differences of the two scores.
        scores.judges.level | object | Judge's scores minus people's, as a share of the scale.
        graded.criteria | object | Verdicts by criterion.
        criteria.people | list | Verdicts of people by criterion.
        graded.criterion | text | Name of the criterion.
        criteria.people.n | count | Verdicts by this criterion.
        criteria.people.equal | share | Share of verdicts of no difference.
        criteria.people.own | object | Verdicts that are the same person's choice as a whole.
        criteria.judges | list | Verdicts of judges by criterion.
        by_criterion | list | One entry for each criterion.
        by_criterion.people | object | Items with the verdict of people's majority.
        graded.count | count | Answers or items for which the statement holds.
        graded.reasons | count | Answers with a reason.
    """

    def is_needed(self, report: ReportJson) -> bool:
        return "graded" in report

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return graded(study)

    def claims(self, report: ReportJson) -> Mapping[str, Sequence[float | None]]:
        found, claims = report.get("graded", {}), {}
        if "strength" in found:
            people = found["strength"]["people"]
            claims = {CERTAIN: [people["certainty"]["p"]], RIGHT: [people["right"]["p"]]}
        if "scores" in found:
            claims[LEVEL] = [each["level"]["p_holm"] for each in found["scores"]["judges"]]
        return claims

    def tables(self, report: ReportJson) -> Iterator[Table]:
        found = report.get("graded", {})
        if found:
            yield grades_table(report)
        if "strength" in found:
            yield strength_table(report)
        if list(_judged(found)):
            yield judges_table(report)
        if "criteria" in found:
            yield criteria_table(report)

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        found = report.get("graded", {})
        for words in (
            *(_of_strength(report) if "strength" in found else ()),
            *(_of_scores(report) if "scores" in found else ()),
        ):
            yield Sentence.of("finding", words)
        if "reasons" in found:
            n, answers = found["reasons"], found["answers"]
            words = f"People gave a reason for {n:,} of {answers:,} answers."
            yield Sentence.of("finding", words)


def _of_strength(report: ReportJson) -> Iterator[str]:
    people = report["graded"]["strength"]["people"]
    for name, kind, rises, falls, other in (
        ("certainty", CERTAIN, "state a higher certainty", "state a lower certainty", "certainty"),
        ("right", RIGHT, "are right more often", "are right less often", "being right"),
    ):
        rank = people[name]
        if rank["value"] is None:
            continue
        ends = f" (95 % CI {decimal_range(rank['ci'], 2)})" if rank["ci"] else ""
        size = f"rank correlation {decimal(rank['value'], 2)}{ends}, within people"
        if holds(rank, level_of(report, kind), "p"):
            way = rises if rank["value"] > 0 else falls
            yield f"People {way} where their preference is stronger: {size}."
        else:
            yield f"Strength of people’s preferences and {other}: {size}."


def _of_scores(report: ReportJson) -> Iterator[str]:
    scores = report["graded"]["scores"]
    higher = scores["people"]["chosen_higher"]
    if higher["value"] is not None:
        yield (
            f"People gave their choice the higher score in {percent(higher['value'])} of "
            f"{higher['n']:,} answers, and both responses the same in "
            f"{scores['people']['equal']:,}."
        )
    for each in scores["judges"]:
        level = each["level"]
        if level["ci"] is None:
            continue
        name = run_name(each, scores["judges"])
        size = f"{points(level['value'])} points of its scale ({points_range(level['ci'])})"
        if holds(level, level_of(report, LEVEL), "p_holm"):
            way = "higher" if level["value"] > 0 else "lower"
            yield f"{name} gives {way} scores than people: {size}."
        else:
            yield f"Scores of {name} minus those of people: {size}."


CHAPTER = GradedSection()
