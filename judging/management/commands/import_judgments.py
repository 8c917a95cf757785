from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from judging import deliveries
from judging.errors import FieldError, JudgingError
from judging.management.errors import option_name
from judging.protocols import registry
from judging.runs.imports import import_judgments
from studies.errors import StudyError
from studies.importers.files.bundle import file_at
from studies.importers.files.faults import Refused
from studies.management.terminal import (
    add_encoding,
    add_scale,
    add_skip_faulty,
    find_study,
    skip_hint,
)
from studies.services.extras import turn_on, turned_on_since


class Command(BaseCommand):
    help = (
        "Import judgments of a model from CSV or JSON Lines with item_id, choice (r1, r2 or tie) "
        "and, optionally, certainty, shown_first, sample, parse_status and raw_text; or a "
        "released result file. If the file has an error, nothing is imported. Importing the same "
        "file again changes nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
        add_encoding(parser)
        parser.add_argument("--judge", metavar="NAME", help="created if it does not exist")
        parser.add_argument(
            "--setting", choices=registry.names(), default="", help="default: as stated in the file"
        )
        parser.add_argument("--features", default="", help="all, none, a set, or keys a,b,c")
        add_scale(parser)
        add_skip_faulty(parser)
        for delivery in deliveries.MORE:
            delivery.add_import_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        paths: list[Path] = options["files"]
        may_skip = False  # raw replies are read all or not at all
        try:
            for delivery in deliveries.MORE:
                if told := delivery.read(study, paths, options):
                    for sentence in turn_on(study, deliveries.MORE.extra_of(delivery.name)):
                        self.stderr.write(sentence)
                    self.stdout.write(told)
                    return
            if not options["judge"]:
                raise CommandError("Name the judge with --judge.")
            if len(paths) > 1:
                raise CommandError("Import one file of judgments at a time.")
            may_skip = True
            result = import_judgments(
                study_id=study.pk,
                file=replace(file_at(paths[0]), encoding=options["encoding"]),
                judge_name=options["judge"],
                setting=options["setting"],
                features=options["features"],
                skip_faulty=options["skip_faulty"],
                scale=options["scale"],
            )
        except OSError as error:
            path = error.filename or paths[0]
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
        except (StudyError, JudgingError) as error:
            words = error.worded(option_name) if isinstance(error, FieldError) else str(error)
            names = ", ".join(str(path) for path in paths)
            if may_skip and isinstance(error, Refused):
                words += skip_hint(error, options)
            raise CommandError(f"{names}: {words}") from error
        for sentence in turned_on_since(study):
            self.stderr.write(sentence)
        self.stdout.write(str(result))
