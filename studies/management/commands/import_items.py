import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from studies.errors import StudyError
from studies.importers.bundle import Bundle, open_path
from studies.importers.faults import Refused
from studies.importers.like import only_listed, read_list
from studies.importers.read import FORMATS, ReadItems, read_bundle
from studies.importers.store import import_items
from studies.management.explain import explain
from studies.models import Study, Task
from studies.progress import ProgressBar

_WARNINGS_SHOWN = 10


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


class Command(BaseCommand):
    help = (
        "Import items into a study: JSON Lines, CSV, a bundle (folder or zip), or released "
        "result files. A file is imported whole or not at all; again, it changes nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument("files", nargs="+", metavar="FILE", type=Path)
        parser.add_argument("--format", choices=FORMATS, default="auto")
        parser.add_argument("--create", action="store_true", help="make the study if missing")
        parser.add_argument("--task", choices=Task.values, help="of items that name no task")
        parser.add_argument("--dry-run", action="store_true", help="check all, store nothing")
        parser.add_argument(
            "--like",
            type=Path,
            metavar="ITEMS",
            help="only the items that an export's items.jsonl lists by hash, each unchanged",
        )
        parser.add_argument("--limit", type=positive, metavar="N", help="first N items of a file")

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study.objects.filter(slug=options["study"]).first()
        task = options["task"] or (study.task if study else Task.PREFERENCE.value)
        try:
            files = [
                self._read(open_path(path), options["format"], task, options["limit"])
                for path in options["files"]
            ]
            if options["like"]:
                files = only_listed(files, read_list(options["like"]))
            result = import_items(
                options["study"], files, create=options["create"], dry_run=options["dry_run"]
            )
        except Refused as error:
            raise CommandError(f"{_names(options['files'])}: {error}") from error
        except ValidationError as error:
            raise CommandError(explain(error)) from error
        except StudyError as error:
            raise CommandError(str(error)) from error
        for warning in result.warnings[:_WARNINGS_SHOWN]:
            self.stderr.write(f"Line {warning.line}: {warning.message}")
        if (left := len(result.warnings) - _WARNINGS_SHOWN) > 0:
            self.stderr.write(f"… and {left:,} more warnings.")
        self.stdout.write(str(result))

    def _read(self, bundle: Bundle, format: str, task: str, limit: int | None) -> ReadItems:
        lines = bundle.items.data.count(b"\n") + 1
        with ProgressBar(sys.stderr, total=lines, label=bundle.name) as bar:
            return read_bundle(bundle, format=format, task=task, limit=limit, on_row=bar.step)


def _names(files: list[Path]) -> str:
    return ", ".join(str(file) for file in files)
