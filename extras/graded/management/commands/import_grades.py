import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from extras.graded.imports import import_grades
from studies.errors import StudyError
from studies.importers.files.bundle import file_at
from studies.importers.files.faults import Refused
from studies.management.terminal import find_study, progress_bar


class Command(BaseCommand):
    help = (
        "Import grades of imported answers from CSV or JSON Lines with rater_id, item_id and what "
        "the study asks: strength (1 to 3), score_1, score_2, criterion_KEY (r1, r2 or tie) and "
        "reason. If the file has an error, nothing is imported. Importing the same file again "
        "changes nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument(
            "--dry-run", action="store_true", help="check everything, store nothing"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study, path = find_study(options["study"], uses="graded"), options["file"]
        try:
            file = file_at(path).once()
            with progress_bar(sys.stderr, total=file.count_lines(), label=path.name) as bar:
                result = import_grades(
                    study_id=study.pk, file=file, dry_run=options["dry_run"], on_row=bar.update
                )
        except OSError as error:
            words = f"{path} cannot be read: {error.strerror}. Check the path."
            raise CommandError(words) from error
        except (Refused, StudyError) as error:
            raise CommandError(f"{path}: {error}") from error
        prefix = "Nothing was stored. Without --dry-run: " if options["dry_run"] else ""
        self.stdout.write(f"{prefix}{result}")
