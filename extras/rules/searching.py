"""The work of a search: halves, proposals, marks, and the count of who follows which rule."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from django.db import transaction

from analysis.data.arrays import TIE
from analysis.data.dataset import load_dataset
from analysis.data.item_comparisons import fingerprint_of
from analysis.data.item_texts import items_by_id
from analysis.data.verdicts import Ints
from analysis.report.study import ReportedStudy
from extras.rules.counting import count_rules
from extras.rules.features import MEASURED, MeasuredText, long_words
from extras.rules.halves import halves_of
from extras.rules.marks import searched
from extras.rules.models import (
    FIND,
    TEST,
    FoundRule,
    MarkedItem,
    RuleRequest,
    RuleSearch,
    RuleSource,
)
from extras.rules.prompts import (
    AT_ONCE,
    MOST_REQUESTS,
    MOST_RULES,
    applications,
    messages_to_apply,
    messages_to_propose,
    place_of,
    proposals,
)
from extras.rules.requests import cases_of, first_shown
from extras.rules.stats.following import PROPOSED_WEIGHT
from judging.engine.messages import Messages
from judging.errors import JudgingError
from judging.models import JudgeRun
from judging.worker.job_requests import ask_waiting
from studies.errors import StudyError
from studies.jobs.runner import JobProblem, JobProgress, carry_out
from studies.models import Item
from studies.statements.bulk import insert_rows

T = TypeVar("T")
DRAWS = 1000  # of parts of a report that resample; counting rules does not
_AT_ONCE = 500  # items whose texts are in memory


@dataclass(frozen=True, eq=False)
class BothSides:
    """The items of a study that have texts, answers of people and a verdict of the run."""

    study: ReportedStudy
    run: int  # its position
    item: Ints  # ids of the rows in the database
    place: Ints  # positions in the study
    half: Ints

    @property
    def people(self) -> Ints:
        return self.study.people.answer[self.place]

    @property
    def judge(self) -> Ints:
        return self.study.judges[self.run].answer[self.place]

    def differ(self) -> Ints:
        """Places, among these items, of those in the first half where both chose differently."""
        one, two = self.people, self.judge
        apart = (one >= 0) & (two >= 0) & (one != two) & (one != TIE) & (two != TIE)
        return np.flatnonzero(apart & (self.half == FIND))


def both_sides(run: JudgeRun) -> BothSides:
    """Read a run and people. Raises `StudyError` if there is nothing to compare."""
    data = load_dataset(run.study.slug)
    study = ReportedStudy(data, data.study.certainty_threshold, run.study.seed, DRAWS)
    place = next((n for n, judged in enumerate(data.runs) if judged.run == run.key), None)
    if place is None:
        raise StudyError(
            "This run has no judgments yet, or is left out of reports. Choose another run."
        )
    ids = dict(Item.objects.filter(study=run.study_id).values_list("key", "pk"))
    answered = study.people.majority.n_votes > 0
    verdict = study.judges[place].answer >= 0
    known = [
        n for n, item in enumerate(data.items) if answered[n] and verdict[n] and all(item.lengths)
    ]
    if not known:
        raise StudyError(
            "No item has both an answer of people and a verdict of this run, so there is nothing "
            "to explain yet."
        )
    items = [data.items[n] for n in known]
    return BothSides(
        study,
        place,
        np.array([ids[item.key] for item in items], dtype=np.int64),
        np.array(known, dtype=np.int64),
        halves_of([item.key for item in items], [item.persona for item in items]),
    )


def run_search(*, search_id: int) -> RuleSearch:
    """Do what a queued search has not done yet, then count."""
    return carry_out(RuleSearch, search_id, _work, expected=(StudyError, JudgingError))


def _work(search: RuleSearch, progress: JobProgress) -> Mapping[str, Any]:
    fingerprint = fingerprint_of(search.study, [search.run])
    sides = both_sides(search.run)
    if not search.marked.exists():
        _split(search, sides)
    by_item = dict(search.marked.values_list("item", "half"))
    half = np.array([by_item.get(item, -1) for item in sides.item.tolist()], dtype=np.int64)
    sides = replace(sides, half=half)
    if not search.rules.exists():
        proposed = _propose(search, sides, progress) if search.judge_name else []
        _store_rules(search, proposed)
    asked = [rule.text for rule in search.rules.filter(source=RuleSource.PROPOSED)]
    if asked:
        _apply(search, asked, progress)
    if search.marked.filter(marks="").exists():
        _mark(search, asked, progress)
    progress(95, "Counting who follows each rule.")
    position = dict(zip(sides.item.tolist(), sides.place.tolist(), strict=True))
    results = count_rules(sides.study, searched(search, position))
    rules = results.get("rules", ())
    tested = sum(rule["p"] is not None for rule in rules)
    failed = search.requests.filter(state=RuleRequest.State.FAILED).count()
    without = f" {failed:,} requests without a usable reply." if failed else ""
    return {
        "results": results,
        "fingerprint": fingerprint,
        "message": f"{tested:,} of {len(rules):,} rules could be tested.{without}",
    }


@transaction.atomic
def _split(search: RuleSearch, sides: BothSides) -> None:
    """Store the half of each item, which later answers never change."""
    rows = zip(sides.item.tolist(), sides.half.tolist(), strict=True)
    insert_rows(MarkedItem, ("search", "item", "half"), [(search.pk, *row) for row in rows])


def _propose(search: RuleSearch, sides: BothSides, progress: JobProgress) -> list[str]:
    """The rules that the judge proposes about disagreements of the first half, most often first."""
    if not search.requests.filter(item=None).exists():
        apart = sorted(
            (int(sides.item[n]), int(sides.people[n]), int(sides.judge[n])) for n in sides.differ()
        )
        if not apart:
            raise JobProblem(
                "On the half of the items on which rules are found, people and judge never choose "
                "differently. Search with measured features only, or wait for more answers."
            )
        apart.sort(key=lambda row: place_of(str(row[0])))
        parts = _parts(apart[: AT_ONCE * MOST_REQUESTS], AT_ONCE)
        RuleRequest.objects.bulk_create(RuleRequest(job=search, items=part) for part in parts)
    ask_waiting(
        search,
        search.requests.filter(item=None),
        messages=_messages_to_propose,
        reply=proposals(),
        progress=lambda done, total: progress(
            20 * done // total, f"Asking for rules: {done:,} of {total:,}."
        ),
    )
    lists = list(search.requests.filter(item=None).order_by("pk").values_list("rules", flat=True))
    places = [(n, rule) for rules in lists for n, rule in enumerate(rules)]
    places.sort(key=lambda place: place[0])
    named = {rule.casefold(): rule for _, rule in reversed(places)}
    order = dict.fromkeys(rule.casefold() for _, rule in places)
    return [named[key] for key in order][:MOST_RULES]


def _messages_to_propose(request: RuleRequest) -> Messages:
    cases = cases_of([item for item, *_ in request.items])
    return messages_to_propose(
        [(cases[item], people, judge) for item, people, judge in request.items if item in cases]
    )


@transaction.atomic
def _store_rules(search: RuleSearch, proposed: Sequence[str]) -> None:
    """Store all rules, and what the judge is to read: they begin together or not at all."""
    measured = [(RuleSource.MEASURED, feature.name, feature.rule) for feature in MEASURED]
    rules = [*measured, *((RuleSource.PROPOSED, "", text) for text in proposed)]
    FoundRule.objects.bulk_create(
        FoundRule(
            search=search,
            number=number,
            source=source,
            name=name,
            text=text,
            weight=PROPOSED_WEIGHT if source == RuleSource.PROPOSED else 1.0,
        )
        for number, (source, name, text) in enumerate(rules, 1)
    )
    if proposed:
        tests = search.marked.filter(half=TEST).values_list("item", "item__key")
        chosen = sorted(tests, key=lambda row: place_of(row[1]))[: search.to_read]
        RuleRequest.objects.bulk_create(RuleRequest(job=search, item_id=item) for item, _ in chosen)


def _apply(search: RuleSearch, rules: Sequence[str], progress: JobProgress) -> None:
    ask_waiting(
        search,
        search.requests.exclude(item=None),
        messages=lambda request: messages_to_apply(
            cases_of([request.item_id])[request.item_id], rules
        ),
        reply=applications(len(rules)),
        progress=lambda done, total: progress(
            20 + 60 * done // total, f"Applying the rules: {done:,} of {total:,} items."
        ),
    )


def _mark(search: RuleSearch, asked: Sequence[str], progress: JobProgress) -> None:
    """Measure all items, and add what the judge said."""
    letters = {
        item: _by_response(item, letters)
        for item, letters in search.requests.exclude(item=None)
        .filter(state=RuleRequest.State.WRITTEN)
        .values_list("item", "letters")
    }
    unknown = "?" * len(asked)
    rows = list(search.marked.order_by("pk"))
    marked = list[tuple[int, int, int, str]]()
    for part in _parts(rows, _AT_ONCE):
        progress(80 + 10 * len(marked) // max(1, len(rows)), "Measuring the responses.")
        measured = dict(_measured(items_by_id([row.item_id for row in part])))
        marked += [
            (
                search.pk,
                row.item_id,
                row.half,
                measured[row.item_id] + letters.get(row.item_id, unknown),
            )
            for row in part
        ]
    with transaction.atomic():
        search.marked.all().delete()
        insert_rows(MarkedItem, ("search", "item", "half", "marks"), marked)


def _parts(rows: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (rows[start : start + size] for start in range(0, len(rows), size))


def _measured(items: Mapping[int, Item]) -> Iterator[tuple[int, str]]:
    """For each item, what every measured feature favours, as letters."""
    for pk, item in items.items():
        persona = item.persona
        words = [f"{fact.get('value', '')} {fact.get('text') or ''}" for fact in persona.features]
        shared = (long_words(" ".join([*words, persona.text])), long_words(item.question))
        one, two = (MeasuredText(item.response(side)["text"], *shared) for side in ("r1", "r2"))
        yield pk, "".join("12-"[feature.favours(one, two)] for feature in MEASURED)


def _by_response(item: int, letters: str) -> str:
    """The letters of a reply as those of stored responses."""
    a, b = "12" if first_shown(item) == 0 else "21"
    return letters.translate(str.maketrans("AB", a + b))
