"""`flush` of the tests, which Django calls after each test that committed.

Django's own empties every table and then writes the kept ones again.
"""

from django.core.management.base import BaseCommand

from tests.emptying.tables import empty_tables


class Command(BaseCommand):
    help = "Delete the rows that are there."
    stealth_options = (
        "interactive",
        "database",
        "reset_sequences",
        "allow_cascade",
        "inhibit_post_migrate",
    )

    def handle(self, *args: object, **options: object) -> None:
        empty_tables()
