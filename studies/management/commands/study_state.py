from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from studies.errors import StudyError
from studies.models import Study
from studies.services import set_state


class Command(BaseCommand):
    help = "Open, pause or close a study; the state that it has already changes nothing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument("state", choices=["open", "paused", "closed"])

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            study = Study.objects.get(slug=options["study"])
            study = set_state(study_id=study.pk, state=options["state"])
        except Study.DoesNotExist as error:
            raise CommandError(
                f"There is no study “{options['study']}”. Create it with create_study."
            ) from error
        except StudyError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"“{study.slug}” is {study.state}.")
