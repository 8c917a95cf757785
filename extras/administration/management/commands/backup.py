"""backup FILE: everything that this installation needs after a loss, in one file."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    help = (
        "Write the database and all files of this installation to one zip file with checksums, "
        "while it is in use. Passwords and tokens are included as hashes, sessions are not. --list "
        "shows earlier backups."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", nargs="?", type=Path, help="a new file, for example x.zip")
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
        self._write(options["file"], options["with_secret_key"])

    def _write(self, path: Path, with_secret_key: bool) -> None:
        from extras.administration.backups import BackupError, make_backup

        try:
            made = make_backup(path, with_secret_key=with_secret_key)
        except (BackupError, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"{path}: {made.rows:,} rows, {made.files:,} files, {made.backup.size:,} bytes.\n"
            f"sha256 {made.backup.sha256}"
        )
        if not with_secret_key:
            self.stdout.write(
                "SECRET_KEY is not in it. Keep the key elsewhere: stored keys of judges, signed "
                "links and recognising participants need it (--with-secret-key)."
            )
