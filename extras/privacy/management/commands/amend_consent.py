from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from extras.privacy.amendments import (
    AMENDED_FIELDS,
    AmendmentError,
    amend_consent,
    changes,
    current_text,
)
from studies.management.terminal import find_study, read_settings


class Command(BaseCommand):
    help = "Store a new version of a study's consent, and show what it changes."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument(
            "--from",
            dest="file",
            type=Path,
            metavar="FILE.toml",
            required=True,
            help=f"the new texts, by name: {', '.join(AMENDED_FIELDS)}; others stay",
        )
        parser.add_argument(
            "--note",
            metavar="TEXT",
            required=True,
            help="why the text changes, and what the ethics board decided about asking again",
        )
        who = parser.add_mutually_exclusive_group(required=True)
        who.add_argument(
            "--ask-again",
            action="store_true",
            help="people who are under way agree to the new version before they go on",
        )
        who.add_argument(
            "--keep",
            action="store_true",
            help="people who are under way go on under the version that they agreed to",
        )
        parser.add_argument("--dry-run", action="store_true", help="show it and store nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        fields = read_settings(options["file"], AMENDED_FIELDS)
        if wrong := [name for name, value in fields.items() if not isinstance(value, str)]:
            raise CommandError(f"{options['file']}: {wrong[0]} is not a text.", returncode=2)
        before = current_text(study)
        try:
            with transaction.atomic():
                asked = amend_consent(
                    study_id=study.pk,
                    fields=fields,
                    note=options["note"],
                    asks_again=options["ask_again"],
                )
                study.refresh_from_db()
                after = current_text(study)
                transaction.set_rollback(options["dry_run"])
        except AmendmentError as error:
            raise CommandError(str(error), returncode=2) from None
        for change in changes(before, after):
            self.stdout.write(f"{change.sign or ' '} {change.line}")
        state = "Nothing was stored" if options["dry_run"] else f"Version {after.version[:12]}"
        people = f"{asked:,} {'person' if asked == 1 else 'people'} would be asked again"
        if not options["dry_run"]:
            people = f"{asked:,} {'person is' if asked == 1 else 'people are'} asked again"
        self.stdout.write(f"{state}; {people}.")
