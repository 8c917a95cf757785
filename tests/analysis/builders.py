"""Studies with answers and judgments, written straight to the tables; no service is under test."""

import io
import random
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from django.core.management import call_command, get_commands
from django.utils import timezone

from annotation.models import Annotation, Annotator, Assignment
from judging.models import Attempt, Judge, JudgeRun, Judgment
from studies.models import Item, Study
from tests.factories import make_persona, make_study, store, stored_at_once

_serial = count(1)
MIRROR = {"r1": "r2", "r2": "r1"}


def assert_verified(report: object) -> None:
    """A report, by its folder or id, has the numbers that follow from the data now."""
    if "verify" in get_commands():
        call_command("verify", f"--report={report}", stdout=io.StringIO())


def make_rater(*, study: Study, **overrides: Any) -> Annotator:
    n = next(_serial)
    defaults = {
        "pseudonym": f"P-{n:05}",
        "identity_hash": f"{n:064}",
        "state": Annotator.State.COMPLETED,
    }
    return Annotator.objects.create(study=study, **defaults | overrides)


def answer(
    rater: Annotator,
    item: Item,
    choice: str,
    certainty: int | None = 70,
    *,
    standing: str = "counted",
    shown_first: str = "r1",
    position: int | None = None,
    **overrides: Any,
) -> Annotation:
    assignment = store(
        Assignment(
            annotator=rater,
            item=item,
            position=_next_position(rater) if position is None else position,
            shown_first=shown_first,
            is_surplus=standing != "counted",
            state=Assignment.State.ANSWERED,
        )
    )
    return store(
        Annotation(
            assignment=assignment,
            choice=choice,
            certainty=None if choice == "tie" else certainty,
            certainty_asked=certainty is not None,
            standing=standing,
            shown_at=timezone.now(),
            answered_at=timezone.now(),
            active_ms=20_000,
            **overrides,
        )
    )


def _next_position(rater: Annotator) -> int:
    """The place of somebody's next item, whose answers may not be stored yet."""
    last = getattr(rater, "last_position", None)
    if last is None:
        last = rater.assignments.count()
    rater.last_position = last + 1
    return last + 1


def make_run(
    *, study: Study, judge: Judge | str = "steady", setting: str = "certainty", **overrides: Any
) -> JudgeRun:
    n = next(_serial)
    if isinstance(judge, str):
        judge, _ = Judge.objects.get_or_create(name=judge, defaults={"model": f"model of {judge}"})
    defaults = {
        "key": f"{n:064x}",
        "setting": setting,
        "seed": 7,
        "state": JudgeRun.State.DONE,
        "sentence": "Every item has an answer.",
        "prompt_hash": "0" * 64,
        "parameters": {"model": judge.model, "temperature": 0.7, "top_p": 0.95},
    }
    return JudgeRun.objects.create(study=study, judge=judge, **defaults | overrides)


def judge_item(
    run: JudgeRun,
    item: Item,
    choice: str = "",
    certainty: int | None = None,
    *,
    state: str = "done",
    shown_first: str = "r1",
    sample: int = 1,
    **overrides: Any,
) -> Judgment:
    judgment = store(
        Judgment(
            run=run,
            item=item,
            shown_first=shown_first,
            sample=sample,
            state=state,
            choice=choice,
            certainty=certainty,
            **{"replies": 1, "model_snapshot": "model-2024-05-13"} | overrides,
        )
    )
    store(
        Attempt(
            judgment=judgment,
            number=1,
            outcome=Attempt.Outcome.REPLIED,
            sent_at=timezone.now(),
            prompt_tokens=200,
            completion_tokens=10,
            cost_nano=1_000_000,
        )
    )
    return judgment


@stored_at_once()
def random_study(
    seed: int,
    *,
    n_items: int = 24,
    n_raters: int = 8,
    per_item: Sequence[int] = (1, 2, 3, 3, 3, 4),
    truths: Sequence[str] = ("r1", "r2", "r1", "r2", "tie", ""),
    allow_tie: bool = False,
    runs: Iterable[dict[str, Any]] = (
        {"judge": "steady", "setting": "certainty"},
        {"judge": "both ways", "setting": "tie", "orders": "both"},
        {"judge": "steady", "setting": "standard", "samples": 3, "features": "none"},
    ),
    mirrored: bool = False,
    n_personas: int = 6,
    **study: Any,
) -> Study:
    """A study in which everything that a report must count happens, by chance but repeatably.

    `mirrored` writes the same study with the two responses under each other's names.
    """
    rng = random.Random(seed)
    names = MIRROR if mirrored else {}
    made = make_study(slug=f"random-{seed}-{next(_serial)}", allow_tie=allow_tie, **study)
    personas = [
        make_persona(
            study=made,
            features=[
                {"key": "age", "label": "Age", "value": value, "text": f"The person is {value}."}
            ],
        )
        for value in ("18-24", "35-44") * (n_personas // 2)
    ]
    items = [
        store(
            Item(
                study=made,
                content_hash=f"{next(_serial):064}",
                task=made.task,
                question=f"Question {number}?",
                shuffle_key=number,
                key=f"i{number:03}",
                persona=personas[number % n_personas],
                topic=("food", "travel")[number % 2],
                first_person=names.get(truth := rng.choice(truths), truth),
                **_responses(number, mirrored=mirrored),
                # More answers than seats never happens; the count has no part in a report.
                seats_needed=9,
            )
        )
        for number in range(n_items)
    ]
    raters = [make_rater(study=made, pseudonym=f"P-{number}") for number in range(n_raters)]
    options = ["r1", "r2", "tie"] if allow_tie else ["r1", "r2"]
    for item in items:
        for rater in rng.sample(raters, rng.choice(per_item)):
            truth = names.get(item.first_person, item.first_person)
            likely = truth if truth in options else "r1"
            choice = likely if rng.random() < 0.6 else rng.choice(options)
            certainty = rng.choice([20, 40, 55, 60, 79, 80, 80, 81, 95, 100, None])
            first = rng.choice(["r1", "r2"])
            answer(
                rater,
                item,
                names.get(choice, choice),
                certainty,
                shown_first=names.get(first, first),
            )
    for parameters in runs:
        _random_run(rng, made, items, parameters, names)
    return made


def little_study(seed: int, **study: Any) -> Study:
    """A study for tests that need a report, whatever is in it: it is built in half the time."""
    few: dict[str, Any] = {"n_items": 8, "n_raters": 4, "per_item": (2, 3)}
    run = {"judge": "steady", "setting": "certainty"}
    return random_study(seed, **(few | {"runs": [run]} | study))


def _responses(number: int, *, mirrored: bool) -> dict[str, Any]:
    """Two responses whose lengths differ from item to item, and are equal on some."""
    short, long = "Yes. " * (1 + number % 5), "No. No. " * (1 + number % 3)
    r1, r2 = (short, long)[:: -1 if mirrored else 1]
    return {"r1": {"text": r1}, "r2": {"text": r2}}


def _random_run(
    rng: random.Random,
    study: Study,
    items: list[Item],
    parameters: dict[str, Any],
    names: Mapping[str, str],
) -> None:
    run = make_run(study=study, **parameters)
    offered = ["r1", "r2", "tie"] if run.setting == "tie" else ["r1", "r2"]
    for item in items:
        orders = ["r1", "r2"] if run.orders == "both" else [rng.choice(["r1", "r2"])]
        for shown_first in orders:
            for sample in range(1, run.samples + 1):
                state = rng.choice(
                    ["done"] * 12 + ["unparseable", "refused", "skipped", "error", "pending"]
                )
                choice, certainty = "", None
                if state == "done":
                    truth = names.get(item.first_person, item.first_person)
                    right = truth in offered and rng.random() < 0.6
                    choice = truth if right else rng.choice(offered)
                    if run.setting != "standard":
                        certainty = rng.choice([30, 50, 79, 80, 85, 90, 100, None])
                judge_item(
                    run,
                    item,
                    names.get(choice, choice),
                    certainty,
                    state=state,
                    shown_first=names.get(shown_first, shown_first),
                    sample=sample,
                )
