from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from annotation.services.endings import release_expired
from studies.management.terminal import find_study


class Command(BaseCommand):
    help = (
        "End the participation of annotators whose time is over and release their seats. The "
        "worker does this every minute. You can also run the command at any time."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "study", nargs="?", help="short name of one study (default: all studies)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"]) if options["study"] else None
        ended = release_expired(study_id=study.pk if study else None)
        self.stdout.write(f"Annotators whose time was over: {ended:,}. Their seats are free.")
