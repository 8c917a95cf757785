from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from judging.errors import FieldError, JudgingError
from judging.management.errors import option_name
from extras.packs.reading import RawImport, import_raw
from judging.protocols import registry
from judging.runs.imports import Imported, import_judgments
from studies.errors import StudyError
from studies.importers.files.bundle import file_at
from studies.management.import_options import add_scale, add_skip_faulty
from studies.management.study_lookup import find_study


class Command(BaseCommand):
    help = (
        "Import judgments of a model from CSV or JSON Lines with item_id, choice (r1, r2 or tie) "
        "and, optionally, certainty, shown_first, sample, parse_status and raw_text; or a released "
        "result file. If the file has an error, nothing is imported. The same file again changes "
        "nothing. With --raw: raw replies to packs of the study, as vllm run-batch, a provider's "
        "batch, Inspect or promptfoo wrote them."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
        parser.add_argument("--judge", metavar="NAME", help="created if it does not exist")
        parser.add_argument(
            "--setting", choices=registry.names(), default="", help="default: as stated in the file"
        )
        parser.add_argument("--features", default="", help="all, none, a set, or keys a,b,c")
        parser.add_argument(
            "--raw", action="store_true", help="the files hold raw replies to packs of the study"
        )
        add_scale(parser)
        add_skip_faulty(parser)
        parser.add_argument(
            "--run",
            default="",
            metavar="ID",
            help="with --raw: the run of the replies that do not name their request",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        _check_options(options)
        paths: list[Path] = options["files"]
        result: RawImport | Imported
        try:
            files = [file_at(path) for path in paths]
            if options["raw"]:
                result = import_raw(study_id=study.pk, files=files, run=options["run"])
            else:
                result = import_judgments(
                    study_id=study.pk,
                    file=files[0],
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
            raise CommandError(f"{names}: {words}") from error
        self.stdout.write(str(result))


def _check_options(options: dict[str, Any]) -> None:
    """Refuse options that have no meaning together."""
    if options["raw"]:
        for name in ("skip_faulty", "scale"):
            if options[name]:
                option = option_name(name)
                raise CommandError(f"{option} is for files of judgments. Leave it out with --raw.")
        for name in ("judge", "setting", "features"):
            if options[name]:
                raise CommandError(
                    f"With --raw the pack states the {name}. Leave {option_name(name)} out."
                )
        return
    if options["run"]:
        raise CommandError("--run is for raw replies. Add --raw, or leave it out.")
    if not options["judge"]:
        raise CommandError("Name the judge with --judge, or add --raw for replies to a pack.")
    if len(options["files"]) > 1:
        raise CommandError("Import one file of judgments at a time. Several are for --raw only.")
