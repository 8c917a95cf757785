from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.errors import QuotaError
from annotation.seats.quotas import EXAMPLE, read_plan, set_quotas
from studies.management.terminal import find_study


class Command(BaseCommand):
    help = (
        "Set the demographic questions and the quota groups of a study from a TOML file. Using the "
        "same file again changes nothing. After annotators have entered, only targets can change."
    )

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        return super().create_parser(
            prog_name,
            subcommand,
            epilog=f"An example:\n\n{EXAMPLE}",
            formatter_class=RawDescriptionHelpFormatter,
            **kwargs,
        )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument("file", type=Path, metavar="FILE")

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        path: Path = options["file"]
        try:
            questions, groups = read_plan(path.read_text("utf-8"))
            stored = set_quotas(study_id=study.pk, questions=questions, groups=groups)
        except OSError as error:
            raise CommandError(
                f"{path} cannot be read: {error.strerror}. Check the path."
            ) from error
        except UnicodeDecodeError as error:
            raise CommandError(f"{path} is not in UTF-8. Save it as UTF-8.") from error
        except QuotaError as error:
            raise CommandError(f"{path}: {error}") from error
        places = sum(group.target for group in stored)
        self.stdout.write(f"Quota groups: {len(stored):,}, for {places:,} annotators.")
