import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from studies.errors import BadOption, StudyError, UnknownStudy
from studies.importers.columns.mapping import BadMapping, ColumnMapping
from studies.importers.files.faults import Refused, place
from studies.importers.items.import_source import format_names, only_listed, read_list, read_paths
from studies.importers.items.item_bundle import ImportOptions, ReadItems, report_on
from studies.importers.items.storage import counts, import_items
from studies.importers.items.validation import ROW_OPTIONS
from studies.importers.sets import data_sets
from studies.management.terminal import (
    add_encoding,
    add_skip_faulty,
    explain,
    progress_bar,
    skip_hint,
)
from studies.media import PACK_THEM
from studies.models import Item, Study, Task

_WARNINGS_SHOWN = 10


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def option(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise ArgumentTypeError(f"“{text}” has no value; write NAME=VALUE, for example n=500")
    return name.strip(), value


class Command(BaseCommand):
    help = (
        "Import items into a study: JSON Lines, CSV, a bundle (folder or zip), released result "
        f"files, or the files of a data set ({', '.join(s.title for s in data_sets().values())}). "
        "If a file has an error, nothing is imported. Importing the same files again changes "
        "nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument("files", nargs="+", metavar="FILE", type=Path)
        parser.add_argument("--format", choices=format_names(), default="auto")
        parser.add_argument(
            "--create", action="store_true", help="create the study if it does not exist"
        )
        parser.add_argument(
            "--replace",
            action="store_true",
            help="replace all existing items; only for a study without answers or judgments",
        )
        parser.add_argument(
            "--yes", action="store_true", help="with --replace: do not ask for confirmation"
        )
        parser.add_argument(
            "--task", choices=Task.values, help="task of items that do not name one"
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="check the files without importing them"
        )
        add_skip_faulty(parser)
        parser.add_argument(
            "--partial-profiles",
            action="store_true",
            help="annotators also get items of which no file has the person's whole profile",
        )
        parser.add_argument(
            "--like",
            type=Path,
            metavar="ITEMS",
            help="import only the items that an export's items.jsonl lists by hash",
        )
        parser.add_argument(
            "--option",
            action="append",
            type=option,
            default=[],
            metavar="NAME=VALUE",
            help=", or, ".join(
                [f"option of a data set ({', '.join(data_sets())})", *(o.help for o in ROW_OPTIONS)]
            )
            + "; repeatable",
        )
        parser.add_argument(
            "--mapping",
            metavar="FILE",
            help="mapping.json from the page that maps columns, or its text, for files with other "
            "column names",
        )
        parser.add_argument(
            "--media",
            type=Path,
            metavar="FOLDER",
            help="folder with the pictures and sounds that the items name",
        )
        parser.add_argument("--seed", type=int, help="seed of random draws")
        add_encoding(parser)
        parser.add_argument(
            "--limit", type=positive, metavar="N", help="import only the first N items of a file"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study.objects.filter(slug=options["study"]).first()
        names = ", ".join(str(file) for file in options["files"])
        task = options["task"] or (study.task if study else Task.PREFERENCE.value)
        try:
            with progress_bar(sys.stderr, total=0, label=f"reading {names}") as bar:
                how = ImportOptions(
                    task,
                    options["format"],
                    limit=options["limit"],
                    options=dict(options["option"]),
                    seed=options["seed"],
                    mapping=_mapping(options["mapping"]),
                    media=options["media"],
                    skip_faulty=options["skip_faulty"],
                    encoding=options["encoding"],
                )
                files = read_paths(options["files"], how, watch=bar)
            if options["like"]:
                known = Item.everything.filter(study=study).values_list("key", "content_hash")
                files = only_listed(files, read_list(options["like"]), dict(known))
            seen = self._confirmed(study, files, options) if options["replace"] else None
            total = sum(len(file.items) for file in files)
            with progress_bar(sys.stderr, total=total, label="storing") as bar:
                result = import_items(
                    options["study"],
                    files,
                    create=options["create"],
                    dry_run=options["dry_run"],
                    replace=seen,
                    skip_faulty=options["skip_faulty"],
                    partial_profiles=options["partial_profiles"],
                    watch=bar,
                )
        except BadOption as error:
            raise CommandError(str(error), returncode=2) from error
        except Refused as error:
            is_alone = any(fault.remedy == PACK_THEM for fault in error.faults)
            also = "\nOr name the folder with the files: --media FOLDER." if is_alone else ""
            raise CommandError(f"{names}: {error}{also}{skip_hint(error, options)}") from error
        except ValidationError as error:
            raise CommandError(explain(error)) from error
        except UnknownStudy as error:
            raise CommandError(f"{error} Create it first, or add --create.") from error
        except StudyError as error:
            raise CommandError(str(error)) from error
        for warning in result.warnings[:_WARNINGS_SHOWN]:
            self.stderr.write(f"{place(warning.line)}: {warning.message}")
        if (left := len(result.warnings) - _WARNINGS_SHOWN) > 0:
            self.stderr.write(f"… and {left:,} more warnings.")
        self.stdout.write(str(report_on(files)))
        self.stdout.write(str(result))
        if result.held_back:
            self.stdout.write("To show them now: the same command with --partial-profiles.")

    def _confirmed(
        self, study: Study | None, files: Sequence[ReadItems], options: dict[str, Any]
    ) -> int:
        """The number of items to be replaced; a user at a terminal confirms first."""
        items, personas = counts(study) if study else (0, 0)
        if not items or options["dry_run"] or options["yes"] or not sys.stdin.isatty():
            return items
        new = sum(len(file.items) for file in files)
        question = (
            f"Replace {items:,} items and {personas:,} personas of “{options['study']}” by "
            f"{new:,} items? Type yes: "
        )
        if input(question).strip().lower() != "yes":
            raise CommandError("Nothing was replaced.")
        return items


def _mapping(path: str | None) -> dict[str, Any] | None:
    """The mapping in a file, or in the option itself. Raises `StudyError`."""
    if path is None:
        return None
    if path.lstrip().startswith("{"):
        return ColumnMapping.read(path).as_json()
    try:
        return ColumnMapping.read(Path(path).read_bytes()).as_json()
    except OSError as error:
        raise BadMapping(f"{path} cannot be read: {error.strerror}.") from error
