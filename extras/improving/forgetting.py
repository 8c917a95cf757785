"""What an improvement stores of the one annotator whom it predicts, and how it is forgotten.

The wordings stay, because runs asked them: they have cases without a name.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import QuerySet

from annotation.services.endings import AtEnd
from extras.improving.models import Improvement
from studies.held_copies import HeldBy, PersonalRows, PersonIn
from studies.models import Study


def _of(study: Study, name: str) -> QuerySet[Improvement]:
    return Improvement.objects.filter(study=study, annotator=name).exclude(annotator="")


def _rows(person: PersonIn) -> Iterable[PersonalRows]:
    rows: list[Mapping[str, Any]] = [
        {"item": key, "part": part, "answer": right, "split_at": one.created_at}
        for one in _of(person.study, person.name)
        for _, key, _, part, _, right in one.parts
    ]
    if rows:
        yield "improvements that predict this annotator", rows


HELD = HeldBy(
    "improvements that predict one annotator",
    rows=_rows,
    forget=lambda person: _of(person.study, person.name).delete(),
)
AT_END = AtEnd(
    "improving",
    completed=lambda annotator: None,
    withdrew=lambda annotator: _of(annotator.study, annotator.pseudonym).delete(),
)
