"""A copy of a study: its settings, and if wanted its items, for another round of answers."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Model, QuerySet

from studies.media import storage
from studies.models import FeatureSet, Item, Persona, Study
from studies.services.items.content_hash import study_content_hash
from studies.services.items.sampling import seat_items
from studies.services.studies import create_study, lock_study, record
from studies.statements import clock

M = TypeVar("M", bound=Model)
_AT_ONCE = 500
# A copy begins as a draft, with a seed and pseudonyms of its own, and without decisions that an
# owner took about its items.
_OWN = {
    "slug",
    "title",
    "state",
    "seed",
    "export_key",
    "version",
    "frozen_at",
    "archived_at",
    "content_hash",
    "sharing",
    "draw",
    "created_at",
}
_copiers: list[Callable[[Study, Study], None]] = []


def register(copier: Callable[[Study, Study], None]) -> None:
    """Add `copier(study, copy)` of another app's settings; a second call changes nothing."""
    if copier not in _copiers:
        _copiers.append(copier)


@transaction.atomic
def copy_study(
    *,
    study_id: int,
    slug: str,
    title: str,
    with_items: bool,
    only: Mapping[str, Mapping[str, Any]] | None = None,
    by: User | None = None,
    **changes: Any,
) -> Study:
    """A draft with the settings of a study, without its answers, judgments and reports.

    `only`: of the items that are judged, those with these keys, with notes to add to each. Without
    `by` nobody is its member. Raises `StudyError` if the short name is taken.
    """
    study = lock_study(study_id)
    settings = {
        name: value for name, value in values_of(study).items() if name not in _OWN | {*changes}
    }
    copy = create_study(slug=slug, title=title, owner=by, **settings, **changes)
    copy_rows(FeatureSet.objects.filter(study=study), study_id=copy.pk)
    for copier in _copiers:
        copier(study, copy)
    if with_items:
        copy_rows(Persona.objects.filter(study=study), study_id=copy.pk)
        _copy_items(study, copy)
        storage.copy(study, copy)
        if only is not None:
            _keep(copy, only)
        seat_items(copy)
        copy.content_hash = study_content_hash(copy)
        copy.save(update_fields=["content_hash"])
    else:
        Study.objects.filter(pk=copy.pk).update(source={})
    record(copy, "copied", user=by, of=study.slug, with_items=with_items)
    return copy


def _keep(copy: Study, only: Mapping[str, Mapping[str, Any]]) -> None:
    """Remove the other items from a copy, and personas that no item is about; add the notes."""
    items = {item.key: item for item in Item.objects.filter(study=copy)}
    away = [item.pk for key, item in items.items() if key not in only]
    for start in range(0, len(away), _AT_ONCE):
        Item.objects.filter(pk__in=away[start : start + _AT_ONCE]).delete()
    Persona.objects.filter(study=copy, all_items=None).delete()
    kept = [item for key, item in items.items() if key in only]
    for item in kept:
        item.metadata = item.metadata | dict(only[item.key])
    Item.objects.bulk_update(kept, ["metadata"], batch_size=_AT_ONCE)
    storage.forget_unused(copy)


def copy_rows(rows: QuerySet[M], **changes: Any) -> list[M]:
    """Store copies of rows of one model, with other values for some fields."""
    made = [type(row)(**values_of(row) | changes) for row in rows.order_by("pk")]
    stored: list[M] = rows.model._base_manager.bulk_create(made, batch_size=1000)
    return stored


def values_of(row: Model) -> dict[str, Any]:
    """The values of a row without its key, by column: `study_id`, not `study`."""
    return {
        field.attname: getattr(row, field.attname)
        for field in row._meta.concrete_fields
        if not field.primary_key
    }


def _copy_items(study: Study, copy: Study) -> None:
    """In one statement, because a study can have a hundred thousand items."""
    quote = connection.ops.quote_name
    own: dict[str, tuple[str, list[Any]]] = {
        "study_id": ("%s", [copy.pk]),
        "persona_id": ("theirs.id", []),
        "seats_taken": ("0", []),
        "answered": ("0", []),
        "draw_probability": ("NULL", []),
        "created_at": ("%s", [connection.ops.adapt_datetimefield_value(clock.now())]),
    }
    columns = [str(field.column) for field in Item._meta.concrete_fields if not field.primary_key]
    values = [own.get(column, (f"item.{quote(column)}", [])) for column in columns]
    table, personas = quote(Item._meta.db_table), quote(Persona._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} ({', '.join(map(quote, columns))})"  # noqa: S608
            f" SELECT {', '.join(sql for sql, _ in values)} FROM {table} item"
            f" JOIN {personas} ours ON ours.id = item.persona_id"
            f" JOIN {personas} theirs ON theirs.study_id = %s AND theirs.key = ours.key"
            " WHERE item.study_id = %s ORDER BY item.id",
            [*(value for _, given in values for value in given), copy.pk, study.pk],
        )
