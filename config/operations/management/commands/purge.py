"""purge STUDY: delete a study or its platform ids, and list backups that still contain them."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from studies.management.terminal import find_study
from studies.models import Study


class Command(BaseCommand):
    help = (
        "Delete an archived study or a draft with everything in it, after you type its short name. "
        "With --identities, delete only the platform ids of its annotators: answers stay, under "
        "pseudonyms, and a keyed hash prevents people from taking part twice; pay first. Neither "
        "can be undone. Lists backups that may still contain what was deleted."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument(
            "--identities", action="store_true", help="delete the platform ids of annotators only"
        )
        parser.add_argument("--dry-run", action="store_true", help="count, delete nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        if options["identities"]:
            self._identities(study, is_dry_run=options["dry_run"])
        else:
            self._study(study, is_dry_run=options["dry_run"])

    def _identities(self, study: Study, *, is_dry_run: bool) -> None:
        from annotation.models import ProlificIdentity
        from annotation.services.identities import purge_identities
        from studies.services.whole_studies import backups_sentence

        if is_dry_run:
            count = ProlificIdentity.objects.filter(annotator__study=study).count()
            self.stdout.write(f"Annotators whose ids would be deleted: {count:,}.")
            return
        count = purge_identities(study_id=study.pk)
        self.stdout.write(f"Annotators whose ids were deleted: {count:,}.")
        self.stdout.write(backups_sentence(study))

    def _study(self, study: Study, *, is_dry_run: bool) -> None:
        from studies.errors import StudyError
        from studies.services.whole_studies import backups_sentence, content_of, delete_study

        content, backups = content_of(study), backups_sentence(study)
        for name, count in content.counts:
            self.stdout.write(f"{name}: {count:,}")
        self.stdout.write(backups)
        if content.obstacles:
            raise CommandError(" ".join(content.obstacles))
        if is_dry_run:
            return
        if input(f"Type {study.slug} to delete it: ").strip() != study.slug:
            raise CommandError("Nothing was deleted.")
        try:
            delete_study(study_id=study.pk, by=None)
        except StudyError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"“{study.title}” was deleted. Backups did not change.")
