"""restore FILE: put a backup in the place of this installation."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

_KEYS = {
    "same": "",
    "written": "The key of the backup is now that of this installation.",
    "in the backup": (
        "The backup has another SECRET_KEY than this installation. Set it: unzip -p {file} "
        "secret_key"
    ),
    "missing": (
        "The backup was made with another SECRET_KEY, and does not hold it. Set the old one: "
        "without it stored keys of judges must be entered again, signed links are invalid, and "
        "participants who come again are not recognised."
    ),
}


class Command(BaseCommand):
    help = (
        "Restore a backup: every checksum is compared first, then all rows and files are restored "
        "or none. Stop web servers and workers before. Refuses a database that is in use."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="a file that backup wrote")
        parser.add_argument(
            "--replace",
            action="store_true",
            help="delete everything that is in this installation first; asks you to type a word",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        from config.operations.backups import BackupError, first_table_in_use, restore_backup

        path: Path = options["file"]
        if options["replace"] and first_table_in_use():
            self.stderr.write("Everything in this installation is deleted. There is no way back.")
            try:
                word = input("Type replace to continue: ").strip()
            except EOFError:
                raise CommandError(
                    "Nothing changed: there is no terminal to type the word in. Run the command in "
                    "one, or give it the word: echo replace | manage.py restore FILE --replace"
                ) from None
            if word != "replace":
                raise CommandError("Nothing changed.")
        try:
            done = restore_backup(path, replace=options["replace"])
        except (BackupError, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"Restored the state of {done.taken_at}: {done.rows:,} rows, {done.files:,} files."
        )
        if sentence := _KEYS[done.key].format(file=path):
            self.stdout.write(sentence)
        self.stdout.write("Start the processes again, then run doctor. Everybody signs in again.")
