"""restore FILE: replace this installation by a backup."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

_KEYS = {
    "same": "",
    "written": "This installation now uses the key of the backup.",
    "in the backup": ("The backup has a different SECRET_KEY. Set it: unzip -p {file} secret_key"),
    "missing": (
        "The backup was made with a different SECRET_KEY, which it does not contain. Set the old "
        "key: without it, stored keys of judges must be entered again, signed links are invalid, "
        "and returning participants are not recognised."
    ),
}


class Command(BaseCommand):
    help = (
        "Restore a backup: compare every checksum, then restore all rows and files or none. Stop "
        "web servers and workers first. Refuses a database that is in use."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="a file that backup wrote")
        parser.add_argument(
            "--replace",
            action="store_true",
            help="delete everything in this installation first; asks you to type a word",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        from extras.administration.backups import BackupError, first_table_in_use, restore_backup

        path: Path = options["file"]
        if options["replace"] and first_table_in_use():
            self.stderr.write("This deletes everything in this installation. You cannot undo it.")
            try:
                word = input("Type replace to continue: ").strip()
            except EOFError:
                raise CommandError(
                    "Nothing changed: there is no terminal for typing the word. Run the command in "
                    "one, or pipe the word: echo replace | manage.py restore FILE --replace"
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
        self.stdout.write("Restart the processes, then run doctor. Everybody must sign in again.")
