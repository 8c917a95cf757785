"""What people and judges gave next to their choices, as numbers of report.json."""

from typing import Any

import numpy as np

from analysis.data.arrays import MISSING, TIE
from analysis.data.verdicts import Ints
from analysis.report.report_json import Json, cell, estimate, pick, put, tested
from analysis.report.study import ReportedStudy, identity, put_holm
from analysis.stats.accuracy.general_accuracy import general_proportion
from analysis.stats.agreement.alpha import krippendorff_alpha
from analysis.stats.certainty.human_llm import general_spearman
from analysis.stats.comparison.level_shift import level_shift
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
from extras.graded.models import ScoreScale
from extras.graded.strong_and_slight import by_strength, predicting_one
from judging.protocols.registry import protocol

STRENGTHS = ("slightly", "clearly", "strongly")
_STEPS = np.arange(-3.0, 4.0)
_BETWEEN = 1.5  # wrong, 1, and right, 2


def graded(study: ReportedStudy) -> Json:
    """The entry of report.json; empty for a study whose people only choose."""
    graded_answers = study.data.of(GradedAnswers)
    if graded_answers is None:
        return {}
    out: Json = {
        "answers": len(study.data.answers),
        "strength": _strength(study, graded_answers) if graded_answers.asked_strength else None,
        "scores": _scores(study, graded_answers) if graded_answers.scale else None,
        "criteria": _criteria(study, graded_answers) if graded_answers.criteria else None,
        "reasons": int(graded_answers.people.has_reason.sum())
        if graded_answers.asked_reason
        else None,
        "one": predicting_one(study),
    }
    return {"graded": {name: value for name, value in out.items() if value is not None}}


def _strength(study: ReportedStudy, graded_answers: GradedAnswers) -> Json:
    answers, people, n = study.data.answers, graded_answers.people, len(study.data.items)
    choice = answers.choice.astype(np.int64)
    mine = signed(choice, people.strength)
    sharing = study.shared.answers
    right = study.correct_alone
    entry: Json = {"n": int((~np.isnan(mine)).sum()), "ties": int((mine == 0).sum())}
    for step, name in enumerate(STRENGTHS, start=1):
        rows = people.strength == step
        scored = rows & (right >= 0)
        share = general_proportion(right[scored] == 1, sharing.take(scored))
        entry[name] = {"answers": int(rows.sum())} | cell(share)
    counts = tallies(answers.item, mine, n, _STEPS)
    entry["alpha"] = _alpha(study, counts, "ordinal", _STEPS)
    was_right = np.where(right >= 0, right.astype(np.float64), np.nan)
    for name, other in (("certainty", answers.certainty), ("right", was_right)):
        n_both = _n_both(people.strength, other)
        rank = within_people(people.strength, other, answers.rater, sharing)
        entry[name] = {"n": n_both} | tested(rank)
    of_people = means(answers.item, mine, n)
    judges = []
    for run in study.data.runs:
        rows = graded_answers.runs.get(run.run)
        if rows is None or np.isnan(rows.strength).all():
            continue
        own = signed(run.judgments.choice.astype(np.int64), rows.strength)
        of_judge = means(run.judgments.item, own, n)
        shared: Json = {"n": _n_both(of_people, of_judge)}
        kappa = graded_kappa(of_people, of_judge, _STEPS)
        put(shared, "kappa", kappa.value, kappa.reason)
        shared["rank"] = estimate(general_spearman(of_people, of_judge, study.shared.items))
        judges.append(identity(run) | shared)
    return {"people": entry, "judges": judges, "by_strength": by_strength(study, graded_answers)}


def _alpha(study: ReportedStudy, counts: Ints, metric: Any, values: FloatArray) -> Json:
    return estimate(
        krippendorff_alpha(
            counts, metric=metric, values=values, n_draws=study.draws, rng=study.rng()
        )
    )


def _n_both(one: FloatArray, other: FloatArray) -> int:
    return int((~np.isnan(one) & ~np.isnan(other)).sum())


def _scores(study: ReportedStudy, graded_answers: GradedAnswers) -> Json:
    answers, scores, n = study.data.answers, graded_answers.people.scores, len(study.data.items)
    scale = np.arange(1.0, graded_answers.scale + 1)
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
    put(people, "mean", _mean(rated.score))
    people |= pick(icc, {"icc": "single", "icc_mean": "mean"})
    of_people = means(rated.target, rated.score, 2 * n)
    judges = []
    for run in study.data.runs:
        rows = graded_answers.runs.get(run.run)
        highest = protocol(run.setting).highest
        if rows is not None and highest and not np.isnan(rows.scores).all():
            judges.append(
                identity(run)
                | _judge_scores(study, highest, rows, run.judgments.item, of_people, graded_answers)
            )
    put_holm([judge["level"] for judge in judges])
    return {"scale": graded_answers.scale, "people": people, "judges": judges}


def _judge_scores(
    study: ReportedStudy,
    highest: int,
    rows: GradeRows,
    item: Ints,
    of_people: FloatArray,
    graded_answers: GradedAnswers,
) -> Json:
    """A judge's scores next to the mean scores of people, by response and as margins."""
    n, scale = len(study.data.items), graded_answers.scale
    mine = np.concatenate(
        [means(item, rows.scores[:, side], n)[:, None] for side in (0, 1)], axis=1
    )
    theirs = of_people.reshape(n, 2)
    answers = study.data.answers
    # A share of the way from the lowest to the highest score, so that scales can be compared.
    level = level_shift(
        ((mine - 1) / (highest - 1)).mean(axis=1),
        answers.item,
        answers.rater,
        ((graded_answers.people.scores - 1) / (scale - 1)).mean(axis=1),
        study.shared.items,
    )
    own, people = (scores[:, 0] - scores[:, 1] for scores in (mine, theirs))
    out: Json = {"n": _n_both(own, people), "highest": highest}
    put(out, "mean", _mean(mine.ravel()))
    if highest == scale:
        kappa = graded_kappa(mine.ravel(), of_people, np.arange(1.0, scale + 1))
        put(out, "kappa", kappa.value, kappa.reason)
    else:
        put(out, "kappa", None, "other_scale")
    out["margin"] = estimate(general_spearman(own, people, study.shared.items))
    out["level"] = {"n": level.n} | tested(level)
    if highest == scale == ScoreScale.RIGHT:
        out["right"] = _right_or_wrong(study, mine.ravel(), of_people)
    return out


def _right_or_wrong(study: ReportedStudy, mine: FloatArray, of_people: FloatArray) -> Json:
    """How a judge's verdicts on single responses agree with those of most people.

    A response counts if both have a verdict; a mean in the middle of wrong and right is none.
    """
    both = ~np.isnan(mine) & ~np.isnan(of_people) & (mine != _BETWEEN) & (of_people != _BETWEEN)
    says_right, is_right = mine[both] > _BETWEEN, of_people[both] > _BETWEEN
    # Both responses of an item share its persona and question, and each other.
    sharing = study.shared.items.take(np.arange(both.size)[both] // 2)

    def share(holds: Any, among: Any) -> Json:
        return cell(general_proportion(holds[among], sharing.take(among)), "value", "count")

    every = np.ones(is_right.size, dtype=np.bool_)
    entry: Json = {"right": int(is_right.sum()), "said_right": int(says_right.sum())}
    entry["same"] = share(says_right == is_right, every)
    entry["recall"], entry["precision"] = share(says_right, is_right), share(is_right, says_right)
    kappa = graded_kappa(mine[both], of_people[both], np.array([1.0, 2.0]))
    put(entry, "kappa", kappa.value, kappa.reason)
    return entry


def _mean(values: FloatArray) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None


def _criteria(study: ReportedStudy, graded_answers: GradedAnswers) -> Json:
    answers, n = study.data.answers, len(study.data.items)
    people, majority = [], []
    for place, name in enumerate(graded_answers.criteria):
        codes = graded_answers.people.criteria[:, place].astype(np.int64)
        values = np.where(codes >= 0, codes.astype(np.float64), np.nan)
        counts = tallies(answers.item, values, n, np.arange(3.0))
        majority.append(_most(counts))
        own = (codes >= 0) & (codes != TIE) & (answers.choice != TIE)
        share = general_proportion(
            codes[own] == answers.choice[own], study.shared.answers.take(own)
        )
        entry: Json = {"criterion": name, "n": int((codes >= 0).sum())}
        put(entry, "equal", _mean(np.where(codes >= 0, codes == TIE, np.nan)))
        entry |= {"own": cell(share, "value", "count")}
        entry["alpha"] = _alpha(study, counts, "nominal", np.arange(3.0))
        people.append(entry)
    judges = []
    for run in study.data.runs:
        rows = graded_answers.runs.get(run.run)
        if rows is None or (rows.criteria < 0).all():
            continue
        by_criterion = []
        for place, name in enumerate(graded_answers.criteria):
            codes = rows.criteria[:, place].astype(np.float64)
            values = np.where(codes >= 0, codes, np.nan)
            verdict = _most(tallies(run.judgments.item, values, n, np.arange(3.0)))
            both = (verdict >= 0) & (majority[place] >= 0)
            share = general_proportion(
                verdict[both] == majority[place][both], study.shared.items.take(both)
            )
            by_criterion.append({"criterion": name, "people": cell(share, "value", "count")})
        judges.append(identity(run) | {"by_criterion": by_criterion})
    return {"people": people, "judges": judges}


def _most(counts: Ints) -> Ints:
    """The most frequent verdict; -1 if there is none, or if several are."""
    top = counts.max(axis=1)
    is_clear = (top > 0) & ((counts == top[:, None]).sum(axis=1) == 1)
    return np.where(is_clear, counts.argmax(axis=1), MISSING)
