"""Builders: plain functions with defaults; a test names only what it is about."""

from itertools import count
from typing import Any

from studies.models import Item, Persona, Study

_serial = count(1)


def make_study(**overrides: Any) -> Study:
    n = next(_serial)
    defaults = {"slug": f"study-{n}", "title": f"Study {n}", "state": Study.State.OPEN, "seed": 7}
    return Study.objects.create(**defaults | overrides)


def make_persona(*, study: Study, **overrides: Any) -> Persona:
    n = next(_serial)
    defaults = {
        "key": f"persona-{n}",
        "features": [
            {"key": "age", "label": "Age", "value": "35-44", "text": "The person is 35-44."},
            {"key": "sex", "label": "Sex", "value": "Female", "text": "The person is female."},
        ],
    }
    return Persona.objects.create(study=study, **defaults | overrides)


def make_item(*, study: Study, **overrides: Any) -> Item:
    n = next(_serial)
    main = overrides.get("split", Item.Split.MAIN) == Item.Split.MAIN
    defaults: dict[str, Any] = {
        "key": f"item-{n:05}",
        "task": study.task,
        "question": f"Question {n}?",
        "r1": {"text": f"First response {n}"},
        "r2": {"text": f"Second response {n}"},
        "first_person": "r1",
        "seats_needed": study.annotations_per_item if main else 0,
        "shuffle_key": n,
    }
    fields = defaults | overrides
    if "persona" not in fields:
        fields["persona"] = make_persona(study=study)
    return Item.everything.create(study=study, content_hash=f"{n:064}", **fields)
