"""Builders: plain functions with defaults; a test names only what it is about."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from itertools import count, groupby
from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.db.models import Model
from django.test import Client
from django.utils import timezone

from annotation import services
from annotation.content.consent_versions import with_agreed_terms
from annotation.models import Annotation, Annotator, Assignment, InitialAnswer
from studies.models import Item, Membership, Persona, Study

_serial = count(1)
Row = TypeVar("Row", bound=Model)
# The rows that `stored_at_once` has still to write; None outside it.
_waiting: list[Model] | None = None


@contextmanager
def stored_at_once() -> Iterator[None]:
    """Write personas, items, answers and judgments that are made inside together, at its end.

    One by one, the rows of a study of some hundred answers take longer than its report. Also a
    decorator of a function that makes a study. Inside, the rows have no id yet.
    """
    global _waiting
    outer, _waiting = _waiting, []
    try:
        yield
        rows = _waiting
    finally:
        _waiting = outer
    store_rows(rows)


def store(row: Row) -> Row:
    """Write a row, or leave it to the end of `stored_at_once`."""
    if _waiting is None:
        row.save(force_insert=True)
    else:
        _waiting.append(row)
    return row


def store_rows(rows: Sequence[Model]) -> None:
    """Write rows of several tables, all of one table at once, in the order of the first of each."""
    order = list(dict.fromkeys(type(row) for row in rows))
    ranked = sorted(rows, key=lambda row: order.index(type(row)))
    for model, same in groupby(ranked, key=type):
        model._base_manager.bulk_create(list(same))


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
    return store(Persona(study=study, **defaults | overrides))


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
    return store(Item(study=study, content_hash=f"{n:064}", **fields))


@stored_at_once()
def make_items(study: Study, count: int, **overrides: Any) -> list[Item]:
    """Many items about one persona, in few queries; their right responses alternate."""
    persona = make_persona(study=study)
    numbers = [next(_serial) for _ in range(count)]
    return [
        store(
            Item(
                study=study,
                content_hash=f"{n:064}",
                **{
                    "persona": persona,
                    "key": f"item-{n:05}",
                    "question": f"Question {n}?",
                    "r1": {"text": f"First response {n}"},
                    "r2": {"text": f"Second response {n}"},
                    "first_person": ("r1", "r2")[n % 2],
                    "seats_needed": study.annotations_per_item,
                }
                | overrides,
            )
        )
        for n in numbers
    ]


def make_annotator(*, study: Study, **overrides: Any) -> Annotator:
    """Somebody who has arrived; `walk_in` takes people through the real steps."""
    n = next(_serial)
    defaults = {
        "identity_hash": f"{n:064}",
        "expires_at": timezone.now() + timedelta(hours=1),
    }
    return Annotator.objects.create(study=study, **defaults | overrides)


def walk_in(study: Study, pid: str = "", **demographics: str) -> Annotator:
    """Bring somebody to their first item, by the services that the pages call."""
    pid = pid or f"pid{next(_serial)}"
    now = Study.objects.get(pk=study.pk)
    annotator = services.enter(study=now, pid=pid, prolific_study_id="ps1", session_id=f"s-{pid}")
    annotator = services.consent(annotator_id=annotator.pk, version="v1")
    if demographics:
        annotator = services.record_demographics(
            annotator_id=annotator.pk, demographics=demographics
        )
    return services.finish_instructions(annotator_id=annotator.pk)


def answer_all(annotator: Annotator, *, choice: str = "r1", certainty: int = 70) -> None:
    """Answer every item that has no answer yet."""
    for assignment in annotator.assignments.filter(annotation=None):
        answer_item(assignment, choice=choice, certainty=certainty)


def answer_item(
    seat: Assignment, *, choice: str = "r1", certainty: int = 70, **more: Any
) -> Annotation:
    """Answer in content terms, as somebody who sees the page; with advice, the same twice."""
    annotator = Annotator.objects.select_related("study").get(pk=seat.annotator_id)
    entered = services.EnteredAnswer(
        seat.as_displayed(choice), certainty, after_advice=True, **more
    )

    def answer() -> Annotation | InitialAnswer:
        return services.record_answer(
            annotator=with_agreed_terms(annotator), assignment_id=seat.pk, entered=entered
        )

    stored = answer()
    if isinstance(stored, InitialAnswer):
        stored = answer()
    assert isinstance(stored, Annotation)
    return stored


def finish(annotator: Annotator, **answers: Any) -> Annotator:
    """Answer what is left, and complete."""
    answer_all(annotator, **answers)
    return services.complete(annotator_id=annotator.pk)


def take_part(study: Study, pid: str = "", **demographics: str) -> Annotator:
    """The whole way through a study."""
    return finish(walk_in(study, pid, **demographics))


def sign_in(study: Study, role: str = "editor") -> Client:
    """The browser of somebody who has this role in the study; of a stranger without one."""
    user = User.objects.create_user(f"{role or 'stranger'}-{next(_serial)}")
    if role:
        Membership.objects.create(user=user, study=study, role=role)
    client = Client()
    client.force_login(user)
    return client
