"""Who follows each rule of a search, and how many choices all of its rules reconstruct."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.data.arrays import TIE
from analysis.data.verdicts import Ints
from analysis.report.report_json import Json, cell, put, put_interval
from analysis.report.study import ReportedStudy, identity
from analysis.stats.accuracy.general_accuracy import general_proportion
from analysis.stats.core.multiplicity import holm
from analysis.stats.core.results import BoolArray, FloatArray
from analysis.stats.core.shared_variance import Sharing
from extras.rules.halves import place_of
from extras.rules.marks import SearchedRules
from extras.rules.stats import RuleFollowing, follow_rules, reconstructed_choices
from extras.rules.stats.reconstruction import FOLDS

# Groups of people with fewer members or answers are not reconstructed.
FEWEST_MEMBERS, FEWEST_ANSWERS, MOST_GROUPS = 8, 100, 12


def count_rules(study: ReportedStudy, rules: SearchedRules) -> Json:
    """The entry of one run; empty if reports do not show the run."""
    runs = study.data.runs
    place = next((n for n, run in enumerate(runs) if run.run == rules.run), None)
    if place is None:
        return {}
    rows, sharing = shared_by_answers(study, rules.item)
    votes, judge = study.votes, study.judges[place].answer
    favoured = np.full((len(rules.rules), len(study.data.items)), -1, dtype=np.int8)
    favoured[:, rules.item] = rules.favoured
    sides = follow_rules(favoured, votes.item[rows], votes.choice[rows], judge, sharing)
    weights = [weight for *_, weight in rules.rules]
    adjusted = holm([side.p for side in sides], weights)
    out: Json = identity(runs[place])
    out |= {"proposed_by": rules.judge, "searches": rules.searches, "items": rules.item.size}
    out["rules"] = [
        _rule(text, source, weight, following, p)
        for (text, source, weight), following, p in zip(rules.rules, sides, adjusted, strict=True)
    ]
    out["reconstructed"] = list(_reconstructed(study, rules, judge))
    return out


def shared_by_answers(study: ReportedStudy, items: Ints) -> tuple[Ints, Sharing]:
    """The rows of people's answers to these items, and what they share."""
    chosen = np.zeros(len(study.data.items), dtype=np.bool_)
    chosen[items] = True
    rows = np.flatnonzero(chosen[study.votes.item])
    return rows, study.shared.answers.take(rows)


def _rule(
    text: str, source: str, weight: float, rule_following: RuleFollowing, p_holm: float | None
) -> Json:
    out: Json = {
        "text": text,
        "source": source,
        "weight": weight,
        "support": rule_following.support,
    }
    for name in ("people", "judge", "difference"):
        put(out, name, getattr(rule_following, name), "empty_group")
    put_interval(out, "ci", rule_following.interval, rule_following.reason)
    put(out, "p", rule_following.p, rule_following.reason)
    put(out, "p_holm", p_holm, rule_following.reason)
    return out | {"differ": rule_following.differ, "with_people": rule_following.with_people}


def _reconstructed(study: ReportedStudy, searched: SearchedRules, judge: Ints) -> Iterator[Json]:
    """Held-out choices of people, of the judge and of groups of people that the rules predict."""
    known = searched.item[searched.is_known]
    favoured = searched.favoured[:, searched.is_known].T
    signs = (favoured == 0).astype(np.float64) - (favoured == 1)
    if not known.size:
        return
    rules = _RulesByFold(known, signs, _folds(study, known))
    votes, sharing = study.votes, study.shared
    binary = np.isin(votes.item, known) & (votes.choice != TIE)
    decided = known[(judge[known] >= 0) & (judge[known] != TIE)]
    for name, rows in (("people", binary), *_groups(study, binary)):
        within = sharing.answers.take(rows)
        yield _side(name, votes.item[rows], votes.choice[rows], within, rules)
        if name == "people":
            yield _side("judge", decided, judge[decided], sharing.judged.take(decided), rules)


@dataclass(frozen=True, eq=False)
class _RulesByFold:
    """What rules favour on each of the items `known`, and the items' folds."""

    known: Ints
    signs: FloatArray
    fold: Ints


def _side(who: str, item: Ints, choice: Ints, sharing: Sharing, rules: _RulesByFold) -> Json:
    """One side's choices of responses 0 and 1, on items with known rules."""
    at = np.searchsorted(rules.known, item)
    n = np.bincount(at, minlength=rules.known.size)
    first = np.bincount(at[choice == 0], minlength=rules.known.size)
    guess = reconstructed_choices(rules.signs, first / np.maximum(n, 1), n, rules.fold)[at]
    right = np.where(guess == 0.5, 0.5, (guess == 1) == (choice == 0))
    return {"who": who, "decided": int((guess != 0.5).sum())} | cell(
        general_proportion(right, sharing), "value", "right"
    )


def _folds(study: ReportedStudy, items: Ints) -> Ints:
    """A fold for each item, the same for all items of a persona."""
    keys = [study.data.items[n].persona or study.data.items[n].key for n in items]
    order = {key: n % FOLDS for n, key in enumerate(sorted(set(keys), key=place_of))}
    return np.array([order[key] for key in keys], dtype=np.int64)


def _groups(study: ReportedStudy, among: BoolArray) -> Iterator[tuple[str, BoolArray]]:
    """Groups of people with enough members and answers, the largest first."""
    votes, groups = study.votes, study.data.rater_groups
    ranked = list[tuple[int, str, BoolArray]]()
    for label in sorted({key for group in groups for key in group}):
        values: Sequence[str] = [group.get(label, "") for group in groups]
        for value in sorted({*values} - {""}):
            members = np.array([own == value for own in values], dtype=np.bool_)
            rows = among & members[votes.annotator]
            people = np.unique(votes.annotator[rows]).size
            if people >= FEWEST_MEMBERS and rows.sum() >= FEWEST_ANSWERS:
                ranked.append((-int(rows.sum()), f"{label}: {value}", rows))
    ranked.sort(key=lambda group: group[:2])
    yield from ((name, rows) for _, name, rows in ranked[:MOST_GROUPS])
