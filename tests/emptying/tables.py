"""The rows that a test left, deleted."""

from functools import cache

from django.db import connection, transaction

# Written by the migrations, and the same for every test.
KEPT = {"django_content_type", "auth_permission"}


def empty_tables() -> None:
    """Delete the rows that are there."""
    tables = _tables(connection.settings_dict["NAME"])
    found = " UNION ALL ".join(
        f"SELECT {number} WHERE EXISTS (SELECT 1 FROM {table})"
        for number, table in enumerate(tables)
    )
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(found)
        for (number,) in cursor.fetchall():
            cursor.execute(f"DELETE FROM {tables[number]}")


@cache
def _tables(_database: str) -> list[str]:
    """The tables of a database, which are the same after every test."""
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    return [connection.ops.quote_name(name) for name in names if name not in KEPT]
