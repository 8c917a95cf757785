"""A study whose annotators can remark everything."""

from typing import Any

from extras.remarks.setup import set_questions
from studies.models import Study
from tests.factories import make_items, make_study

ALL = {"flags": True, "either": True, "others": True, "results": False}
ENTERED = {"flag": "same", "either": "yes", "others": "70"}


def make_remarking_study(items: int = 2, *, asked: Any = None, **overrides: Any) -> Study:
    study = make_study(items_per_annotator=items, **overrides)
    make_items(study, items, task=study.task)
    set_questions(study_id=study.pk, wanted=ALL | (asked or {}), user=None)
    return Study.objects.get(pk=study.pk)
