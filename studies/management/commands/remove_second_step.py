"""remove_second_step USER: let a user who lost phone and recovery codes sign in again."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from studies.services.accounts.second_steps import switch_off


class Command(BaseCommand):
    help = (
        "Remove the second step of signing in from an account whose owner lost the phone and the "
        "recovery codes. First make sure that the request comes from the owner."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", metavar="USER", help="user name of the account")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["user"]).first()
        if user is None:
            raise CommandError(f"There is no user “{options['user']}”.")
        if not switch_off(user=user):
            raise CommandError(f"“{options['user']}” has no second step. Nothing was changed.")
        self.stdout.write(f"“{options['user']}” can sign in with the password alone again.")
