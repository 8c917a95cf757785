"""first_account: print the address of the site and the code for its first account."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from studies.services.accounts import first_account


class Command(BaseCommand):
    help = (
        "Print the site's address and, if there is no account yet, the code with which its first "
        "visitor makes one. The server prints both when it starts."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"\nOpen {settings.PUBLIC_BASE_URL}/")
        if first_account.is_needed():
            self.stdout.write(first_account.sentence(*first_account.new_code()))
