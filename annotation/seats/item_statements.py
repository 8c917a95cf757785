"""What the item page, an answer and every step read and write, as plain SQL.

Nearly every request of an open study sends these statements. Django takes longer to build each one
than the database to run it: with query sets instead of this module, an item page and an answer took
twice the processor time, and the locks of a step five times as much.
"""

import datetime as dt
import json
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection, models

from annotation.models import Annotation, Annotator, Assignment, Draft
from studies.models import Item, Persona, Study
from studies.statements.bulk import Statements, execute

Row = TypeVar("Row", bound=models.Model)
_LOCKED_ITEM = ("id", "study_id", "task", "split", "advice")


class _Columns(Generic[Row]):
    """The columns of a table in a statement, id first, and the object made of them.

    Columns other than `names` are read on access, as in a query set with `only`.
    """

    def __init__(self, model: type[Row], names: Sequence[str] = ()) -> None:
        self.model = model
        fields = [f for f in model._meta.concrete_fields if not names or f.attname in names]
        self._names = [field.attname for field in fields]
        self.size = len(fields)
        self.sql = ", ".join(f'{model._meta.db_table}."{field.column}"' for field in fields)
        self._converters = [
            (place, convert) for place, field in enumerate(fields) if (convert := _converter(field))
        ]

    def object(self, values: Sequence[Any]) -> Row | None:
        """The object; None where a LEFT JOIN found none."""
        if values[0] is None:
            return None
        read = list(values)
        for place, convert in self._converters:
            if read[place] is not None:
                read[place] = convert(read[place])
        return self.model.from_db(DEFAULT_DB_ALIAS, self._names, read)


def _converter(field: "models.Field[Any, Any]") -> Callable[[Any], Any] | None:
    """Django's conversion of a value that the driver returns."""
    if isinstance(field, models.JSONField):
        return json.loads
    if isinstance(field, models.DateTimeField) and connection.vendor == "sqlite":
        return partial(dt.datetime.replace, tzinfo=dt.UTC)
    return None


_columns = cache(_Columns)


def _row(columns: Sequence[_Columns[Any]], rest: str, *arguments: Any) -> list[Any] | None:
    """The objects of the only row of a SELECT of these columns; None without a row."""
    sql = f"SELECT {', '.join(part.sql for part in columns)} {rest}"
    with connection.cursor() as cursor:
        execute(cursor, sql, arguments)
        row = cursor.fetchone()
    if row is None:
        return None
    objects, start = [], 0
    for part in columns:
        objects.append(part.object(row[start : start + part.size]))
        start += part.size
    return objects


def annotator_of(slug: str, annotator_id: int) -> Annotator | None:
    """The annotator with this id in study `slug`, with the study."""
    objects = _row(
        [_columns(Annotator), _columns(Study)],
        "FROM annotation_annotator JOIN studies_study"
        " ON studies_study.id = annotation_annotator.study_id"
        " WHERE annotation_annotator.id = %s AND studies_study.slug = %s",
        annotator_id,
        slug,
    )
    if objects is None:
        return None
    annotator: Annotator = objects[0]
    annotator.study = objects[1]
    return annotator


def locked_annotator(annotator_id: int, *, with_study: bool) -> Annotator:
    """The annotator, locked, and the study, which is locked before if asked for.

    Raises `Annotator.DoesNotExist`, and an error outside a transaction, which would hold no lock.
    """
    if not connection.in_atomic_block:
        raise RuntimeError("a lock needs a transaction")
    study = _row(
        [_columns(Study)],
        "FROM studies_study JOIN annotation_annotator"
        " ON annotation_annotator.study_id = studies_study.id WHERE annotation_annotator.id = %s"
        + (_lock("studies_study") if with_study else ""),
        annotator_id,
    )
    # Read after the wait for the study.
    objects = _row(
        [_columns(Annotator)],
        "FROM annotation_annotator WHERE id = %s" + _lock("annotation_annotator"),
        annotator_id,
    )
    if study is None or objects is None:
        raise Annotator.DoesNotExist(f"there is no annotator {annotator_id}")
    annotator: Annotator = objects[0]
    annotator.study = study[0]
    return annotator


def _lock(tables: str) -> str:
    return f" FOR NO KEY UPDATE OF {tables}" if connection.features.has_select_for_update else ""


def assignment_at(annotator: Annotator, position: int) -> Assignment:
    """The annotator's assignment at a position, with item, persona, study, answer and draft.

    Raises `Assignment.DoesNotExist`.
    """
    objects = _row(
        [_columns(model) for model in (Assignment, Item, Persona, Annotation, Draft)],
        "FROM annotation_assignment"
        " JOIN studies_item ON studies_item.id = annotation_assignment.item_id"
        " JOIN studies_persona ON studies_persona.id = studies_item.persona_id"
        " LEFT JOIN annotation_annotation"
        " ON annotation_annotation.assignment_id = annotation_assignment.id"
        " LEFT JOIN annotation_draft ON annotation_draft.assignment_id = annotation_assignment.id"
        " WHERE annotation_assignment.annotator_id = %s AND annotation_assignment.position = %s",
        annotator.pk,
        position,
    )
    if objects is None:
        raise Assignment.DoesNotExist(f"annotator {annotator.pk} has nothing at {position}")
    assignment: Assignment = objects[0]
    assignment.annotator, assignment.item = annotator, objects[1]
    assignment.item.study, assignment.item.persona = annotator.study, objects[2]
    # Caches a missing row too, so that it is not queried again.
    for name, one in (("annotation", objects[3]), ("draft", objects[4])):
        Assignment._meta.get_field(name).set_cached_value(assignment, one)  # type: ignore[union-attr]
    return assignment


def locked_assignment(assignment_id: int, annotator_id: int) -> Assignment:
    """The assignment with its annotator and a part of its item, both of the former locked.

    The order after OF is the lock order: a transaction that ends this annotator's part takes the
    annotator's lock first too, so neither waits for the other's assignments. Raises
    `Assignment.DoesNotExist`.
    """
    objects = _row(
        [_columns(Assignment), _columns(Annotator), _columns(Item, _LOCKED_ITEM)],
        "FROM annotation_assignment"
        " JOIN annotation_annotator"
        " ON annotation_annotator.id = annotation_assignment.annotator_id"
        " JOIN studies_item ON studies_item.id = annotation_assignment.item_id"
        " WHERE annotation_assignment.id = %s AND annotation_assignment.annotator_id = %s"
        + _lock("annotation_annotator, annotation_assignment"),
        assignment_id,
        annotator_id,
    )
    if objects is None:
        raise Assignment.DoesNotExist(f"{assignment_id}, of annotator {annotator_id}")
    assignment: Assignment = objects[0]
    assignment.annotator, assignment.item = objects[1:]
    return assignment


def answers_so_far(annotator_id: int) -> list[tuple[int, str, int | None, int | None, int | None]]:
    """Each assignment's position, state, and answer's id, active and elapsed ms, in order."""
    with connection.cursor() as cursor:
        execute(
            cursor,
            "SELECT assignment.position, assignment.state, answer.id, answer.active_ms,"
            " answer.elapsed_ms FROM annotation_assignment assignment"
            " LEFT JOIN annotation_annotation answer ON answer.assignment_id = assignment.id"
            " WHERE assignment.annotator_id = %s ORDER BY assignment.position",
            [annotator_id],
        )
        return cursor.fetchall()


def mark_answered(assignment: Assignment, *, is_counted: bool) -> None:
    """Store that a locked assignment is answered, and count the answer of its item."""
    assignment.state = Assignment.State.ANSWERED
    with connection.cursor() as cursor:
        statements = Statements(cursor)
        sql = "UPDATE annotation_assignment SET state = %s WHERE id = %s"
        statements.add(sql, [(Assignment.State.ANSWERED.value, assignment.pk)])
        if is_counted:
            sql = "UPDATE studies_item SET answered = answered + 1 WHERE id = %s"
            statements.add(sql, [(assignment.item_id,)])
        statements.execute()


def delete_draft(assignment_id: int) -> None:
    with connection.cursor() as cursor:
        sql = "DELETE FROM annotation_draft WHERE assignment_id = %s"
        execute(cursor, sql, [assignment_id])


def insert(row: Row) -> Row:
    """Store a new object, as its `save` does, but without signals and checks of the values.

    Each field's own preparation would take a tenth of the calls of an answer.
    """
    names, moments, documents, sql = _insertion(type(row))
    values = {name: getattr(row, name) for name in names}
    with connection.cursor() as cursor:
        for field in moments:
            values[field.attname] = cursor.db.ops.adapt_datetimefield_value(
                field.pre_save(row, add=True)
            )
        for name in documents:
            if values[name] is not None:
                values[name] = json.dumps(values[name])
        execute(cursor, sql, list(values.values()))
        row.pk = cursor.fetchone()[0]
    return row


def update(row: models.Model, names: Sequence[str]) -> None:
    """Store these fields of an object, as its `save` does, but without signals and checks."""
    moments, sql = _change(type(row), tuple(names))
    with connection.cursor() as cursor:
        moment = cursor.db.ops.adapt_datetimefield_value
        values = [
            moment(getattr(row, name)) if name in moments else getattr(row, name) for name in names
        ]
        execute(cursor, sql, [*values, row.pk])


@cache
def _change(model: type[models.Model], names: tuple[str, ...]) -> tuple[frozenset[str], str]:
    fields = [model._meta.get_field(name) for name in names]
    moments = frozenset(field.name for field in fields if isinstance(field, models.DateTimeField))
    changes = ", ".join(f"{field.column} = %s" for field in fields)  # type: ignore[union-attr]
    return moments, f"UPDATE {model._meta.db_table} SET {changes} WHERE id = %s"  # noqa: S608


@cache
def _insertion(
    model: type[models.Model],
) -> tuple[list[str], list["models.DateTimeField[Any, Any]"], list[str], str]:
    """The columns of a table, its moments, its columns with JSON, and the statement."""
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    moments = [field for field in fields if isinstance(field, models.DateTimeField)]
    documents = [field.attname for field in fields if isinstance(field, models.JSONField)]
    into = f"{model._meta.db_table} ({', '.join(str(field.column) for field in fields)})"
    places = ", ".join(["%s"] * len(fields))
    sql = f"INSERT INTO {into} VALUES ({places}) RETURNING id"  # noqa: S608
    return [field.attname for field in fields], moments, documents, sql
