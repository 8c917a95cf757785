import shlex
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from judging.errors import FieldError, JudgingError
from judging.management.errors import option_name
from judging.protocols import registry
from judging.wordings import MORE, WordingSource, checked_texts, save_wording
from studies.errors import StudyError
from studies.importers.files.bundle import file_at
from studies.management.terminal import find_study, using


class Command(BaseCommand):
    help = (
        "Store a text file as a wording of the study: a prompt with slots such as {{ persona }}, "
        "{{ response_a }} and {{ response_b }}. An existing name gets a new version, or its "
        "newest version is replaced if no run uses it. With --recover, find the wording in a "
        "released result file."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument("file", type=Path, metavar="FILE", nargs="?")
        parser.add_argument(
            "--name", default="", help="name of the wording; of a found one: the file's by default"
        )
        for source in MORE:
            parser.add_argument(f"--{source.option}", action="store_true", help=source.help)
        parser.add_argument(
            "--setting",
            choices=registry.names(),
            default=registry.DEFAULT,
            help="the protocol that reads the replies",
        )
        parser.add_argument(
            "--without-persona",
            type=Path,
            metavar="FILE",
            help="prompt for judges that see nothing of the persona",
        )
        parser.add_argument("--note", default="", help="source of the words")

    def handle(self, *args: Any, **options: Any) -> None:
        for source in MORE:
            if options[source.option]:
                self._find(source, options)
                return
        if not options["name"]:
            raise CommandError("Give --name, by which runs name the wording.")
        study = find_study(options["study"])
        template, without = _text(options["file"]), _text(options["without_persona"])
        try:
            wording = save_wording(
                study_id=study.pk,
                name=options["name"],
                setting=options["setting"],
                note=options["note"],
                template=template,
                template_without_persona=without,
            )
            checked = checked_texts(study, options["setting"], template, without)
        except JudgingError as error:
            words = error.worded(_option) if isinstance(error, FieldError) else str(error)
            raise CommandError(words) from error
        for remark in dict.fromkeys(r for text in checked.values() for r in text.remarks):
            self.stderr.write(remark)
        self.stdout.write(
            f"“{wording.name}”, version {wording.version}, SHA-256 {wording.sha256}. Use it with: "
            f"--wording {shlex.quote(wording.reference)} --setting {wording.setting}"
        )

    def _find(self, source: WordingSource, options: dict[str, Any]) -> None:
        path: Path | None = options["file"]
        if path is None or options["without_persona"] or options["note"]:
            raise CommandError(f"--{source.option} reads one FILE, and finds the rest in it.")
        study = find_study(options["study"])
        try:
            with using(study, MORE.extra_of(source.name)):
                wording = source.read(study_id=study.pk, file=file_at(path), name=options["name"])
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
        except (StudyError, JudgingError) as error:
            words = error.worded(option_name) if isinstance(error, FieldError) else str(error)
            raise CommandError(f"{path}: {words}") from error
        self.stdout.write(str(wording))


def _text(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        return path.read_text("utf-8-sig").removesuffix("\n")
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is not UTF-8.") from error


def _option(field: str) -> str:
    names = {"template": "FILE", "template_without_persona": "--without-persona"}
    return names.get(field) or option_name(field)
