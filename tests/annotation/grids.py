"""A study with places for women and men of two parties."""

import itertools
from collections.abc import Mapping, Sequence

from annotation.seats.quotas import Quota, QuotaQuestion, set_quotas
from studies.models import Study
from tests.factories import make_items, make_study

GENDER = QuotaQuestion("gender", "What is your gender?", {"woman": "Woman", "man": "Man"})
POLITICS = QuotaQuestion(
    "politics", "Politics?", {"democrat": "Democrat", "republican": "Republican"}
)


def make_grid(*, entry: str = Study.Entry.PROLIFIC, target: int = 1, else_target: int = 1) -> Study:
    """Gender × politics with `target` places each, and a group for everyone else."""
    study = make_study(items_per_annotator=2, annotations_per_item=3, entry=entry)
    make_items(study, 6)
    groups = grid(
        [GENDER, POLITICS],
        {(g, p): target for g in GENDER.options for p in POLITICS.options},
    )
    set_quotas(
        study_id=study.pk, questions=[GENDER, POLITICS], groups=[*groups, Quota(else_target)]
    )
    return study


def grid(questions: Sequence[QuotaQuestion], targets: Mapping[tuple[str, ...], int]) -> list[Quota]:
    """One group for each combination of values that has a target, in the order of the questions."""
    keys = [question.key for question in questions]
    combinations = itertools.product(*(question.options for question in questions))
    return [
        Quota(targets[values], dict(zip(keys, values, strict=True)))
        for values in combinations
        if values in targets
    ]
