"""What remarks say about items, people and judges, as numbers of report.json."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from analysis.data.arrays import TIE
from analysis.data.verdicts import Ints
from analysis.report.report_json import Json, cell, put, tested
from analysis.report.study import ReportedStudy, identity, put_holm
from analysis.stats.accuracy.general_accuracy import general_proportion
from analysis.stats.comparison.general_difference import GeneralDifference, general_difference
from analysis.stats.core.results import FloatArray
from extras.remarks.rows import FLAGS, StudyRemarks

MOST_FLAGGED = 10  # items in the report; the export has all


def remarks(study: ReportedStudy) -> Json:
    """The entry of report.json; empty for a study without remarks."""
    held = study.data.of(StudyRemarks)
    if held is None:
        return {}
    out: Json = {"answers": len(study.data.answers)}
    if "flags" in held.asked:
        out["flags"] = _flags(study, held)
    if "either" in held.asked or _any(held, "either"):
        out["either"] = _either(study, held)
    if "others" in held.asked or _any(held, "others"):
        out["others"] = _others(study, held)
    return {"remarks": out}


def _any(held: StudyRemarks, name: str) -> bool:
    return any(not np.isnan(getattr(rows, name)).all() for rows in held.runs.values())


def _flags(study: ReportedStudy, held: StudyRemarks) -> Json:
    people = held.flags.sum(axis=1)
    order = sorted(np.flatnonzero(people >= 2), key=lambda item: (-people[item], item))
    return {
        "asked": held.n_asked,
        "answers": int(people.sum()),
        "items": int((people > 0).sum()),
        "by_two": len(order),
        "kinds": dict(zip(FLAGS, held.flags.sum(axis=0).tolist(), strict=True)),
        "most": [
            {
                "item": study.data.items[item].key,
                "people": int(people[item]),
                "kinds": {
                    flag: int(n) for flag, n in zip(FLAGS, held.flags[item], strict=True) if n
                },
            }
            for item in order[:MOST_FLAGGED]
        ],
    }


def sets_of(choice: Ints, either: FloatArray) -> Any:
    """Which responses each answer accepts, shape (n, 2); a tie accepts both."""
    both = (choice == TIE) | (either == 1)
    return np.stack([(choice == side) | both for side in (0, 1)], axis=1)


def in_pairs(item: Ints, sets: Any, choice: Ints, n_items: int) -> FloatArray:
    """Shares of pairs of answers to an item that meet, shape (items, 2); NaN without a pair.

    First by forced choice (a tie meets a tie), then by a response that both accept.
    """
    same, meet = (np.zeros(n_items) for _ in range(2))
    n = np.bincount(item, minlength=n_items).astype(float)
    for option in (0, 1, TIE):
        k = np.bincount(item[choice == option], minlength=n_items)
        same += k * (k - 1)
    pairs = n * (n - 1)
    # Two answers do not meet only if one accepts response 1 alone and the other response 2 alone.
    only = [np.bincount(item[sets[:, s] & ~sets[:, 1 - s]], minlength=n_items) for s in (0, 1)]
    meet = pairs - 2 * only[0] * only[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.stack([same / pairs, meet / pairs], axis=1)


def _either(study: ReportedStudy, held: StudyRemarks) -> Json:
    answers, n = study.data.answers, len(study.data.items)
    choice = answers.choice.astype(np.int64)
    either = held.people.either
    told = ~np.isnan(either)
    sets = sets_of(choice, either)
    truth = study.binary_truth
    people: Json = {
        "either": cell(
            general_proportion(either[told] == 1, study.shared.answers.take(told)), "value", "count"
        )
    }
    people |= _accuracies(choice, sets, truth[answers.item], told, study.shared.answers)
    shares = in_pairs(answers.item[told], sets[told], choice[told], n)
    people["pairs"] = {
        name: _counted(general_difference(shares[:, place], study.shared.items))
        for place, name in enumerate(("same", "meet"))
    }
    people["when_wrong"] = _counted(when_wrong(study, either))
    judges = []
    for run in study.data.runs:
        rows = held.runs.get(run.run)
        if rows is None or np.isnan(rows.either).all():
            continue
        own = run.judgments.choice.astype(np.int64)
        known = ~np.isnan(rows.either) & (own >= 0)
        accepted = sets_of(own, rows.either)
        sharing = study.shared.of_judgments(run.judgments.item)
        shares_of = general_proportion(rows.either[known] == 1, sharing.take(known))
        entry: Json = {"either": cell(shares_of, "value", "count")}
        entry |= _accuracies(own, accepted, truth[run.judgments.item], known, sharing)
        judges.append(identity(run) | entry)
    return {"people": people, "judges": judges}


def _counted(difference: GeneralDifference) -> Json:
    return {"n": difference.n} | tested(difference)


def _accuracies(choice: Ints, sets: Any, truth: Ints, told: Any, sharing: Any) -> Json:
    """How often the choice, and how often an accepted response, is the right answer."""
    scored = told & (truth >= 0)
    rows, right = np.flatnonzero(scored), truth[scored]
    within = sharing.take(scored)
    return {
        "right": cell(general_proportion(choice[scored] == right, within), "value", "count"),
        "accepted": cell(general_proportion(sets[rows, right], within), "value", "count"),
    }


def when_wrong(study: ReportedStudy, either: FloatArray) -> GeneralDifference:
    """How much more often wrong answers accept the other response than right ones to the item."""
    item, n = study.data.answers.item, len(study.data.items)
    gaps = difference_by_item(item, study.correct_alone, either, n)
    return general_difference(gaps, study.shared.items)


def difference_by_item(item: Ints, right: Ints, either: FloatArray, n: int) -> FloatArray:
    """The mean of an item's wrong answers minus that of its right ones; NaN without both."""
    means = []
    for score in (0, 1):
        rows = (right == score) & ~np.isnan(either)
        k = np.bincount(item[rows], minlength=n)
        total = np.bincount(item[rows], weights=either[rows], minlength=n)
        means.append(np.where(k > 0, total / np.maximum(k, 1), np.nan))
    return means[0] - means[1]


def _others(study: ReportedStudy, held: StudyRemarks) -> Json:
    answers, n = study.data.answers, len(study.data.items)
    choice, guess = answers.choice.astype(np.int64), held.people.others
    gap = above(answers.item, choice, guess, n)
    popular, majority = surprisingly_popular(answers.item, choice, guess, n)
    truth = study.binary_truth
    scores = [verdict_scores(verdict, truth) for verdict in (popular, majority)]
    both = ~np.isnan(scores[0]) & ~np.isnan(scores[1])
    people: Json = {
        "n": int((~np.isnan(guess)).sum()),
        "above": _counted(general_difference(gap, study.shared.items)),
        "popular_items": int(both.sum()),
        "popular": _counted(
            general_difference(np.where(both, scores[0] - scores[1], np.nan), study.shared.items)
        ),
    }
    put(people, "mean", _mean(guess))
    for name, score in zip(("popular_right", "majority_right"), scores, strict=True):
        put(people, name, _mean(score[both]))
    judges = list(_guessing(study, held, choice))
    put_holm([entry["above"] for entry in judges])
    return {"people": people, "judges": judges}


def _guessing(study: ReportedStudy, held: StudyRemarks, choice: Ints) -> Iterator[Json]:
    """Each judge that guessed, against what people chose."""
    answers, n = study.data.answers, len(study.data.items)
    counts = np.stack([np.bincount(answers.item[choice == s], minlength=n) for s in (0, 1, TIE)])
    total = counts.sum(axis=0)
    for run in study.data.runs:
        rows = held.runs.get(run.run)
        if rows is None or np.isnan(rows.others).all():
            continue
        item, own = run.judgments.item, run.judgments.choice.astype(np.int64)
        known = ~np.isnan(rows.others) & np.isin(own, (0, 1)) & (total[item] > 0)
        share = counts[np.clip(own, 0, 1), item] / np.maximum(total[item], 1)
        gap = np.where(known, rows.others - share, np.nan)
        k = np.bincount(item[known], minlength=n)
        by_item = np.bincount(item[known], weights=gap[known], minlength=n) / np.maximum(k, 1)
        entry: Json = {"n": int((k > 0).sum())}
        entry["above"] = _counted(
            general_difference(np.where(k > 0, by_item, np.nan), study.shared.items)
        )
        yield identity(run) | entry


def above(item: Ints, choice: Ints, guess: FloatArray, n_items: int) -> FloatArray:
    """Mean over an item's guesses of the guess minus the share of the others who chose the same.

    Shape (items,); NaN without a guess next to another answer.
    """
    n = np.bincount(item, minlength=n_items)[item] - 1
    same = np.zeros(item.size)
    for option in (0, 1, TIE):
        rows = choice == option
        same[rows] = np.bincount(item[rows], minlength=n_items)[item[rows]] - 1
    known = (n > 0) & ~np.isnan(guess)
    gaps = guess[known] - same[known] / n[known]
    k = np.bincount(item[known], minlength=n_items)
    total = np.bincount(item[known], weights=gaps, minlength=n_items)
    return np.where(k > 0, total / np.maximum(k, 1), np.nan)


def surprisingly_popular(
    item: Ints, choice: Ints, guess: FloatArray, n_items: int
) -> tuple[FloatArray, FloatArray]:
    """The share of response 1 in two verdicts on each item, shape (items,): 1, 0 or one half.

    The surprisingly popular response is the one that more people chose than people guessed
    (Prelec, Seung & McCoy, Nature 541, 2017); the other verdict is the majority of the same people.
    NaN without two people who chose a response and guessed.
    """
    rows = np.isin(choice, (0, 1)) & ~np.isnan(guess)
    who, first = item[rows], choice[rows] == 0
    n = np.bincount(who, minlength=n_items)
    share = np.bincount(who, weights=first, minlength=n_items) / np.maximum(n, 1)
    of_first = np.where(first, guess[rows], 1 - guess[rows])
    guessed = np.bincount(who, weights=of_first, minlength=n_items) / np.maximum(n, 1)
    verdicts = (
        (np.sign((share - than).round(9)) + 1) / 2 for than in (guessed, np.full(n_items, 0.5))
    )
    popular, majority = (np.where(n >= 2, verdict, np.nan) for verdict in verdicts)
    return popular, majority


def verdict_scores(verdict: FloatArray, truth: Ints) -> FloatArray:
    """1 where the verdict is right, 0 where wrong, one half where it is open."""
    right = np.where(truth == 0, verdict, 1 - verdict)
    return np.where(truth >= 0, right, np.nan)


def _mean(values: FloatArray) -> float | None:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else None
