"""Drop tables of extras that are gone: nothing would delete a person's rows in them any more."""

from typing import Any

from django.db import migrations

# A table that refers to another comes before it.
TABLES = [
    "authenticity_authenticityresult",
    "prolific_messages_messagerecipient",
    "prolific_messages_prolificmessage",
    "prolific_messages_unreadmessages",
]


def drop(apps: Any, schema_editor: Any) -> None:
    connection = schema_editor.connection
    there = set(connection.introspection.table_names())
    with connection.cursor() as cursor:
        for name in TABLES:
            if name in there:
                cursor.execute(f"DROP TABLE {name}")


class Migration(migrations.Migration):
    dependencies = [("api", "0001_initial")]
    operations = [migrations.RunPython(drop, migrations.RunPython.noop)]
