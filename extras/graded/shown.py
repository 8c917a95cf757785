"""Grades on researchers' pages about items."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from django.db.models import F

from analysis.data.answers import COUNTED
from analysis.data.extras import AnswerWords
from extras.graded.models import Grades, Strength
from studies.models import Choice

_LABELS = dict(Choice.choices)
_VERDICTS = _LABELS | {"tie": "no difference"}


def lines_of(answers: Collection[int]) -> Mapping[int, Sequence[str]]:
    """What was given next to each choice, in a line or two."""
    found = Grades.objects.filter(answer__in=answers, revision=F("answer__revision"))
    return {
        grades.answer_id: list(_lines(grades))
        for grades in found.select_related("answer__assignment__annotator__study")
    }


def _lines(grades: Grades) -> list[str]:
    study = grades.answer.assignment.annotator.study
    names = {each["key"]: each["name"] for each in study.criteria}
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
    found = Grades.objects.filter(
        answer__assignment__item__in=items,
        answer__standing__in=COUNTED,
        answer__assignment__annotator__excluded_at=None,
        revision=F("answer__revision"),
    ).exclude(reason="")
    rows = found.order_by("answer__choice", "answer__assignment__annotator__pseudonym").values_list(
        "answer__assignment__item", "answer__choice", "reason"
    )
    reasons: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
    for item, choice, reason in rows:
        reasons[item].append((_LABELS[choice], reason))
    return reasons


WORDS = AnswerWords("graded", lines_of, reasons_about)
