"""files: show where generated files are kept, and move them to another storage."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    help = (
        "Show where this installation keeps uploads, reports and exports. Exits with 1 if these "
        "settings (FILES, VAR_DIR) keep them elsewhere."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        change = parser.add_mutually_exclusive_group()
        change.add_argument(
            "--adopt",
            action="store_true",
            help="accept the place in these settings, after you moved or restored the files",
        )
        change.add_argument(
            "--copy-from",
            metavar="STORAGE",
            help="copy all files from another storage (folder or s3://bucket/prefix) to that of "
            "these settings, compare them, and adopt it; stop the other processes first",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        from config.operations.stored_files import CopyError, copy_from
        from studies.management.terminal import of_the_disk

        if source := options["copy_from"]:
            try:
                copied = copy_from(source)
            except CopyError as error:
                raise CommandError(str(error)) from error
            except OSError as error:
                raise CommandError(of_the_disk(error)) from error
            self.stdout.write(f"Copied {copied:,} files. The old storage is unchanged.")
        try:
            self._show_or_adopt(adopt=options["adopt"] or bool(source))
        except OSError as error:
            raise CommandError(of_the_disk(error)) from error

    def _show_or_adopt(self, *, adopt: bool) -> None:
        from config.operations.stored_files import totals
        from studies.file_storage.storage import adopt_location, files_storage, wrong_location

        if adopt:
            self.stdout.write(f"Files are in {adopt_location()}.")
            return
        if sentence := wrong_location():
            raise CommandError(sentence)
        self.stdout.write(f"Files are in {files_storage().location_id()[1]}.")
        for kind, size, count in totals():
            self.stdout.write(f"  {kind}: {count:,} files, {size:,} bytes")
