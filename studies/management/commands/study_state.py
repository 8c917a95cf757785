from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from studies.errors import StudyError
from studies.management.terminal import find_study
from studies.services.studies import change_state


class Command(BaseCommand):
    help = "Open, pause or close a study. Setting the current state again changes nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument("state", choices=["open", "paused", "closed"])

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        try:
            study, notes = change_state(study_id=study.pk, state=options["state"])
        except StudyError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"“{study.slug}” is {study.state}.")
        for note in notes:
            (self.stderr if note.is_problem else self.stdout).write(note.text)
