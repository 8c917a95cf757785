"""A study that asks for everything next to the choice, and what somebody enters there."""

from typing import Any

from extras.graded.setup import set_questions
from studies.models import Study
from tests.factories import make_items, make_study

CRITERIA = [
    {"key": "clear", "name": "Clarity", "description": "Easy to follow"},
    {"key": "kind", "name": "Kindness", "description": ""},
]
ALL = {"strength": True, "scale": 5, "criteria": True, "reason": "required"}
NOTHING = {"strength": False, "scale": 0, "criteria": False, "reason": "no"}
# As displayed.
ENTERED = {
    "strength": "2",
    "score_a": "4",
    "score_b": "1",
    "criterion_1": "a",
    "criterion_2": "tie",
    "reason": "It names the bus.",
}


def make_graded_study(
    items: int = 2, *, asked: dict[str, Any] | None = None, **overrides: Any
) -> Study:
    study = make_study(items_per_annotator=items, criteria=CRITERIA, **overrides)
    make_items(study, items, task=study.task)
    set_questions(study_id=study.pk, wanted=ALL if asked is None else asked, user=None)
    return Study.objects.get(pk=study.pk)
