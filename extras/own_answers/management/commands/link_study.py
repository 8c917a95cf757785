"""link_study STUDY --new SLUG: create a study in which others predict the answers of its people."""

from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from studies.management.terminal import explain, find_study


class Command(BaseCommand):
    help = (
        "Create a draft in which others predict what people answered for themselves: one persona "
        "for each person who allows it, with their own answers as labels."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        from extras.own_answers.linked_studies import DEFAULT_SEED

        parser.add_argument("study", help="short name of the study in which people answered")
        parser.add_argument(
            "--new", required=True, metavar="SLUG", help="short name of the new study"
        )
        parser.add_argument("--title", default="", help="title of the new study")
        parser.add_argument(
            "--persons", type=int, metavar="N", help="number of people to draw (default: all)"
        )
        parser.add_argument(
            "--items", type=int, metavar="N", help="number of items of each to draw (default: all)"
        )
        parser.add_argument(
            "--examples",
            type=int,
            metavar="K",
            help="how many of a person's other answers to show with each item (default: as many as "
            "people agreed to)",
        )
        parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="seed of the draws")

    def handle(self, *args: Any, **options: Any) -> None:
        from extras.own_answers.linked_studies import LinkRule, link_study
        from studies.errors import StudyError

        study = find_study(options["study"], uses="own_answers")
        for name, least in (("persons", 1), ("items", 1), ("examples", 0)):
            if options[name] is not None and options[name] < least:
                raise CommandError(f"--{name}: Use a whole number of {least} or more.")
        rule = LinkRule(
            persons=options["persons"],
            items_per_person=options["items"],
            examples=options["examples"],
            seed=options["seed"],
        )
        try:
            made = link_study(
                first_id=study.pk, slug=options["new"], rule=rule, title=options["title"]
            )
        except ValidationError as error:
            raise CommandError(explain(error)) from error
        except StudyError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"Created the draft “{made.slug}” with {made.linked_from.rule['items']:,} items about "
            f"{made.personas.count():,} people."
        )
