"""The rows of the list of studies: own figures, and what each app says about a study."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Max

from studies.models import Study, StudyLog
from studies.pages.workbench.registry import ListCell, column_cells, register_column


@dataclass(frozen=True)
class StudyListRow:
    """A study, counted by `list_studies`, and what apps say about it."""

    study: Any
    quota: list[ListCell]
    judges: list[ListCell]
    cost: str
    updated: datetime

    @property
    def share(self) -> int | None:
        """The percentage of the answers that are there; None where none are wanted."""
        seats: int = self.study.seats
        return int(100 * self.study.answers / seats) if seats else None


def study_rows(found: Iterable[Study]) -> list[StudyListRow]:
    """One row for each study of `list_studies`, in a fixed number of queries."""
    studies = list(found)
    quota, judges = column_cells("quota", studies), column_cells("judges", studies)
    costs, updated = column_cells("cost", studies), column_cells("updated", studies)
    return [
        StudyListRow(
            study,
            quota=quota[study.pk],
            judges=judges[study.pk],
            cost=" + ".join(cell.text for cell in costs[study.pk] if cell.text),
            updated=max(
                [study.created_at, *(cell.when for cell in updated[study.pk] if cell.when)]
            ),
        )
        for study in studies
    ]


def logged(studies: Sequence[Study]) -> dict[int, ListCell]:
    """When each study was last changed."""
    rows = (
        StudyLog.objects.filter(study__in=studies)
        .order_by()
        .values_list("study")
        .annotate(latest=Max("created_at"))
    )
    return {pk: ListCell(when=latest) for pk, latest in rows}


def register() -> None:
    register_column("updated", logged)
