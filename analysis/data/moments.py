"""A study as it was at a moment: which items and answers counted, who was excluded, which runs.

Answers that were withdrawn since stay out, because their givers do not consent any more.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db.models import F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from analysis.data.answers import COUNTED
from annotation.models import (
    Annotation,
    AnnotationRevision,
    AnnotatorEvent,
    StandingChange,
)
from annotation.services.faulty_items import PUT_BACK, TAKEN_OUT
from judging.models import JudgeRun
from studies.models import Item, Study, StudyLog
from studies.services.settings import SETTINGS_CHANGED

# Events of the study's log about runs begin with this.
_OF_RUN = "judge run "


@dataclass(frozen=True)
class StudyThen:
    """A study at a moment."""

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
        found = Item.everything.filter(study=self.study, created_at__lte=self.at, split__in=splits)
        return found.exclude(key__in=self.taken_out)

    @cached_property
    def excluded(self) -> Mapping[int, AnnotatorEvent]:
        """The exclusions that held, by the annotator's id."""
        found = self._last("excluded", "included")
        return {pk: event for pk, event in found.items() if event.event == "excluded"}

    @cached_property
    def states(self) -> Mapping[int, str]:
        """The state of each participant who had arrived, by id."""
        return {pk: event.after for pk, event in self._last("state").items()}

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
        found = self.given().filter(standing_then__in=COUNTED)
        if are_excluded is None:
            return found
        excluded = Q(assignment__annotator__in=[*self.excluded])
        return found.filter(excluded if are_excluded else ~excluded)

    def earlier(self, found: QuerySet[Annotation]) -> dict[int, AnnotationRevision]:
        """Of answers that were changed since, the revision that stood then, by the answer's id."""
        changed = found.filter(revision__gt=1, answered_at__gt=self.at)
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
        found: dict[str, Any] = {}
        since = self.study.log.filter(event=SETTINGS_CHANGED, created_at__gt=self.at)
        for detail in since.order_by("-created_at", "-pk").values_list("detail", flat=True):
            found |= detail["before"]
        return found
