"""purge STUDY: delete a study permanently, and list backups that still contain it."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from studies.management.terminal import find_study


class Command(BaseCommand):
    help = (
        "Delete an archived study or a draft with everything in it, and list backups that may "
        "still contain it. Asks you to type its short name."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument("--dry-run", action="store_true", help="count, delete nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        from studies.errors import StudyError
        from studies.services.whole_studies import backups_sentence, content_of, delete_study

        study = find_study(options["study"])
        content, backups = content_of(study), backups_sentence(study)
        for name, count in content.counts:
            self.stdout.write(f"{name}: {count:,}")
        self.stdout.write(backups)
        if content.obstacles:
            raise CommandError(" ".join(content.obstacles))
        if options["dry_run"]:
            return
        if input(f"Type {study.slug} to delete it: ").strip() != study.slug:
            raise CommandError("Nothing was deleted.")
        try:
            delete_study(study_id=study.pk, by=None)
        except StudyError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"“{study.title}” was deleted. Backups did not change.")
