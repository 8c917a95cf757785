from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from annotation.models import ProlificIdentity
from annotation.services.identities import purge_identities
from studies.management.terminal import find_study
from studies.services.whole_studies import backups_sentence


class Command(BaseCommand):
    help = (
        "Delete the platform ids of all annotators of a study. The answers stay, under pseudonyms, "
        "and a keyed hash prevents people from taking part twice. Pay first: this cannot be undone."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument("--dry-run", action="store_true", help="count, delete nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        if options["dry_run"]:
            count = ProlificIdentity.objects.filter(annotator__study=study).count()
            self.stdout.write(f"Annotators whose ids would be deleted: {count:,}.")
            return
        count = purge_identities(study_id=study.pk)
        self.stdout.write(f"Annotators whose ids were deleted: {count:,}.")
        self.stdout.write(backups_sentence(study))
