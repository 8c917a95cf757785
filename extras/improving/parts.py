"""The part of people's answers to learn from, and the sealed part; loads no statistics."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from django.db.models import Count

from analysis.data.answer_rows import COUNTED
from analysis.data.item_comparisons import annotator_aggregates, run_aggregates
from annotation.models import Annotation
from extras.improving.models import FOLDS, LEARN, SEALED
from judging.models import JudgeRun
from studies.models import Choice, Item, Study
from studies.texts.normalisation import digest

ANSWERED = (Choice.R1.value, Choice.R2.value)
_FEWEST_QUESTIONS = 20  # with fewer, whole questions cannot be sealed


class ItemInPart(NamedTuple):
    """An item as it was split; `right` is the persona's own answer, or else that of most people.

    Of a single annotator, `right` is that person's answer, and a question takes the place of the
    persona.
    """

    item: int
    key: str
    persona: str
    part: str
    fold: int
    right: str

    def is_outside(self, fold: int) -> bool:
        """Whether the wording of this fold, or of the whole part if it is 0, may learn from it."""
        return self.part == LEARN and self.fold != fold


class PeopleAnswer(NamedTuple):
    """What people answered to an item; `votes` changes with every answer that counts."""

    right: str
    votes: tuple[int, ...]


def answers_of_people(study: Study, annotator: str = "") -> dict[str, PeopleAnswer]:
    """The right answer of every item that has one of two responses, by the item's key."""
    if annotator:
        return _answers_of_one(study, annotator)
    own = Item.objects.filter(study=study, first_person__in=ANSWERED)
    answers = {
        key: PeopleAnswer(right, ()) for key, right in own.values_list("key", "first_person")
    }
    for row in annotator_aggregates(study):
        right = row["first_person"] or row.get("verdict")
        if right in ANSWERED:
            votes = tuple(row[choice] for choice in Choice.values)
            answers[row["item_id"]] = PeopleAnswer(right, votes)
    return answers


def _answers_of_one(study: Study, annotator: str) -> dict[str, PeopleAnswer]:
    rows = Annotation.objects.filter(
        assignment__annotator__study=study,
        assignment__annotator__pseudonym=annotator,
        assignment__annotator__excluded_at=None,
        assignment__item__split=Item.Split.MAIN,
        standing__in=COUNTED,
        choice__in=ANSWERED,
    )
    answers = rows.values_list("assignment__item__key", "choice")
    return {key: PeopleAnswer(choice, (1,)) for key, choice in answers}


def annotators_to_learn_from(study: Study, fewest: int) -> list[tuple[str, int]]:
    """Pseudonyms of annotators with as many answers, and how many, most first."""
    counted = Annotation.objects.filter(
        assignment__annotator__study=study,
        assignment__annotator__excluded_at=None,
        assignment__item__split=Item.Split.MAIN,
        standing__in=COUNTED,
        choice__in=ANSWERED,
    )
    by_person = counted.values_list("assignment__annotator__pseudonym").annotate(n=Count("pk"))
    return list(by_person.filter(n__gte=fewest).order_by("-n", "assignment__annotator__pseudonym"))


def verdicts_of(run: JudgeRun) -> dict[str, dict[str, object]]:
    """The run's verdict on each item that it was asked about, by key."""
    return {row["item_id"]: row for row in run_aggregates(run.study, run_id=run.pk)}


def split(
    run: JudgeRun, share: float, annotator: str = ""
) -> tuple[list[ItemInPart], dict[str, PeopleAnswer]]:
    """The items that people and the run have answered, in their parts, and people's answers.

    The part of a persona depends on nothing but its key, so that nobody can choose it, and it stays
    when answers are added. Of one annotator, questions are split instead: what has to be new is the
    question, and such studies often have no personas.
    """
    people, judged = answers_of_people(run.study, annotator), verdicts_of(run)
    rows = Item.objects.filter(study=run.study_id).select_related("persona").order_by("key")
    items = [
        item
        for item in rows.iterator()
        if item.key in people and item.key in judged and not item.all_media
    ]
    units = _questions_of(items) if annotator else [item.persona.key for item in items]
    parts = []
    for item, unit in zip(items, units, strict=True):
        part, fold = part_of(unit, share)
        parts.append(ItemInPart(item.pk, item.key, unit, part, fold, people[item.key].right))
    return parts, people


def _questions_of(items: Sequence[Item]) -> list[str]:
    """What each item asks; its group or the item itself where nearly all have the same words."""
    asked = [digest([item.context, item.question])[:16] for item in items]
    if len({*asked}) >= _FEWEST_QUESTIONS:
        return asked
    return [item.group or item.key for item in items]


def part_of(persona: str, share: float) -> tuple[str, int]:
    """The part of a persona's items, and their fold there.

    >>> part_of("p1", 0.0)[0], part_of("p1", 1.0)
    ('learn', ('sealed', 0))
    """
    place = place_of(persona)
    if int.from_bytes(place[:8], "big") < share * 2**64:
        return SEALED, 0
    return LEARN, place[8] % FOLDS + 1


def place_of(key: str) -> bytes:
    """A place in an order that has nothing to do with the content."""
    return hashlib.sha256(f"improve\0{key}".encode()).digest()


def hash_of(part: Iterable[ItemInPart], people: Mapping[str, PeopleAnswer]) -> str:
    """Changes with every answer of people to these items."""
    return digest([[item.key, item.persona, *people.get(item.key, ())] for item in part])


def of_part(items: Iterable[ItemInPart], part: str) -> list[ItemInPart]:
    return [item for item in items if item.part == part]


def chosen_to_judge(items: Iterable[ItemInPart], most: int) -> list[ItemInPart]:
    """The items of the part to learn from on which wordings are judged first."""
    learn = sorted(of_part(items, LEARN), key=lambda item: place_of(item.key))
    return learn[:most]


def changed(
    items: Iterable[ItemInPart], people: Mapping[str, PeopleAnswer]
) -> Iterator[ItemInPart]:
    """Items whose right answer is no longer what it was."""
    return (
        item for item in items if item.key not in people or people[item.key].right != item.right
    )


def credit(verdict: Mapping[str, object] | None, right: str) -> float:
    """1 for the right answer, 0 for the wrong one, one half without a verdict.

    >>> credit({"verdict": "r1"}, "r1"), credit({"verdict": "r2"}, "r1"), credit({}, "r1")
    (1.0, 0.0, 0.5)
    """
    chosen = verdict and verdict.get("verdict")
    return 0.5 if chosen not in ANSWERED else float(chosen == right)
