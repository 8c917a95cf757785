"""An arena with a fake server, as tests need it."""

from decimal import Decimal

from extras.arena.asking import run_arena, wake
from extras.arena.models import Arena
from extras.arena.questions import add_questions
from extras.arena.setup import open_arena, set_up
from tests.factories import make_study
from tests.judging.conftest import make_judge
from tests.judging.llm_server import completion

ROWS = [
    {"persona": {"id": f"p{n}", "text": f"A cook who likes dish {n}."}, "question": f"Supper {n}?"}
    for n in range(6)
]


def writes(body, number):
    """Every response is another one and names its model, so that tests can tell them apart."""
    return completion(f"By {body['model']}: soup number {number} with bread.")


def make_arena(
    llm, *, systems=("small", "large"), budget="5", questions=ROWS, **overrides
) -> Arena:
    llm.answer = writes
    limits = {name: overrides.pop(name) for name in ("stock", "per_hour") if name in overrides}
    longest = {name: overrides.pop(name) for name in ("longest", "forbidden") if name in overrides}
    defaults = {"entry": "link", "items_per_annotator": 2, "annotations_per_item": 2}
    study = make_study(**defaults | {"extras": ["arena"]} | overrides)
    judges = [
        make_judge(
            name=name, model=name, base_url=llm.url, price_input=1, price_output=1, outage_seconds=1
        )
        for name in systems
    ]
    arena = set_up(
        study_id=study.pk,
        systems=judges,
        budget=Decimal(budget) if budget else None,
        **{"stock": 4} | limits | longest,
    )
    if questions:
        add_questions(arena=arena, rows=questions)
    return Arena.objects.get(study=study)


def opened(llm, **overrides) -> Arena:
    return open_arena(arena=make_arena(llm, **overrides))


def refill(arena: Arena) -> Arena:
    """What a worker does when it is woken."""
    arena = Arena.objects.get(study=arena.study)
    wake(arena)
    return run_arena(arena_id=arena.pk)
