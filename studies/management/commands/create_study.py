from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from studies.errors import StudyError
from studies.extra import extras_of_new_studies
from studies.management.terminal import explain, read_settings
from studies.models import Study, Task
from studies.models.added_settings import added_fields
from studies.services.extras import turn_on
from studies.services.presets import PRESETS, extras_of_preset
from studies.services.studies import create_study
from studies.study_folder import MORE as PARTS
from studies.study_folder import Folder


def _names() -> list[str]:
    """Settings allowed in a file: all that researchers can edit. The short name is an argument."""
    own = [field for field in Study._meta.concrete_fields if field.editable]
    names = [field.name for field in own if not field.primary_key]
    return [n for n in names if n not in ("slug", "state", "created_at")] + [*added_fields()]


class Command(BaseCommand):
    help = "Create a study. It is open for answers unless you add --draft."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", help="short name, used in addresses: letters, digits, - and _")
        parser.add_argument("--title")
        parser.add_argument("--task", choices=Task.values)
        parser.add_argument(
            "--preset",
            choices=[*PRESETS],
            help="settings, quota and planned runs to begin with; --from and --extra change them",
        )
        parser.add_argument(
            "--from",
            dest="file",
            type=Path,
            metavar="FILE.toml",
            help=f"settings of the study, by name: {', '.join(_names())}; and files next to it, by "
            f"the part that each has: {', '.join(part.name for part in PARTS)}",
        )
        parser.add_argument(
            "--extra",
            action="append",
            default=[],
            metavar="NAME",
            help="a design or analysis that is on; repeatable (manage.py extras STUDY lists them)",
        )
        parser.add_argument("--draft", action="store_true", help="keep the study a draft")
        parser.add_argument(
            "--owner", metavar="USERNAME", help="user who can see and change the study"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        parts = {part.name: part for part in PARTS}
        known = [*_names(), *parts]
        fields = read_settings(options["file"], known) if options["file"] else {}
        # A setting with the name of a part, such as the source, stays a setting.
        files = {name: fields.pop(name) for name in [*fields] if name not in _names()}
        fields |= {name: options[name] for name in ("title", "task") if options[name]}
        preset = options["preset"] or ""
        wanted = fields.get(
            "extras", extras_of_preset(preset) if preset else extras_of_new_studies()
        )
        if options["extra"] and isinstance(wanted, list):
            fields["extras"] = [*wanted, *options["extra"]]
        fields["state"] = Study.State.DRAFT if options["draft"] else Study.State.OPEN
        try:
            owner = User.objects.get(username=options["owner"]) if options["owner"] else None
            with transaction.atomic():
                study = create_study(slug=options["slug"], owner=owner, preset=preset, **fields)
                for name, file in files.items():
                    turn_on(study, PARTS.extra_of(name))
                    folder = Folder(options["file"].parent)
                    for remark in parts[name].apply(study, folder, str(file), user=owner):
                        self.stderr.write(remark)
        except User.DoesNotExist as error:
            raise CommandError(f"There is no user “{options['owner']}”.") from error
        except ValidationError as error:
            raise CommandError(explain(error)) from error
        except StudyError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Created “{study.slug}”. Its state is {study.state}.")
