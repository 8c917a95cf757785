"""Grades on researchers' pages about items, and which of them count."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.db.models import F, QuerySet

from analysis.data.answer_rows import COUNTED
from analysis.data.extras import AnswerWords
from extras.graded.models import Grades, Strength
from studies.models import Choice, Item

_LABELS = dict(Choice.choices)
_VERDICTS = _LABELS | {"tie": "no difference"}


def counted_grades(**chosen: Any) -> QuerySet[Grades]:
    """The current grades of answers that reports count, without those of excluded people."""
    return Grades.objects.filter(
        answer__assignment__item__split=Item.Split.MAIN,
        answer__assignment__annotator__excluded_at=None,
        answer__standing__in=COUNTED,
        revision=F("answer__revision"),
        **chosen,
    )


def lines_of(answers: Collection[int]) -> Mapping[int, Sequence[str]]:
    """What was given next to each choice, in a line or two."""
    current = Grades.objects.filter(answer__in=answers, revision=F("answer__revision"))
    return {
        grades.answer_id: list(_lines(grades))
        for grades in current.select_related("answer__assignment__annotator__study")
    }


def _lines(grades: Grades) -> list[str]:
    study = grades.answer.assignment.annotator.study
    names = {criterion["key"]: criterion["name"] for criterion in study.criteria}
    facts = [
        f"Preferred {Strength(grades.strength).label}" if grades.strength else "",
        f"Scores {grades.score_1} and {grades.score_2}" if grades.score_1 else "",
        *(
            f"{names.get(key, key)}: {_VERDICTS.get(choice, choice)}"
            for key, choice in grades.criteria.items()
        ),
    ]
    lines = [
        " · ".join(fact for fact in facts if fact),
        f"“{grades.reason}”" if grades.reason else "",
    ]
    return [line for line in lines if line]


def reasons_about(items: Collection[int]) -> Mapping[int, Sequence[tuple[str, str]]]:
    """What people wrote about items, with their choice, if reports count their answer."""
    with_reason = counted_grades(answer__assignment__item__in=items).exclude(reason="")
    rows = with_reason.order_by(
        "answer__choice", "answer__assignment__annotator__pseudonym"
    ).values_list("answer__assignment__item", "answer__choice", "reason")
    reasons: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
    for item, choice, reason in rows:
        reasons[item].append((_LABELS[choice], reason))
    return reasons


WORDS = AnswerWords("graded", lines_of, reasons_about)
