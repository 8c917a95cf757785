"""backup FILE: everything that this installation needs after a loss, in one file; or back."""

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
        "Write the database and all files of this installation to one zip file with checksums, "
        "while it is in use. Passwords and tokens are included as hashes, sessions are not. --list "
        "shows earlier backups. --restore compares every checksum of a backup, then restores all "
        "rows and files or none: stop web servers and workers first; a database in use is refused."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", nargs="?", type=Path, help="a new file, or one to restore")
        parser.add_argument("--restore", action="store_true", help="restore FILE")
        parser.add_argument(
            "--replace",
            action="store_true",
            help="with --restore: delete everything in this installation first; asks you to type a "
            "word",
        )
        parser.add_argument(
            "--with-secret-key",
            action="store_true",
            help="include SECRET_KEY: without it, the restored installation cannot decrypt keys of "
            "judges, open signed links, or recognise returning participants; with it, anyone who "
            "has the file can. Protect such a file like a password",
        )
        parser.add_argument("--list", action="store_true", help="show earlier backups")

    def handle(self, *args: Any, **options: Any) -> None:
        from studies.models import Backup

        if options["list"]:
            for one in Backup.objects.all():
                there = "" if Path(one.file).is_file() else ", no longer there"
                self.stdout.write(
                    f"{one.taken_at:%Y-%m-%d %H:%M} UTC  {one.size:,} bytes  {one.file}{there}\n"
                    f"    sha256 {one.sha256}"
                )
            return
        if options["file"] is None:
            raise CommandError("Name a file: backup FILE.", returncode=2)
        if options["replace"] and not options["restore"]:
            raise CommandError("--replace is for --restore.", returncode=2)
        if options["restore"]:
            self._restore(options["file"], options["replace"])
        else:
            self._write(options["file"], options["with_secret_key"])

    def _write(self, path: Path, with_secret_key: bool) -> None:
        from extras.administration.backups import BackupError, make_backup
        from studies.management.terminal import of_the_disk

        try:
            bundle = make_backup(path, with_secret_key=with_secret_key)
        except BackupError as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(of_the_disk(error, path)) from error
        self.stdout.write(
            f"{path}: {bundle.rows:,} rows, {bundle.files:,} files, {bundle.backup.size:,} bytes.\n"
            f"sha256 {bundle.backup.sha256}"
        )
        if not with_secret_key:
            self.stdout.write(
                "SECRET_KEY is not in it. Keep the key elsewhere: stored keys of judges, signed "
                "links and recognising participants need it (--with-secret-key)."
            )

    def _restore(self, path: Path, is_replacing: bool) -> None:
        from extras.administration.backups import BackupError, first_table_in_use, restore_backup
        from studies.management.terminal import of_the_disk

        if is_replacing and first_table_in_use():
            self.stderr.write("This deletes everything in this installation. You cannot undo it.")
            try:
                word = input("Type replace to continue: ").strip()
            except EOFError:
                raise CommandError(
                    "Nothing changed: there is no terminal for typing the word. Run the command "
                    "in one, or pipe the word: echo replace | manage.py backup --restore --replace "
                    "FILE"
                ) from None
            if word != "replace":
                raise CommandError("Nothing changed.")
        try:
            done = restore_backup(path, replace=is_replacing)
        except BackupError as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"Nothing changed. {of_the_disk(error, path)}") from error
        self.stdout.write(
            f"Restored the state of {done.taken_at}: {done.rows:,} rows, {done.files:,} files."
        )
        if sentence := _KEYS[done.key].format(file=path):
            self.stdout.write(sentence)
        self.stdout.write("Restart the processes, then run doctor. Everybody must sign in again.")
