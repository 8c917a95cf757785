"""A study of any size, filled by the database itself: one row of each table, repeated with SQL."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Max, Model
from django.utils import timezone

from annotation.models import Annotation, AnnotationRevision, Annotator, Assignment
from judging.models import Attempt, Judge, JudgeRun, Judgment
from studies.models import Item, Persona, Study

EACH = 30
DAYS = 10  # over which the answers came
PER_ITEM = 3
# Which response the n-th answer names: two of three times the first.
_CHOICE = "(ARRAY['r1', 'r2', 'r1'])[1 + (n / 5 + n / 7) % 3]"
_WORDS = "river market garden letter window summer bicycle teacher kitchen music "


@dataclass(frozen=True)
class GrownStudy:
    study: Study
    run: JudgeRun
    owner: User


def grow(size: int, *, slug: str = "grown", fewest_people: int = PER_ITEM) -> GrownStudy:
    """Create a study with `size` items, about as many answers, and a run of as many judgments.

    About a third of the items are full, the others have open seats. Half of the judgments have an
    answer and a request; the others wait. PostgreSQL only.
    """
    study = Study.objects.create(
        slug=slug, title="Grown", state=Study.State.OPEN, is_simulated=True, seed=7
    )
    people = max(fewest_people, size // EACH)
    full = people * EACH // PER_ITEM
    item = _items(study, size, full=full)
    _answers(study, people, first_item=item, full=full)
    run = _judgments(study, size, first_item=item)
    owner = User.objects.create_superuser(f"owner of {slug}")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return GrownStudy(study, run, owner)


def _items(study: Study, size: int, *, full: int) -> int:
    persona = Persona.objects.create(
        study=study,
        key="p",
        features=[{"key": "age", "label": "Age", "value": "40", "text": "The person is 40."}],
    )
    response = {"text": _WORDS * 2}
    item = Item.everything.create(
        study=study,
        persona=persona,
        key="i0000000",
        question=_WORDS,
        r1=response,
        r2=response,
        first_person="r1",
        content_hash="0" * 64,
        seats_needed=PER_ITEM,
        seats_taken=PER_ITEM,
        answered=PER_ITEM,
    )
    taken = f"CASE WHEN n < {full} THEN {PER_ITEM} ELSE 0 END"
    _repeat(
        item,
        size,
        key="'i' || lpad(n::text, 7, '0')",
        content_hash="lpad(n::text, 64, '0')",
        seats_taken=taken,
        answered=taken,
        shuffle_key=f"(random() * {2**62 - 1})::bigint",
    )
    return item.pk


def _answers(study: Study, people: int, *, first_item: int, full: int) -> None:
    now = timezone.now()
    annotator = Annotator.objects.create(
        study=study,
        pseudonym="P-0",
        identity_hash="0",
        state=Annotator.State.COMPLETED,
        consented_at=now,
        screened_at=now,
        instructed_at=now,
        qualified_at=now,
        started_at=now,
        ended_at=now,
    )
    moments = (
        "consented_at",
        "screened_at",
        "instructed_at",
        "qualified_at",
        "started_at",
        "ended_at",
    )
    _repeat(
        annotator,
        people,
        pseudonym="'P-' || n",
        identity_hash="n::text",
        **dict.fromkeys(moments, _moment("n", people)),
    )
    assignment = Assignment.objects.create(
        annotator=annotator,
        item_id=first_item,
        position=1,
        shown_first="r1",
        state=Assignment.State.ANSWERED,
    )
    answers = people * EACH
    side = "(ARRAY['r1', 'r2'])[1 + (n / 7) % 2]"
    _repeat(
        assignment,
        answers,
        annotator_id=f"{annotator.pk} + n / {EACH}",
        item_id=f"{first_item} + n % {full}",
        position=f"n % {EACH} + 1",
        shown_first=side,
    )
    given: dict[str, Any] = {
        "choice": "r1",
        "certainty": 70,
        "shown_at": now,
        "answered_at": now,
        "elapsed_ms": 20_000,
        "active_ms": 15_000,
    }
    annotation = Annotation.objects.create(
        assignment=assignment,
        certainty_asked=True,
        standing=Annotation.Standing.COUNTED,
        **given,
    )
    certainty = "40 + n % 60"
    given_at = _moment(f"n / {EACH}", people)
    _repeat(
        annotation,
        answers,
        assignment_id=f"{assignment.pk} + n",
        certainty=certainty,
        choice=_CHOICE,
        shown_at=given_at,
        answered_at=given_at,
    )
    revision = AnnotationRevision.objects.create(annotation=annotation, number=1, **given)
    _repeat(
        revision,
        answers,
        annotation_id=f"{annotation.pk} + n",
        certainty=certainty,
        choice=_CHOICE,
        shown_at=given_at,
        answered_at=given_at,
    )


def _moment(annotator: str, people: int) -> str:
    """When the n-th of `people` came: they come evenly until now."""
    return f"now() - interval '{DAYS} days' * ({people} - {annotator}) / {people}"


def _judgments(study: Study, size: int, *, first_item: int) -> JudgeRun:
    now = timezone.now()
    judge = Judge.objects.create(
        name=f"judge of {study.slug}", model="model", price_input=1, price_output=1
    )
    run = JudgeRun.objects.create(
        key=f"{study.pk:064}", study=study, judge=judge, seed=1, state=JudgeRun.State.RUNNING
    )
    answered = size // 2
    judgment = Judgment.objects.create(
        run=run,
        item_id=first_item,
        shown_first="r1",
        state=Judgment.State.DONE,
        choice="r1",
        certainty=70,
        raw_text="A 70",
        replies=1,
        answered_at=now - timedelta(hours=1),
    )
    _repeat(
        judgment,
        answered,
        item_id=f"{first_item} + n",
        certainty="40 + n % 60",
        choice=_CHOICE,
    )
    waiting = Judgment.objects.create(run=run, item_id=first_item + answered, shown_first="r1")
    _repeat(waiting, size - answered, item_id=f"{first_item + answered} + n")
    attempt = Attempt.objects.create(
        judgment=judgment,
        number=1,
        outcome=Attempt.Outcome.REPLIED,
        sent_at=now,
        latency_ms=100,
        prompt_tokens=500,
        completion_tokens=5,
        cost_nano=505_000,
    )
    _repeat(attempt, answered, judgment_id=f"{judgment.pk} + n")
    return run


def _repeat(row: Model, count: int, **columns: str) -> None:
    """Insert the row again until there are `count`, with some columns computed from n = 1, 2, ….

    Ids follow one another, so the n-th row has the id of the first plus n.
    """
    table, fields = row._meta.db_table, row._meta.concrete_fields
    names = [str(field.column) for field in fields if not field.primary_key]
    values = [columns.get(name, f'source."{name}"') for name in names]
    quoted = ", ".join(f'"{name}"' for name in names)
    with connection.cursor() as cursor:
        cursor.execute(
            f'INSERT INTO "{table}" ({quoted}) SELECT {", ".join(values)} '  # noqa: S608
            f'FROM "{table}" source, generate_series(1, {count - 1}) n WHERE source.id = {row.pk} '
            "ORDER BY n"
        )
    last = type(row)._base_manager.aggregate(last=Max("pk"))["last"]
    if last != row.pk + count - 1:
        raise RuntimeError(f"The ids of {table} do not follow one another.")
