"""A study with an item without a majority, one with a small majority, and a clear one."""

from typing import Any

from extras.label_models.adjudicating import add_expert, send_items, set_rule
from extras.label_models.models import Expert, ExpertDecision
from studies.models import Study
from tests.analysis.builders import answer, make_rater
from tests.factories import make_item, make_study

RULE: dict[str, Any] = {"no_majority": True, "below": None, "sets": [], "per_item": 1}
VOTES = {"even": "r1 r1 r2 r2", "small": "r1 r1 r1 r2", "clear": "r1 r1 r1 r1", "alone": "r1"}


def make_split_study(**overrides) -> Study:
    study = make_study(state="closed", **overrides)
    items = {key: make_item(study=study, key=key, first_person="r2") for key in VOTES}
    for place in range(4):
        rater = make_rater(study=study)
        for key, votes in VOTES.items():
            if place < len(votes.split()):
                answer(rater, items[key], votes.split()[place])
    return study


def use(study: Study, **rule) -> None:
    set_rule(study_id=study.pk, wanted=RULE | rule)


def sent(study: Study, *names: str, **rule) -> list[tuple[Expert, str]]:
    """Experts by links, to whom the split items were sent."""
    use(study, **rule)
    experts = [add_expert(study_id=study.pk, name=name) for name in names]
    send_items(study_id=study.pk)
    return experts


def keys_of(expert: Expert) -> list[str]:
    rows = ExpertDecision.objects.filter(expert=expert)
    return sorted(rows.values_list("item__key", flat=True))
