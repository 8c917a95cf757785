from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.errors import ItemError
from annotation.services.faulty_items import describe, put_back, take_out
from studies.management.terminal import find_study


class Command(BaseCommand):
    help = (
        "Take a faulty item out of the analysis. Its answers stay, nobody is asked about it any "
        "more, and nobody's pay changes. Repeating it changes nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument("item", help="the item's id")
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--reason", metavar="TEXT", help="why; reports state it")
        what.add_argument("--undo", action="store_true", help="let the item count again")

    def handle(self, *args: Any, **options: Any) -> None:
        study, key = find_study(options["study"]), options["item"]
        try:
            if options["undo"]:
                item = put_back(study_id=study.pk, key=key)
            else:
                item = take_out(study_id=study.pk, key=key, reason=options["reason"])
        except ItemError as error:
            raise CommandError(str(error), returncode=2) from None
        found = describe(item)
        together = f", with {', '.join(found.together)}" if found.together else ""
        done = "counts" if options["undo"] else "is out of the analysis"
        self.stdout.write(f"“{key}”{together} {done}. It has {found.answers:,} answers.")
