"""Columns of whole numbers: by binary COPY on PostgreSQL, row by row on other databases.

PostgreSQL sends rows while others are read here, and no object of Python is made for a value.
"""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import BigIntegerField, Case, Expression, QuerySet, Value, When
from django.db.models.functions import Cast

from analysis.data.arrays import MISSING, Floats, Index

# Before the rows: a signature, flags, and the length of an empty extension. After them: -1.
_HEAD_BYTES, _END_BYTES = 19, 2


def number_columns(rows: QuerySet[Any], *columns: str | Expression) -> tuple[Index, ...]:
    """Columns of `rows`, which come in any order; each is a whole number and never NULL."""
    numbers = rows.order_by().values_list(*(Cast(each, BigIntegerField()) for each in columns))
    if connection.vendor == "postgresql":
        # Each row is the number of its columns, and for each its length and its value.
        row = np.dtype([("n", ">i2"), ("columns", [("n", ">i4"), ("value", ">i8")], len(columns))])
        table = np.frombuffer(_copied(numbers), dtype=row)["columns"]["value"]
    else:
        table = np.fromiter(numbers.iterator(), dtype=np.dtype((np.int64, len(columns))))
    return tuple(column.astype(np.int64) for column in table.T)


def number_of(field: str, texts: Sequence[str]) -> Case:
    """The position in `texts` of what a field holds; -1 if it is none of them."""
    cases = [When(**{field: text}, then=Value(n)) for n, text in enumerate(texts)]
    return Case(*cases, default=Value(-1))


def places_of(ids: Index, position: Mapping[int, int]) -> Index:
    """The position of each id; -1 for one that has none."""
    if not position:
        return np.full(ids.size, MISSING)
    known = np.array(sorted(position))
    at = np.minimum(np.searchsorted(known, ids), known.size - 1)
    places = np.array([position[each] for each in known.tolist()])
    return np.where(known[at] == ids, places[at], MISSING)


def or_nan(numbers: Index) -> Floats:
    """The numbers, with NaN where they are missing."""
    return np.where(numbers == MISSING, np.nan, numbers)


def _copied(rows: QuerySet[Any]) -> bytes | memoryview:
    """The rows as PostgreSQL sends them in the binary form of COPY."""
    try:
        statement, values = rows.query.sql_with_params()
    except EmptyResultSet:  # such as a filter for no number at all
        return b""
    sent = io.BytesIO()
    with connection.cursor() as cursor:
        query = cursor.mogrify(statement, values).decode()
        cursor.copy_expert(f"COPY ({query}) TO STDOUT (FORMAT binary)", sent)
    return sent.getbuffer()[_HEAD_BYTES:-_END_BYTES]
