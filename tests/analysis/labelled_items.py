"""Studies with one item for each persona and question, whose judge is as good as a test wants."""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from judging.models import JudgeRun, Judgment
from judging.prompts.asking import Asking, tasks_of
from studies.models import Item, Persona, Study
from studies.texts.normalisation import digest
from tests.analysis.builders import make_run
from tests.factories import make_study

_serial = count(1)
OTHER = {"r1": "r2", "r2": "r1"}


def make_certifiable(n: int, *, topic: str = "food", words: int = 3, **study: Any) -> Study:
    """`n` items, each with a persona and a question of its own; every second truth is r2."""
    made = make_study(**study)
    first = next(_serial) * 10_000
    Persona.objects.bulk_create(
        Persona(
            study=made,
            key=f"u{number:04}",
            features=[{"key": "age", "label": "Age", "value": "35-44", "text": "Is 35-44."}],
        )
        for number in range(n)
    )
    personas = list(Persona.objects.filter(study=made).order_by("key"))
    Item.everything.bulk_create(
        Item(
            study=made,
            key=f"i{number:04}",
            persona=persona,
            topic=topic,
            task=made.task,
            question=f"Question {first + number}? " + "word " * (words + number % 7),
            r1={"text": ("right", "wrong")[number % 2]},
            r2={"text": ("wrong", "right")[number % 2]},
            first_person=("r1", "r2")[number % 2],
            seats_needed=made.annotations_per_item,
            content_hash=f"{first + number:064}",
        )
        for number, persona in enumerate(personas)
    )
    made.content_hash = digest([made.slug, n, topic, words])
    made.save(update_fields=["content_hash"])
    return made


def judge_it(
    study: Study,
    *,
    is_right: Callable[[int], bool] = lambda number: True,
    certainty: Callable[[int], int] = lambda number: 90,
    probabilities: Callable[[int, str], dict[str, float]] | None = None,
    orders: Sequence[str] = ("r1",),
    **run: Any,
) -> JudgeRun:
    """A run over the items, in the order of their keys; `is_right` and others by position."""
    made = make_run(study=study, orders="both" if len(orders) == 2 else "random", **run)
    made.prompt_hash = "" if made.is_imported else Asking.of(made).sha256(tasks_of(study))
    made.save(update_fields=["prompt_hash"])
    items = Item.objects.filter(study=study).order_by("key")
    Judgment.objects.bulk_create(
        Judgment(
            run=made,
            item=item,
            shown_first=order,
            state="done",
            choice=item.first_person if is_right(number) else OTHER[item.first_person],
            certainty=certainty(number),
            probabilities=probabilities(number, order) if probabilities else None,
            replies=1,
            model_snapshot="model-2024-05-13",
            fingerprint="fp_1",
        )
        for number, item in enumerate(items)
        for order in orders
    )
    return made
