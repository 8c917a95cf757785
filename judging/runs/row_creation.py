"""Creates the judgments of a run: one row for every item, order and sample."""

from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.db.models import QuerySet

from judging.errors import BadRun
from judging.models import JudgeRun, Judgment
from judging.runs.orders import shown_first
from studies.models import Item, Study

_ROWS_AT_ONCE = 1000


def create_judgments(run: JudgeRun, limit: int | None) -> int:
    """Create missing judgments and return how many; existing ones stay unchanged.

    Raises `BadRun` if the study has no items.
    """
    rows = _missing(run, limit)
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        _insert(run, rows[start : start + _ROWS_AT_ONCE])
    return len(rows)


def missing_judgments(run: JudgeRun, limit: int | None) -> list[Judgment]:
    """The judgments that `create_judgments` would create, not stored; nor need the run be."""
    return [
        Judgment(item_id=item, shown_first=first, sample=sample, state=state, error=error)
        for item, first, sample, state, error in _missing(run, limit)
    ]


def count_missing(run: JudgeRun, limit: int | None) -> int:
    """The number of missing judgments that would be asked."""
    if run.judge.own_sources:
        return sum(row[3] == Judgment.State.PENDING for row in _missing(run, limit))
    items = Item.objects.filter(pk__in=chosen_items(run.study, limit).values("pk"))
    wanted = items.count()
    if run.orders == JudgeRun.Orders.BOTH:
        wanted += items.filter(fixed_first="").count()
    there = Judgment.objects.filter(run=run.pk, item__in=items, sample__lte=run.samples).count()
    return wanted * run.samples - there


def chosen_items(study: Study, limit: int | None) -> QuerySet[Item]:
    """The items of a run: all main items, or the first by key."""
    return Item.objects.filter(study=study).order_by("key")[:limit]


def _missing(run: JudgeRun, limit: int | None) -> list[tuple[int, str, int, str, str]]:
    """Item, side shown first, sample, state and error of what a run, stored or not, lacks."""
    own = {source.casefold() for source in run.judge.own_sources}
    read = ["key", "first_person", "fixed_first", *(["r1", "r2"] if own else [])]
    items = list(chosen_items(run.study, limit).only(*read))
    if not items:
        raise BadRun(f"Study “{run.study.slug}” has no items to judge. Import some first.")
    there = dict[int, set[tuple[str, int]]]()
    asked = Judgment.objects.filter(run=run.pk)
    for item_id, first, sample in asked.values_list("item_id", "shown_first", "sample"):
        there.setdefault(item_id, set()).add((first, sample))
    drawn = [
        (item, first)
        for item in Item.objects.filter(study=run.study_id, pk__in=there).only(
            "first_person", "fixed_first"
        )
        for first in {side for side, _ in there[item.pk]}
    ]
    # An item keeps its drawn order; a run extended from one order to both asks the other.
    is_drawn = run.orders == JudgeRun.Orders.RANDOM
    new = [item for item in items if not (is_drawn and item.pk in there)]
    orders = shown_first(new, orders=run.orders, seed=run.seed, drawn=drawn)
    rows: list[tuple[int, str, int, str, str]] = []
    for item in items:
        had = there.get(item.pk, set())
        sides = orders.get(item.pk) or sorted({side for side, _ in had})
        skipped = _own_response(item, own)
        state = Judgment.State.SKIPPED if skipped else Judgment.State.PENDING
        rows += [
            (item.pk, first, sample, state.value, skipped)
            for sample in range(1, run.samples + 1)
            for first in sides
            if (first, sample) not in had
        ]
    return rows


def _own_response(item: Item, own: set[str]) -> str:
    """The reason why the judge must not judge an item: it, or its family, wrote a response."""
    if not own:
        return ""
    for side in ("r1", "r2"):
        source = item.response(side).get("generated_by") or {}
        for key in ("name", "family", "provider"):
            if (value := source.get(key)) and str(value).casefold() in own:
                return f"Response {side} comes from the judge's own {key}, {value}."
    return ""


def _insert(run: JudgeRun, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert judgments, in order, that are equal except for these columns.

    Nothing is asked before they are stored, and `bulk_create` takes several times as long, because
    it prepares every value of every row separately.
    """
    differ = ["item_id", "shown_first", "sample", "state", "error"]
    blank = Judgment(run=run)
    alike = {
        str(field.column): field.get_db_prep_save(field.pre_save(blank, add=True), connection)
        for field in Judgment._meta.concrete_fields
        if not field.primary_key and field.column not in differ
    }
    columns = ", ".join([*differ, *alike])
    row = f"({', '.join(['%s'] * len(differ))})"
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO judging_judgment ({columns})"  # noqa: S608 - names of columns
            f" SELECT v.*, {', '.join(['%s'] * len(alike))}"
            f" FROM (VALUES {', '.join([row] * len(rows))}) AS v",
            [*alike.values(), *(value for row in rows for value in row)],
        )
