"""route STUDY --judge J --passport FILE --new SLUG: make a study of the items left."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from analysis.errors import AnalysisError
from analysis.passports import find_passport
from studies.errors import StudyError
from studies.management.terminal import explain, find_study


class Command(BaseCommand):
    help = (
        "Create a draft study with the items that a certificate leaves to people. The draft and "
        "each of its items name the study, the passport and the reason."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study that was labelled")
        parser.add_argument("--judge", required=True, metavar="NAME")
        parser.add_argument("--passport", type=Path, required=True, metavar="FILE")
        parser.add_argument("--new", required=True, metavar="SLUG", help="short name of the draft")
        parser.add_argument("--title", default="", help="title of the draft")
        parser.add_argument(
            "--answered-too",
            action="store_true",
            help="include items that people have already answered",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        from extras.certificates.labelling import check_judge, label
        from extras.certificates.labels import route_rest

        study, passport = (
            find_study(options["study"], uses="certificates"),
            find_passport(options["passport"]),
        )
        try:
            check_judge(passport, options["judge"])
            draft = route_rest(
                study,
                label(study, passport),
                slug=options["new"],
                title=options["title"],
                answered_too=options["answered_too"],
            )
        except ValidationError as error:
            raise CommandError(explain(error), returncode=2) from None
        except (AnalysisError, StudyError) as error:
            raise CommandError(str(error)) from None
        reasons = draft.source["routed"]["reasons"]
        listed = ", ".join(f"{n:,} ({reason})" for reason, n in reasons.items())
        self.stdout.write(f"Created the draft “{draft.slug}” with the remaining items: {listed}.")
