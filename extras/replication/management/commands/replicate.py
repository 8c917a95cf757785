import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from analysis.errors import ForeignFiles
from studies.management.terminal import progress_bar


class Command(BaseCommand):
    help = (
        "Recount the result files released with “Can LLM be a Personalized Judge?” and compare "
        "the results with the published cells. Needs no database. Files are recognised by name; "
        "others are skipped."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "folder", type=Path, metavar="DIR", help="folder with the released files"
        )
        parser.add_argument(
            "--out",
            type=Path,
            metavar="DIR",
            help="folder for replication.json, replication.html, tables/ and article/",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        from extras.replication.released.replication import (
            as_text,
            check_output,
            find_files,
            replicate,
            write_replication,
        )
        from extras.replication.released.result_files import NothingToReplicate

        out: Path | None = options["out"]
        try:
            files = find_files(options["folder"])
            if out is not None:
                check_output(out, "replication")
        except (NothingToReplicate, ForeignFiles) as error:
            raise CommandError(str(error)) from error
        with progress_bar(sys.stderr, total=len(files), label="Counting") as bar:
            replication = replicate(files, on_file=bar.update)
        self.stdout.write(as_text(replication.result))
        if out is not None:
            try:
                written = write_replication(replication, out)
            except OSError as error:
                raise CommandError(
                    f"{out} cannot be written: {error.strerror}. Name another folder with --out."
                ) from error
            self.stdout.write(f"Wrote {len(written)} files to {out}, among them {written[1]}.")
        if replication.unreadable:
            raise CommandError("\n".join(replication.unreadable))
