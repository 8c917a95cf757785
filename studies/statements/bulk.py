"""Many rows into one table at once: by COPY on PostgreSQL, by one prepared INSERT on SQLite.

Model instances take several times as long, because Django prepares each value of each row.
"""

import io
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.db import connection, models

from studies.statements import clock


def insert_rows(
    model: type[models.Model], names: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Insert rows with values for the fields `names`; a foreign key is given by its id.

    Every other field has its default in all rows. Values are stored as they are: the caller has
    checked them. Signals are not sent.
    """
    fields = {field.name: field for field in model._meta.concrete_fields}
    given = [fields.pop(name) for name in names]
    others = [field for field in fields.values() if not field.primary_key]
    defaults = [_default(field) for field in others]
    converters = [(n, found) for n, field in enumerate(given) if (found := _converter(field))]
    cells = []
    for row in rows:
        values = [*row, *defaults]
        for n, convert in converters:
            values[n] = convert(values[n])
        cells.append(values)
    if cells:
        _insert(model._meta.db_table, [str(field.column) for field in (*given, *others)], cells)


def _default(field: Any) -> Any:
    value = clock.now() if getattr(field, "auto_now_add", False) else field.get_default()
    convert = _converter(field)
    return convert(value) if convert else value


def _converter(field: Any) -> Callable[[Any], Any] | None:
    if isinstance(field, models.JSONField):
        return _json
    if isinstance(field, models.DateTimeField):
        return connection.ops.adapt_datetimefield_value
    return None


def _json(value: Any) -> str | None:
    """As Django stores it: nothing is NULL, not the null of JSON."""
    return None if value is None else json.dumps(value)


def _insert(table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    quote = connection.ops.quote_name
    into = f"{quote(table)} ({', '.join(map(quote, columns))})"
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            lines = "".join("\t".join(map(_copied, row)) + "\n" for row in rows)
            cursor.copy_expert(f"COPY {into} FROM STDIN", io.StringIO(lines))
        else:
            places = ", ".join(["%s"] * len(columns))
            cursor.executemany(f"INSERT INTO {into} VALUES ({places})", rows)  # noqa: S608


def _copied(value: Any) -> str:
    """A value in the text format of COPY."""
    if value is None:
        return r"\N"
    text = value if isinstance(value, str) else str(value)
    for sign, escaped in (("\\", r"\\"), ("\t", r"\t"), ("\n", r"\n"), ("\r", r"\r")):
        if sign in text:
            text = text.replace(sign, escaped)
    return text
