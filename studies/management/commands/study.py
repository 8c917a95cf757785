"""study STUDY: its state and its extras, and what changes them."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from studies.errors import StudyError
from studies.extra import current_name, extras_for_studies
from studies.management.terminal import find_study
from studies.models import Study
from studies.services.extras import extras_in, set_extras
from studies.services.studies import change_state


class Command(BaseCommand):
    help = (
        "Say which state a study has and which designs and analyses are on; or open, pause or "
        "close it, and turn designs and analyses on or off. Repeating it changes nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument("state", nargs="?", choices=["open", "paused", "closed"])
        parser.add_argument("--on", action="append", default=[], metavar="NAME", help="repeatable")
        parser.add_argument("--off", action="append", default=[], metavar="NAME", help="repeatable")

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        try:
            if options["on"] or options["off"]:
                self._turn(study, options)
            if options["state"]:
                study, notes = change_state(study_id=study.pk, state=options["state"])
        except StudyError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"“{study.slug}” is {study.state}.")
        if options["state"]:
            for note in notes:
                (self.stderr if note.is_problem else self.stdout).write(note.text)
            return
        for one in extras_in(study):
            state = "on " if one.is_on else "off"
            self.stdout.write(f"{state}  {one.extra.name:20}  {one.extra.summary}")

    def _turn(self, study: Study, options: dict[str, Any]) -> None:
        known = extras_for_studies()
        on, off = (set(map(current_name, options[option])) for option in ("on", "off"))
        for name in sorted(on | off):
            if name not in known:
                raise CommandError(f"There is no extra “{name}”. Use names of: {', '.join(known)}.")
        set_extras(study, {*study.extras, *on} - off)
