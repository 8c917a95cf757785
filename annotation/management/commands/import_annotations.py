import sys
from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.files.imports import MORE, import_annotations
from studies.errors import StudyError
from studies.importers.files.bundle import file_at
from studies.importers.files.faults import Refused
from studies.importers.sets import data_sets
from studies.management.terminal import (
    add_encoding,
    add_scale,
    add_skip_faulty,
    find_study,
    progress_bar,
    using,
)


class Command(BaseCommand):
    help = (
        "Import answers of annotators from CSV or JSON Lines with rater_id, item_id, choice (r1, "
        "r2 or tie), certainty and, optionally, active_ms, shown_first and answered_at. If the "
        "file has an error, nothing is imported. Importing the same file again changes nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument("file", type=Path, metavar="FILE")
        add_encoding(parser)
        parser.add_argument(
            "--format",
            choices=[name for name, dataset in data_sets().items() if dataset.answers],
            default="",
            help="a data set whose own file has the answers of several people to its items",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="check everything, store nothing"
        )
        add_scale(parser)
        add_skip_faulty(parser)
        for added in MORE:
            parser.add_argument(f"--{added.name}", action="store_true", help=added.help)

    def handle(self, *args: Any, **options: Any) -> None:
        added = next((option for option in MORE if options[option.name]), None)
        if added and (options["format"] or options["scale"] or options["skip_faulty"]):
            raise CommandError(f"--{added.name} goes with --encoding and --dry-run only.")
        study = find_study(options["study"])
        needed = MORE.extra_of(added.name) if added and not options["dry_run"] else ""
        path: Path = options["file"]
        try:
            file = replace(file_at(path), encoding=options["encoding"])
        except OSError as error:
            raise CommandError(
                f"{path} cannot be read: {error.strerror}. Check the path."
            ) from error
        except Refused as error:
            raise CommandError(f"{path}: {error}") from error
        try:
            file = file.once()
            with (
                using(study, needed),
                progress_bar(sys.stderr, total=file.count_lines(), label=path.name) as bar,
            ):
                common = {"study_id": study.pk, "file": file, "dry_run": options["dry_run"]}
                common["on_row"] = bar.update
                result = (
                    added.read(**common)
                    if added
                    else import_annotations(
                        **common,
                        format=options["format"],
                        skip_faulty=options["skip_faulty"],
                        scale=options["scale"],
                    )
                )
        except (Refused, StudyError) as error:
            raise CommandError(f"{path}: {error}") from error
        prefix = "Nothing was stored. Without --dry-run: " if options["dry_run"] else ""
        self.stdout.write(f"{prefix}{result}")
