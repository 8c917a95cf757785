"""The people of a first wave and their answers there and in a later one, as arrays."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from analysis.data.arrays import CODE, MISSING, Codes, Dataset, DesignData, Floats, Index
from analysis.data.extras import ExtraReader
from annotation.models import Annotation, Annotator, DemographicQuestion
from extras.own_answers.models import LaterWave, WavePerson
from extras.own_answers.waves import people_of
from studies.models import Item, Study

_COUNTING = (
    Annotation.Standing.COUNTED,
    Annotation.Standing.SURPLUS,
    Annotation.Standing.IMPORTED,
)
SIDES = ("r1", "r2")
_Given = dict[str, tuple[str, int | None, str]]


@dataclass(frozen=True, eq=False)
class WaveAnswers(DesignData):
    """Everybody who completed the first wave, sorted by their answers.

    Attributes
    ----------
    number : int
        Of the later wave.
    items : str
        Whether it has the same, some or other items.
    invited, came, completed : ndarray of bool, shape (people,)
        What became of each of them in the later wave.
    asked : mapping of str to tuple of str
        The answers to each question about themselves, by its label; "" without one.
    certainty, correct : ndarray of float, shape (people,)
        Means in the first wave; NaN without any.
    later_certainty, later_correct : ndarray of float, shape (people,)
        The same in the later wave.
    person, question : ndarray of int, shape (n,)
        Of each item that a person answered in both waves.
    first, again : ndarray of int8, shape (n,)
        Both choices: 0, 1 or 2 for response 1, response 2 or a tie.
    sure, sure_again : ndarray of float, shape (n,)
        Both certainties; NaN where none was given.
    truth : ndarray of int8, shape (n,)
        The right choice; -1 without one.
    """

    number: int
    items: str
    invited: np.ndarray
    came: np.ndarray
    completed: np.ndarray
    asked: Mapping[str, tuple[str, ...]]
    certainty: Floats
    correct: Floats
    later_certainty: Floats
    later_correct: Floats
    person: Index
    question: Index
    first: Codes
    again: Codes
    sure: Floats
    sure_again: Floats
    truth: Codes

    @property
    def digest(self) -> str:
        """Equal for equal contents."""
        hashed = hashlib.sha256(json.dumps([self.number, self.items, self.asked]).encode())
        for part in (self.invited, self.came, self.completed, self.person, self.question):
            hashed.update(part.astype("<i8").tobytes())
        for part in (self.first, self.again, self.truth):
            hashed.update(part.astype("<i8").tobytes())
        for part in (
            *(self.certainty, self.correct, self.later_certainty, self.later_correct),
            *(self.sure, self.sure_again),
        ):
            hashed.update(part.astype("<f8").tobytes())
        return hashed.hexdigest()


def waves_of(study: Study, data: Dataset, position: Mapping[int, int]) -> WaveAnswers | None:
    """The people of the first wave; None if the study is no later wave."""
    wave = LaterWave.objects.select_related("first").filter(study=study).first()
    if wave is None:
        return None
    first = list(people_of(wave.first).values_list("pk", "demographics"))
    invited = dict(WavePerson.objects.filter(wave=wave).values_list("annotator", "identity_hash"))
    came = Annotator.objects.filter(study=study, identity_hash__in=[*invited.values()])
    there = {
        code: (pk, state) for pk, code, state in came.values_list("pk", "identity_hash", "state")
    }
    earlier = _answers([pk for pk, _ in first])
    # Who is excluded here has completed it too, but their answers do not count.
    done = came.filter(state=Annotator.State.COMPLETED, excluded_at=None)
    later = _answers(list(done.values_list("pk", flat=True)))
    known = {pk: later.get(there[code][0], {}) for pk, code in invited.items() if code in there}
    # Sorted by answers, like all other people: names and numbers of rows are not data.
    first.sort(
        key=lambda one: (json.dumps(earlier[one[0]], sort_keys=True), sorted(one[1].items()))
    )
    ends = [there.get(invited.get(pk, ""), (0, "")) for pk, _ in first]
    asked = {
        question.label: tuple(
            dict(question.choices()).get(told.get(question.key, ""), "") for _, told in first
        )
        for question in DemographicQuestion.objects.filter(study=wave.first)
    }
    means = [
        [_means(by[pk]) if pk in by else (np.nan, np.nan) for pk, _ in first]
        for by in (earlier, known)
    ]
    pairs = [
        (place, key, *earlier[pk][key], *known[pk][key][:2])
        for place, (pk, _) in enumerate(first)
        for key in sorted(earlier[pk].keys() & known.get(pk, {}).keys())
    ]
    questions = sorted({pair[1] for pair in pairs})
    return WaveAnswers(
        number=wave.number,
        items=wave.items,
        invited=np.array([pk in invited for pk, _ in first], dtype=bool),
        came=np.array([bool(state) for _, state in ends], dtype=bool),
        completed=np.array([state == Annotator.State.COMPLETED for _, state in ends], dtype=bool),
        asked=asked,
        certainty=_column(means[0], 0),
        correct=_column(means[0], 1),
        later_certainty=_column(means[1], 0),
        later_correct=_column(means[1], 1),
        person=np.array([pair[0] for pair in pairs], dtype=np.int64),
        question=np.searchsorted(questions, [p[1] for p in pairs]).astype(np.int64),
        first=np.array([CODE[pair[2]] for pair in pairs], dtype=np.int8),
        again=np.array([CODE[pair[5]] for pair in pairs], dtype=np.int8),
        sure=_floats(pair[3] for pair in pairs),
        sure_again=_floats(pair[6] for pair in pairs),
        truth=np.array(
            [CODE[pair[4]] if pair[4] in SIDES else MISSING for pair in pairs], dtype=np.int8
        ),
    )


def _answers(annotators: Collection[int]) -> dict[int, _Given]:
    """Choice, certainty and truth of the counting answers, by annotator and item key."""
    by_annotator: defaultdict[int, _Given] = defaultdict(dict)
    rows = Annotation.objects.filter(
        assignment__annotator__in=annotators,
        assignment__item__split=Item.Split.MAIN,
        standing__in=_COUNTING,
    ).values_list(
        "assignment__annotator",
        "assignment__item__key",
        "choice",
        "certainty",
        "assignment__item__first_person",
    )
    for annotator, key, choice, certainty, truth in rows:
        by_annotator[annotator][key] = (choice, certainty, truth)
    return by_annotator


def _means(answers: _Given) -> tuple[float, float]:
    sure = [certainty for _, certainty, _ in answers.values() if certainty is not None]
    right = [choice == truth for choice, _, truth in answers.values() if truth in SIDES]
    return (
        float(np.mean(sure)) if sure else np.nan,
        float(np.mean(right)) if right else np.nan,
    )


def _column(rows: Collection[tuple[float, float]], place: int) -> Floats:
    return np.array([row[place] for row in rows], dtype=np.float64)


def _floats(values: Iterable[int | None]) -> Floats:
    return np.array([np.nan if v is None else float(v) for v in values], dtype=np.float64)


WAVES = ExtraReader("waves", waves_of)
