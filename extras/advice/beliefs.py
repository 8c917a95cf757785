"""What people believed before: their own answers to the same questions in an earlier study."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis.data.arrays import CODE, MISSING, Codes, Dataset, DesignData
from analysis.data.extras import ExtraReader
from annotation.models import Annotation, ProlificIdentity
from extras.advice.models import BeliefSource
from studies.models import Item, Side, Study
from studies.texts.normalisation import fold

_TURNED = {Side.R1.value: Side.R2.value, Side.R2.value: Side.R1.value}
_COUNTING = (Annotation.Standing.COUNTED, Annotation.Standing.SURPLUS)


@dataclass(frozen=True, eq=False)
class Beliefs(DesignData):
    """The person's own answer to the same question, one for each row of the study's answers.

    `choice` is -1 where none is known.
    """

    follows_answers = True

    choice: Codes

    @property
    def digest(self) -> str:
        """Equal for equal contents."""
        return hashlib.sha256(self.choice.tobytes()).hexdigest()


def beliefs_of(study: Study, data: Dataset, position: Mapping[int, int]) -> Beliefs | None:
    """The own answers of the people of a study; None without a study that has them.

    People are matched by their Prolific id, questions by their texts, in whichever order the
    responses are.
    """
    link = BeliefSource.objects.filter(study=study).first()
    if link is None:
        return None
    asked = {position[item.pk]: _asked(item) for item in _items(study) if item.pk in position}
    here = dict(_people(study))
    own = _own_answers(link.beliefs)
    codes = []
    for item, rater in zip(data.answers.item.tolist(), data.answers.rater.tolist(), strict=True):
        key, is_turned = asked[item]
        answer = own.get((here.get(data.raters[rater], ""), key))
        if answer is None:
            codes.append(MISSING)
            continue
        choice, was_turned = answer
        is_same = choice not in _TURNED or is_turned == was_turned
        codes.append(CODE[choice if is_same else _TURNED[choice]])
    return Beliefs(np.array(codes, dtype=np.int8))


_Question = tuple[str, ...]


def _items(study: Study) -> list[Item]:
    rows = Item.objects.filter(study=study).only("question", "context", "r1", "r2", "split")
    return list(rows)


def _asked(item: Item) -> tuple[_Question, bool]:
    """What an item asks, whatever the order of its responses, and whether they are turned."""
    texts = [fold(str(item.response(side).get("text", ""))) for side in (Side.R1, Side.R2)]
    question = fold(item.question), fold(item.context), *sorted(texts)
    return question, texts[0] > texts[1]


def _people(study: Study) -> list[tuple[str, str]]:
    rows = ProlificIdentity.objects.filter(annotator__study=study)
    return list(rows.values_list("annotator__pseudonym", "pid"))


def _own_answers(study: Study) -> dict[tuple[str, _Question], tuple[str, bool]]:
    """The counting answers of a study by Prolific id and question."""
    asked = {item.pk: _asked(item) for item in _items(study)}
    rows = Annotation.objects.filter(
        assignment__annotator__study=study,
        assignment__annotator__excluded_at=None,
        standing__in=_COUNTING,
    ).values_list("assignment__annotator__prolific_identity__pid", "assignment__item", "choice")
    answers = {}
    for pid, item, choice in rows.order_by("pk"):
        if pid and item in asked:
            question, is_turned = asked[item]
            answers[pid, question] = choice, is_turned
    return answers


BELIEFS = ExtraReader("beliefs", beliefs_of)
