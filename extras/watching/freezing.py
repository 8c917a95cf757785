"""Freeze a set of items with a judge's answers, and what that costs."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max

from analysis.errors import AnalysisError
from annotation.models import Annotation
from extras.watching.models import WatchedSet
from extras.watching.numbers import features, first_answers, people_numbers
from judging.models import JudgeRun
from judging.protocols.registry import protocol
from judging.runs.costs import usage_of
from judging.runs.records import judge_description, protocol_description, reported_versions
from judging.selectors import labels_of
from studies.models import Item, Study
from studies.money import format_cost
from studies.services.studies import lock_study, record

FEWEST, MOST, USUAL = 10, 1000, 200
MOST_AT_ONCE, USUAL_AT_ONCE = 5, 3
MOST_DAYS = 365


class CannotWatch(AnalysisError):
    """The set cannot be frozen or asked again; the message says why."""


@dataclass(frozen=True, kw_only=True)
class WatchWish:
    """What is to be frozen, and how often to look."""

    run: JudgeRun
    items: int = USUAL
    at_once: int = USUAL_AT_ONCE
    every_days: int = 0
    sends_mail: bool = False
    used_in: Study | None = None

    def check(self) -> None:
        """Raise `CannotWatch` if a number is out of range or the judge cannot be asked."""
        for name, value, least, most in (
            ("number of items", self.items, FEWEST, MOST),
            ("number of baseline rounds", self.at_once, 1, MOST_AT_ONCE),
            ("number of days between looks", self.every_days, 0, MOST_DAYS),
        ):
            if not least <= value <= most:
                raise CannotWatch(f"The {name} is {value}. Use {least} to {most:,}.")
        if self.run.is_imported:
            raise CannotWatch(
                f"The judgments of “{self.run.judge.name}” were imported, so it cannot be asked "
                "again. Choose a run whose judge this server can ask."
            )


@dataclass(frozen=True)
class WatchCost:
    """Questions of a baseline and of one look, with their price if it is known."""

    items: int
    at_once: int
    dollars: Decimal | None

    @property
    def sentence(self) -> str:
        first = self.items * self.at_once
        price, price_each = "", ""
        times = "once" if self.at_once == 1 else f"{self.at_once} times"
        if self.dollars is not None:
            price = f", about ${format_cost(float(self.dollars) * self.at_once)}"
            price_each = f", about ${format_cost(float(self.dollars))}"
        return (
            f"The baseline asks {first:,} questions ({self.items:,} items, {times})"
            f"{price}. Each look asks {self.items:,}{price_each}."
            + ("" if self.dollars is not None else " The price of this judge is unknown.")
        )


def watchable_runs(study: Study) -> list[tuple[JudgeRun, str]]:
    """The runs of a study whose judge can be asked again, with their names."""
    rows = study.judge_runs.filter(bias_probe="", probe_first=False)
    rows = rows.select_related("judge", "study", "wording").order_by("judge__name", "pk")
    runs = [run for run in rows if _can_be_asked(run)]
    labels = labels_of(runs)
    return [(run, labels[run.pk]) for run in runs]


def _can_be_asked(run: JudgeRun) -> bool:
    """Whether each question of a run can be asked again on its own."""
    return not (run.is_imported or run.discusses or protocol(run.setting).shares_requests)


def run_named(study: Study, judge: str, public_id: str = "") -> JudgeRun:
    """The run of a judge that can be asked again. Raises `CannotWatch`, which lists the runs."""
    runs = watchable_runs(study)
    named = [
        (run, label)
        for run, label in runs
        if run.judge.name == judge and (not public_id or run.public_id == public_id)
    ]
    if len(named) == 1:
        return named[0][0]
    if not named:
        known = ", ".join(sorted({run.judge.name for run, _ in runs})) or "none"
        raise CannotWatch(
            f"Study “{study.slug}” has no such run of “{judge}” that can be asked again. Judges: "
            f"{known}."
        )
    listed = "; ".join(f"{run.public_id} ({label})" for run, label in named)
    raise CannotWatch(f"“{judge}” has {len(named)} runs. Choose one with --run: {listed}.")


def cost_of(wish: WatchWish) -> WatchCost:
    """What the baseline and a look cost. Raises `CannotWatch`."""
    wish.check()
    items = len(_chosen(wish))
    usage = usage_of(wish.run)
    dollars = None if usage is None else usage.dollars(wish.run.judge, items, by_batch=False)
    return WatchCost(items, wish.at_once, dollars)


@transaction.atomic
def freeze(wish: WatchWish, *, user: User | None = None) -> WatchedSet:
    """Store a set; its baseline is asked by `begin_look`. Raises `CannotWatch`."""
    wish.check()
    study = lock_study(wish.run.study_id)
    answers = _chosen(wish)
    items = {
        item.pk: item
        for item in Item.objects.filter(pk__in=answers).select_related("study").order_by("key")
    }
    right = _right(study, items)
    frozen = [
        {
            "id": pk,
            "item": item.key,
            "hash": item.content_hash,
            "right": right.get(pk, ""),
            "shown_first": answers[pk].shown_first,
            "sample": answers[pk].sample,
            "choice": answers[pk].choice,
            "certainty": answers[pk].certainty,
        }
        for pk, item in items.items()
    ]
    people = people_numbers(frozen)
    last_own = Item.everything.filter(study=study).aggregate(last=Max("pk"))["last"]
    content = {
        "judge": judge_description(wish.run)
        | {"run": wish.run.key, "versions": reported_versions([wish.run])},
        "protocol": protocol_description(wish.run),
        "items": frozen,
        "features": _features(items, answers),
        "people": vars(people),
        "last_own": last_own,
        "last_item": 0 if wish.used_in else last_own,
    }
    watched = WatchedSet.objects.create(
        study=study,
        run=wish.run,
        used_in=wish.used_in,
        frozen=content,
        at_once=wish.at_once,
        every_days=wish.every_days,
        sends_mail=wish.sends_mail,
        requested_by=user,
    )
    record(
        study,
        "set frozen",
        user=user,
        watched=watched.public_id,
        run=wish.run.public_id,
        items=len(frozen),
    )
    return watched


def _chosen(wish: WatchWish) -> dict[int, Any]:
    """First answers to items drawn by a hash, so that nobody can choose them, by item id."""
    keys = dict(Item.objects.filter(study=wish.run.study_id).values_list("pk", "key"))
    answers = first_answers(wish.run, keys)
    if len(answers) < FEWEST:
        raise CannotWatch(
            f"This run has {len(answers)} items with an answer. A set needs at least {FEWEST}."
        )

    def rank(pk: int) -> bytes:
        return hashlib.sha256(f"watch|{wish.run.key}|{keys[pk]}".encode()).digest()

    return {pk: answers[pk] for pk in sorted(answers, key=rank)[: wish.items]}


def _right(study: Study, items: Mapping[int, Item]) -> dict[int, str]:
    """The persona's own answer to each item, or else that of most annotators."""
    votes: dict[int, Counter[str]] = defaultdict(Counter)
    for answered, choice in _choices(items):
        votes[answered][choice] += 1
    right = {}
    for pk, item in items.items():
        ranked = votes[pk].most_common(2)
        is_tied = len(ranked) == 2 and ranked[0][1] == ranked[1][1]
        majority = ranked[0][0] if ranked and not is_tied else ""
        right[pk] = item.first_person if item.first_person in ("r1", "r2") else majority
    return right


def _choices(items: Collection[int]) -> list[tuple[int, str]]:
    standings = (Annotation.Standing.COUNTED, Annotation.Standing.IMPORTED)
    rows = Annotation.objects.filter(assignment__item__in=list(items), standing__in=standings)
    return list(rows.values_list("assignment__item", "choice"))


def _features(items: Mapping[int, Item], answers: Mapping[int, Any]) -> Sequence[dict[str, Any]]:
    personas: set[int] = set()
    described = []
    for pk, item in items.items():
        counts = item.persona_id not in personas
        described.append(features(item, answers[pk].certainty, counts=counts))
        personas.add(item.persona_id)
    return described
