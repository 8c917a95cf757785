from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from extras.replication.wordings.recovered import import_protocol
from judging.errors import FieldError, JudgingError
from judging.management.errors import option_name
from studies.errors import StudyError
from studies.importers.files.bundle import file_at
from studies.management.terminal import find_study


class Command(BaseCommand):
    help = (
        "Recover the wording from the prompts in a released result file, and store it as a "
        "wording of the study. The study needs items from the same file. The wording is stored "
        "only if it rebuilds every prompt byte for byte; otherwise the command names two rows "
        "that disagree."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument(
            "--name", default="", help="name of the wording (default: name of the file)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"], uses="replication")
        path: Path = options["file"]
        try:
            found = import_protocol(study_id=study.pk, file=file_at(path), name=options["name"])
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
        except (StudyError, JudgingError) as error:
            words = error.worded(option_name) if isinstance(error, FieldError) else str(error)
            raise CommandError(f"{path}: {words}") from error
        self.stdout.write(str(found))
