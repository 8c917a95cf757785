"""apply study.toml: show how a study differs from its files, and with --yes change it."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from extras.editing.applying import apply_study
from studies.errors import StudyError

DIFFERS = 3


class Command(BaseCommand):
    help = (
        "Show how a study differs from its study.toml and the files that this names. With --yes, "
        "change the study; without it, nothing changes, and the exit code is 3 if something "
        "differs. A study that does not exist is created as a draft."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, metavar="study.toml")
        how = parser.add_mutually_exclusive_group()
        how.add_argument("--yes", action="store_true", help="change the study")
        how.add_argument(
            "--dry-run", action="store_true", help="show the changes; change nothing, exit with 0"
        )
        parser.add_argument(
            "--owner", metavar="USERNAME", help="user who can see and change a new study"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        try:
            owner = User.objects.get(username=options["owner"]) if options["owner"] else None
            applied = apply_study(path, store=options["yes"], owner=owner)
        except User.DoesNotExist as error:
            raise CommandError(f"There is no user “{options['owner']}”.") from error
        except StudyError as error:
            raise CommandError(f"{error}\nNothing was changed.") from error
        for line in applied.changes:
            self.stdout.write(line)
        for remark in applied.remarks:
            self.stderr.write(remark)
        if not applied.changes:
            self.stdout.write(f"“{applied.slug}” does not differ from {path}.")
        elif options["dry_run"]:
            self.stdout.write("Nothing was changed.")
        elif not applied.is_stored:
            verb = "create" if applied.is_new else "change"
            raise CommandError(
                f"Nothing was changed. Add --yes to {verb} “{applied.slug}”.", returncode=DIFFERS
            )
        else:
            words = "Created the draft" if applied.is_new else "Changed"
            self.stdout.write(f"{words} “{applied.slug}”.")
