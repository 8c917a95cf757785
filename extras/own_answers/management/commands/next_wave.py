"""next_wave STUDY --new SLUG: create the next wave of a study, and invite its people."""

from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from studies.management.terminal import explain, find_study


class Command(BaseCommand):
    help = (
        "Create a draft that asks the people of a study again, the next wave; with --invite, put "
        "everybody who completed the first wave on its list, or in a group on Prolific. Repeat "
        "it with --invite to add those who completed since."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the first wave or of a later one")
        parser.add_argument(
            "--new",
            required=True,
            metavar="SLUG",
            help="short name of the new wave, or of one to invite to",
        )
        parser.add_argument("--title", default="", help="title of the new wave")
        parser.add_argument(
            "--items",
            default="same",
            metavar="same|other|ID,ID",
            help="all items of STUDY (same), none (other), or those with these ids",
        )
        parser.add_argument("--invite", action="store_true", help="invite who completed")

    def handle(self, *args: Any, **options: Any) -> None:
        from annotation.prolific.api.transport import ProlificError
        from extras.own_answers.models import LaterWave
        from extras.own_answers.waves import invite_people, next_wave
        from extras.own_answers.waves_on_prolific import check_invitation, invite_on_prolific
        from studies.errors import StudyError
        from studies.models import Study

        study = find_study(options["study"], uses="own_answers")
        wave = LaterWave.objects.filter(study__slug=options["new"]).first()
        if wave is None:
            named = options["items"] not in ("same", "other")
            try:
                if options["invite"] and study.entry == Study.Entry.PROLIFIC:
                    check_invitation(study)
                made = next_wave(
                    study_id=study.pk,
                    slug=options["new"],
                    title=options["title"],
                    items="some" if named else options["items"],
                    keys=[key for key in options["items"].split(",") if key] if named else (),
                )
            except ValidationError as error:
                raise CommandError(explain(error)) from error
            except (StudyError, ProlificError) as error:
                raise CommandError(f"{error} No draft was created.") from error
            wave = LaterWave.objects.get(study=made)
            self.stdout.write(f"Created the draft “{made.slug}”, wave {wave.number}.")
        elif not options["invite"]:
            raise CommandError(f"“{options['new']}” is wave {wave.number} already. Add --invite.")
        if options["invite"]:
            on_prolific = wave.study.entry == Study.Entry.PROLIFIC
            try:
                found = (invite_on_prolific if on_prolific else invite_people)(wave_id=wave.pk)
            except (StudyError, ProlificError) as error:
                raise CommandError(str(error)) from error
            self.stdout.write(
                f"Invited: {found.added:,}. Already invited: {found.known:,}. Without an id: "
                f"{found.unreachable:,}."
            )
