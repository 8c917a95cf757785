"""account: the code for the first account; or the end of a second step that somebody lost."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from studies.services.accounts import first_account
from studies.services.accounts.second_steps import switch_off


class Command(BaseCommand):
    help = (
        "Print the site's address and, if there is no account yet, the code with which its first "
        "visitor makes one. The server prints both when it starts. With --remove-second-step, let "
        "a user who lost phone and recovery codes sign in with the password alone. First make sure "
        "that the request comes from the owner of the account."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--remove-second-step", metavar="USER", help="name of the user")

    def handle(self, *args: Any, **options: Any) -> None:
        if (name := options["remove_second_step"]) is not None:
            self._remove_second_step(name)
            return
        self.stdout.write(f"\nOpen {settings.PUBLIC_BASE_URL}/")
        if first_account.is_needed():
            self.stdout.write(first_account.sentence(*first_account.new_code()))

    def _remove_second_step(self, name: str) -> None:
        user = User.objects.filter(username=name).first()
        if user is None:
            raise CommandError(f"There is no user “{name}”.")
        if not switch_off(user=user):
            raise CommandError(f"“{name}” has no second step. Nothing was changed.")
        self.stdout.write(f"“{name}” can sign in with the password alone again.")
