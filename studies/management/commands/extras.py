from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from studies.errors import StudyError
from studies.extra import current_name, extras_for_studies
from studies.management.terminal import find_study
from studies.services.extras import extras_in, set_extras


class Command(BaseCommand):
    help = "List the designs and analyses of a study, and turn them on or off."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument("--on", action="append", default=[], metavar="NAME", help="repeatable")
        parser.add_argument("--off", action="append", default=[], metavar="NAME", help="repeatable")

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        if options["on"] or options["off"]:
            known = extras_for_studies()
            on, off = (set(map(current_name, options[option])) for option in ("on", "off"))
            for name in sorted(on | off):
                if name not in known:
                    raise CommandError(
                        f"There is no extra “{name}”. Use names of: {', '.join(known)}."
                    )
            try:
                set_extras(study, {*study.extras, *on} - off)
            except StudyError as error:
                raise CommandError(str(error)) from error
        for row in extras_in(study):
            state = "on " if row.is_on else "off"
            self.stdout.write(f"{state}  {row.extra.name:20}  {row.extra.summary}")
