from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from annotation.services.expiry import release_expired
from studies.management.study_lookup import find_study


class Command(BaseCommand):
    help = (
        "End the part of everybody whose time is over, so that their seats and places come back. "
        "The worker does so every minute; running it by hand as well is safe."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--study", help="short name of one study; without it, all")

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"]) if options["study"] else None
        ended = release_expired(study_id=study.pk if study else None)
        self.stdout.write(f"People whose time was over: {ended:,}. What they held is free.")
