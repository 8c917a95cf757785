"""Own answers given twice, in a first-person study or by the people in a linked one."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db.models import QuerySet

from analysis.data.arrays import CODE, MISSING, Codes, Dataset, DesignData, Floats, Index
from analysis.data.extras import ExtraReader
from annotation.models import Annotation, Annotator
from extras.own_answers.models import LinkedStudy, RetestAnswer
from studies.models import Study

_COUNTING = (Annotation.Standing.COUNTED, Annotation.Standing.SURPLUS)


@dataclass(frozen=True, eq=False)
class Retests(DesignData):
    """Answers given twice, one row each, sorted by person and question.

    Attributes
    ----------
    people : tuple of str
        Pseudonyms, or in a linked study the keys of their personas.
    person, question : ndarray of int, shape (n,)
        Positions in `people`, and codes of the items of the first study.
    first, again : ndarray of int8, shape (n,)
        0, 1 or 2 for response 1, response 2 or a tie.
    certainty : ndarray of float, shape (n,)
        Of the first answer; NaN where none was given.
    is_linked : bool
        Whether others predict these answers in the study.
    """

    people: tuple[str, ...]
    person: Index
    question: Index
    first: Codes
    again: Codes
    certainty: Floats
    is_linked: bool

    @property
    def digest(self) -> str:
        """Equal for equal contents."""
        # Persona keys are the same everywhere, names of people are not.
        named = "|".join(self.people) if self.is_linked else str(len(self.people))
        hashed = hashlib.sha256(named.encode())
        for part in (self.person, self.question, self.first, self.again):
            hashed.update(part.astype("<i8").tobytes())
        hashed.update(self.certainty.astype("<f8").tobytes())
        return hashed.hexdigest()


def retests_of(study: Study, data: Dataset, position: Mapping[int, int]) -> Retests | None:
    """The answers given twice; None if there are none."""
    link = LinkedStudy.objects.filter(study=study).first()
    if link is None and not study.asks_own_answers:
        return None
    again = _again(study.pk if link is None else link.first_id)
    if link is not None:
        keys = study.personas.values("key")
        again = again.filter(visit__annotator__own_profile__persona_key__in=keys)
    name = "visit__annotator__" + ("pseudonym" if link is None else "own_profile__persona_key")
    rows = list(again.values_list(name, "item__key", "visit__annotator", "item", "choice"))
    first = _first({row[2] for row in rows})
    known = [row for row in rows if row[2:4] in first]
    if not known:
        return None
    # Sorted by answers, then by name, like all other people.
    content: dict[str, list[Any]] = {}
    for row in sorted(known, key=lambda row: row[:2]):
        choice, certainty = first[row[2:4]]
        content.setdefault(row[0], []).append((row[1], choice, certainty or MISSING, row[4]))
    people = sorted(content, key=lambda name: (content[name], name))
    place = {name: number for number, name in enumerate(people)}
    known.sort(key=lambda row: (place[row[0]], row[1]))
    questions = sorted({row[1] for row in known})
    before = [first[row[2:4]] for row in known]
    return Retests(
        people=tuple(people),
        person=np.array([place[row[0]] for row in known], dtype=np.int64),
        question=np.searchsorted(questions, [row[1] for row in known]).astype(np.int64),
        first=np.array([CODE[choice] for choice, _ in before], dtype=np.int8),
        again=np.array([CODE[row[4]] for row in known], dtype=np.int8),
        certainty=np.array([np.nan if c is None else float(c) for _, c in before]),
        is_linked=link is not None,
    )


def _again(first_id: int) -> QuerySet[RetestAnswer]:
    return RetestAnswer.objects.exclude(choice="").filter(
        visit__annotator__study=first_id,
        visit__annotator__state=Annotator.State.COMPLETED,
        visit__annotator__excluded_at=None,
    )


def _first(annotators: set[int]) -> dict[tuple[int, int], tuple[str, int | None]]:
    """The counting first answers, by annotator and item."""
    rows = Annotation.objects.filter(
        assignment__annotator__in=annotators, standing__in=_COUNTING
    ).values_list("assignment__annotator", "assignment__item", "choice", "certainty")
    return {(annotator, item): (choice, sure) for annotator, item, choice, sure in rows}


RETESTS = ExtraReader("retests", retests_of)
