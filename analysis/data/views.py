"""Views: what a report leaves out or reads otherwise, to answer somebody who asks.

A view is stored with its report as JSON, in which absent keys mean no change. `StudyThen` is the
study as it was at the moment that a view names. Pages import this, so it needs no arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from analysis.data.answer_rows import COUNTED
from analysis.errors import BadParameters
from annotation.models import (
    Annotation,
    AnnotationRevision,
    Annotator,
    AnnotatorEvent,
    StandingChange,
)
from annotation.models.annotators import TEST_WALK
from annotation.services.faulty_items import PUT_BACK, TAKEN_OUT
from judging.models import JudgeRun
from studies.models import Item, Study, StudyLog
from studies.services.settings import SETTINGS_CHANGED
from studies.statements import clock

TIES = {
    "exclude": "a tied vote is no answer",
    "certainty": "a tied vote goes to the more certain side",
}
MOST_NAMED = 2_000
_LISTS = ("without_people", "without_items", "without_runs", "topics")
_PAIRS = ("people", "personas")
_LONGEST = 200
# Events of the study's log about runs begin with this.
_OF_RUN = "judge run "


@dataclass(frozen=True)
class View:
    """What a report changes about the data of its study.

    `without_runs` names runs by their hash; `people` are answers about themselves and `personas`
    features, by key, of those who are kept. `as_of` is a moment in UTC: answers, exclusions, items
    and runs are as they were then.
    """

    name: str = ""
    as_of: str = ""
    without_people: Sequence[str] = ()
    without_items: Sequence[str] = ()
    without_runs: Sequence[str] = ()
    topics: Sequence[str] = ()
    people: Mapping[str, str] = field(default_factory=dict)
    personas: Mapping[str, str] = field(default_factory=dict)
    with_excluded: bool = False
    with_left_out: bool = False
    ties: str = "exclude"
    threshold: int | None = None

    @classmethod
    def of(cls, content: Any) -> View:
        """A view from JSON. Raises `BadParameters`."""
        if not isinstance(content, Mapping):
            raise BadParameters("A view is an object, such as {“without_items”: [“it-003”]}.")
        if unknown := sorted(content.keys() - cls.__dataclass_fields__.keys()):
            known = ", ".join(cls.__dataclass_fields__)
            raise BadParameters(f"A view has no “{unknown[0]}”. Use one of: {known}.")
        values: dict[str, Any] = dict(content)
        for name in (*_LISTS, *_PAIRS, "name", "as_of", "ties"):
            _check_texts(name, values.get(name, getattr(cls(), name)))
        view = cls(**values)
        if view.ties not in TIES:
            raise BadParameters(f"ties is “{view.ties}”. Use one of: {', '.join(TIES)}.")
        if view.threshold is not None and (
            type(view.threshold) is not int or not 1 <= view.threshold <= 100
        ):
            raise BadParameters(f"The threshold is {view.threshold}. Use a number from 1 to 100.")
        for name in ("with_excluded", "with_left_out"):
            if not isinstance(getattr(view, name), bool):
                raise BadParameters(f"{name} is neither true nor false.")
        if view.as_of and view.moment > clock.now():
            raise BadParameters(f"{view.as_of} is in the future. Use a moment that has passed.")
        return view

    @property
    def moment(self) -> datetime:
        """The moment of `as_of`. Raises `BadParameters`."""
        try:
            moment = datetime.fromisoformat(self.as_of)
        except ValueError:
            raise BadParameters(
                f"“{self.as_of}” is not a moment. Write it as 2026-11-27T14:30 (UTC)."
            ) from None
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    @property
    def content(self) -> dict[str, Any]:
        """The view as JSON, without what it does not change."""
        usual = asdict(View())
        changes = asdict(self)
        return {
            name: list(value) if name in _LISTS else value
            for name, value in changes.items()
            if value != usual[name] and value not in ((), [], {})
        }

    def changes(self, runs: Mapping[str, str]) -> list[str]:
        """What it changes, in words; empty for the study's own report.

        `runs` are the names of runs by their hash.
        """
        pairs = [("people", "people with"), ("personas", "items about personas with")]
        n = len(self.without_people)
        texts: list[str | bool] = [
            self.as_of and f"as of {self.moment:%Y-%m-%d %H:%M} UTC",
            self.with_excluded and "with the people whom the researchers excluded",
            self.with_left_out and "with the items that the researchers took out",
            # Never by name: shared copies show these words.
            f"without {n:,} of the people who count" if n else "",
            _without("without the item", "items", self.without_items),
            _without(
                "without the run", "runs", [runs.get(run, run[:12]) for run in self.without_runs]
            ),
            f"only items of: {', '.join(self.topics)}" if self.topics else "",
            *(
                f"only {words} {key}: {value}"
                for name, words in pairs
                for key, value in getattr(self, name).items()
            ),
            self.ties != "exclude" and TIES[self.ties],
            self.threshold is not None and f"high certainty from {self.threshold}",
        ]
        return [text for text in texts if isinstance(text, str) and text]

    @property
    def is_empty(self) -> bool:
        return not self.changes({})


# The key of the names of people in a stored view.
PEOPLE = "without_people"
# The study's own report.
AS_IT_IS = View()


def _check_texts(name: str, value: Any) -> None:
    """Refuse a value of a view that is not text, texts, or texts by key."""
    if name in _LISTS:
        good = isinstance(value, list | tuple) and all(isinstance(text, str) for text in value)
        size, shape = len(value) if good else 0, "a list of texts"
    elif name in _PAIRS:
        good = isinstance(value, Mapping) and all(isinstance(text, str) for text in value.values())
        size, shape = len(value) if good else 0, "an object with texts"
    else:
        good, size, shape = isinstance(value, str) and len(value) <= _LONGEST, 0, "a short text"
    if not good or size > MOST_NAMED:
        raise BadParameters(f"{name} of the view is not {shape}.")


def _without(one: str, many: str, names: Sequence[str]) -> str:
    if len(names) < 4:
        return f"{one}{'' if len(names) == 1 else 's'} {', '.join(names)}" if names else ""
    return f"without {len(names):,} {many}"


@dataclass(frozen=True)
class StudyThen:
    """A study at a moment: which items and answers counted, who was excluded, which runs.

    Answers that were withdrawn since stay out, because their givers do not consent any more.
    """

    study: Study
    at: datetime

    @cached_property
    def taken_out(self) -> Mapping[str, StudyLog | None]:
        """The items that were out, with the entry that says so; None for one imported as such."""
        items = Item.everything.filter(study=self.study, created_at__lte=self.at)
        out_now = items.filter(split=Item.Split.LEFT_OUT).values_list("key", flat=True)
        out: dict[str, StudyLog | None] = dict.fromkeys(out_now)
        log = self.study.log.filter(event__in=(TAKEN_OUT, PUT_BACK)).select_related("user")
        for entry in log.order_by("-created_at", "-pk"):
            key = entry.detail["item"]
            if entry.created_at <= self.at:
                if key in out:
                    out[key] = out[key] or entry
            elif entry.event == TAKEN_OUT:
                out.pop(key, None)
            else:
                out[key] = None
        return out

    def items(self) -> QuerySet[Item]:
        """The items that counted."""
        splits = (Item.Split.MAIN, Item.Split.LEFT_OUT)
        items = Item.everything.filter(study=self.study, created_at__lte=self.at, split__in=splits)
        return items.exclude(key__in=self.taken_out)

    @cached_property
    def excluded(self) -> Mapping[int, AnnotatorEvent]:
        """The exclusions that held, by the annotator's id."""
        events = self._last("excluded", "included")
        return {pk: event for pk, event in events.items() if event.event == "excluded"}

    @cached_property
    def states(self) -> Mapping[int, str]:
        """The state of each participant who had arrived, by id."""
        walks = Annotator.objects.filter(study=self.study, exclusion_reason=TEST_WALK)
        tests = set(walks.values_list("pk", flat=True))
        return {pk: row.after for pk, row in self._last("state").items() if pk not in tests}

    def _last(self, *events: str) -> dict[int, AnnotatorEvent]:
        """The last of these events of each annotator."""
        rows = AnnotatorEvent.objects.filter(
            annotator__study=self.study, event__in=events, created_at__lte=self.at
        )
        return {row.annotator_id: row for row in rows.order_by("pk").select_related("user")}

    def given(self) -> QuerySet[Any]:
        """The answers that had been given, each with its `standing_then`."""
        later = StandingChange.objects.filter(annotation=OuterRef("pk"), created_at__gt=self.at)
        before = Subquery(later.order_by("pk").values("before")[:1])
        return (
            Annotation.objects.filter(
                assignment__annotator__study=self.study, created_at__lte=self.at
            )
            .exclude(standing=Annotation.Standing.WITHDRAWN)
            .annotate(standing_then=Coalesce(before, F("standing")))
        )

    def answers(self, *, are_excluded: bool | None) -> QuerySet[Annotation]:
        """The answers that counted: of excluded people, all others, or, with None, everybody."""
        answers = self.given().filter(standing_then__in=COUNTED)
        if are_excluded is None:
            return answers
        excluded = Q(assignment__annotator__in=[*self.excluded])
        return answers.filter(excluded if are_excluded else ~excluded)

    def earlier(self, answers: QuerySet[Annotation]) -> dict[int, AnnotationRevision]:
        """Of answers that were changed since, the revision that stood then, by the answer's id."""
        changed = answers.filter(revision__gt=1, answered_at__gt=self.at)
        rows = AnnotationRevision.objects.filter(annotation__in=changed, answered_at__lte=self.at)
        return {row.annotation_id: row for row in rows.order_by("number")}

    def in_report(self, run: JudgeRun) -> bool:
        """Whether reports used a run."""
        marks = self.study.log.filter(
            event__in=(run.LEFT_OUT, run.TAKEN_BACK), detail__run=run.public_id
        )
        next_one = marks.filter(created_at__gt=self.at).order_by("created_at", "pk").first()
        return run.in_report if next_one is None else next_one.event == run.LEFT_OUT

    def state_of(self, run: JudgeRun) -> tuple[str, str]:
        """The state of a run, and why.

        When it stopped by itself is known only of the last time.
        """
        if run.ended_at is not None and run.ended_at <= self.at:
            return run.state, run.sentence
        log = self.study.log.filter(event__startswith=_OF_RUN, detail__run=run.public_id)
        log = log.exclude(event__in=(run.LEFT_OUT, run.TAKEN_BACK)).order_by("created_at", "pk")
        named = [(row.created_at, row.event.removeprefix(_OF_RUN)) for row in log]
        last = next((event for at, event in reversed(named) if at <= self.at), "")
        following = next((event for at, event in named if at > self.at), "")
        if last in run.State.values:
            return last, "Ended by hand."
        if following == "resumed":
            return run.State.PAUSED, "It had stopped, and was resumed later."
        if following == "retried":
            return run.State.DONE, "It had ended; failed questions were asked again later."
        is_waiting = run.started_at is None or run.started_at > self.at
        return (run.State.QUEUED if is_waiting else run.State.RUNNING), ""

    def settings(self) -> Mapping[str, Any]:
        """The settings that changed since, with their values then."""
        settings: dict[str, Any] = {}
        since = self.study.log.filter(event=SETTINGS_CHANGED, created_at__gt=self.at)
        for detail in since.order_by("-created_at", "-pk").values_list("detail", flat=True):
            settings |= detail["before"]
        return settings
