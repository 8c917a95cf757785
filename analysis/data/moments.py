"""A study as it was at a moment: which items and answers counted, who was excluded, which runs.

Answers that were withdrawn since stay out, because their givers do not consent any more.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django.db.models import Q, QuerySet

from analysis.data.answers import COUNTED
from annotation.models import Annotation, AnnotationRevision, Annotator, AnnotatorEvent
from annotation.services.faulty_items import PUT_BACK, TAKEN_OUT
from studies.models import Item, Study
from studies.services.settings import READ_OTHERWISE

# States in which answers hold their seats.
_SEATED = (Annotator.State.ANNOTATING, Annotator.State.COMPLETED)


@dataclass(frozen=True)
class StudyThen:
    """A study at a moment."""

    study: Study
    at: datetime

    def items(self) -> QuerySet[Item]:
        """The items that counted."""
        log = self.study.log.filter(event__in=(TAKEN_OUT, PUT_BACK), created_at__gt=self.at)
        # The first change since then says what was the case before it.
        rows = log.order_by("-created_at", "-pk").values_list("detail__item", "event")
        was_out = {item: event == PUT_BACK for item, event in rows}
        out = Q(key__in=[item for item, was in was_out.items() if was])
        counted = Q(key__in=[item for item, was in was_out.items() if not was])
        found = Item.everything.filter(study=self.study, created_at__lte=self.at)
        return found.filter(counted | Q(split=Item.Split.MAIN) & ~out)

    @cached_property
    def excluded(self) -> set[int]:
        """The ids of the annotators who were excluded."""
        events = self._last(("excluded", "included"), "event")
        return {annotator for annotator, event in events if event == "excluded"}

    @cached_property
    def states(self) -> dict[int, str]:
        """The state of each participant who had begun, by id."""
        return dict(self._last(("state",), "after"))

    def _last(self, events: Iterable[str], name: str) -> Iterator[tuple[int, str]]:
        """The last of these events of each annotator."""
        rows = AnnotatorEvent.objects.filter(
            annotator__study=self.study, event__in=events, created_at__lte=self.at
        )
        yield from dict(rows.order_by("pk").values_list("annotator", name)).items()

    def answers(self, *, are_excluded: bool | None) -> QuerySet[Annotation]:
        """The answers that counted: of excluded people, of all others, or of everybody with None.

        Whether an answer was surplus is known only of now: a seat that it took later counts.
        """
        seated = [pk for pk, state in self.states.items() if state in _SEATED]
        held = Q(standing__in=COUNTED) | Q(
            standing=Annotation.Standing.RELEASED, assignment__is_surplus=False
        )
        own = Q(assignment__annotator__in=seated, created_at__lte=self.at) & held
        imported = Q(standing=Annotation.Standing.IMPORTED, created_at__lte=self.at)
        found = Annotation.objects.filter(own | imported, assignment__annotator__study=self.study)
        if are_excluded is None:
            return found
        excluded = Q(assignment__annotator__in=self.excluded)
        return found.filter(excluded if are_excluded else ~excluded)

    def earlier(self, found: QuerySet[Annotation]) -> dict[int, AnnotationRevision]:
        """Of answers that were changed since, the revision that stood then, by the answer's id."""
        changed = found.filter(revision__gt=1, answered_at__gt=self.at)
        rows = AnnotationRevision.objects.filter(annotation__in=changed, answered_at__lte=self.at)
        return {row.annotation_id: row for row in rows.order_by("number")}

    def judged(self) -> Q:
        """The judgments that had been stored."""
        return Q(answered_at__lte=self.at) | Q(answered_at=None, created_at__lte=self.at)

    def setting(self, name: str) -> Any:
        """A setting that says how answers are read."""
        since = self.study.log.filter(
            event=READ_OTHERWISE, detail__field=name, created_at__gt=self.at
        )
        first = since.order_by("created_at", "pk").first()
        return getattr(self.study, name) if first is None else first.detail["before"]
