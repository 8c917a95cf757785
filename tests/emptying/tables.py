"""The rows that a test left, deleted."""

from functools import cache

from django.db import connection, transaction

# Written by the migrations, and the same for every test.
KEPT = {"django_content_type", "auth_permission"}
# Tables that ever had a row: to plan a look into all of them takes PostgreSQL 10 ms.
USED = """
SELECT relname FROM pg_class
WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND pg_relation_size(oid) > 0
"""
# Nothing is left that could refer to a deleted row, and a superuser may have nobody look.
UNCHECKED = """
SELECT set_config('session_replication_role', 'replica', true)
FROM pg_roles WHERE rolname = current_user AND rolsuper
"""


def empty_tables() -> None:
    """Delete the rows that are there."""
    tables = _tables(connection.settings_dict["NAME"])
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(UNCHECKED)
            cursor.execute(USED)
            used = {name for (name,) in cursor.fetchall()}
            tables = [name for name in tables if name in used]
        found = " UNION ALL ".join(
            f"SELECT {number} WHERE EXISTS (SELECT 1 FROM {connection.ops.quote_name(table)})"
            for number, table in enumerate(tables)
        )
        cursor.execute(found or "SELECT 1 WHERE false")
        for (number,) in cursor.fetchall():
            cursor.execute(f"DELETE FROM {connection.ops.quote_name(tables[number])}")


@cache
def _tables(_database: str) -> list[str]:
    """The tables of a database, which are the same after every test."""
    names = connection.introspection.django_table_names(only_existing=True, include_views=False)
    return [name for name in names if name not in KEPT]
