from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from extras.personas.changed_items import WantedChange, counterfactual_study, mark_of
from studies.errors import StudyError
from studies.management.terminal import explain, find_study
from studies.models import Item


class Command(BaseCommand):
    help = (
        "Create a draft of a linked study that asks each item twice: unchanged, and about the "
        "same persona with another value of one feature. After people and judges have answered, "
        "its report says how much each side relies on the feature."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument(
            "--feature",
            required=True,
            action="append",
            metavar="KEY",
            help="feature to change; repeatable, each in separate items",
        )
        parser.add_argument(
            "--value", default="", help="the new value (default: drawn for each persona)"
        )
        parser.add_argument(
            "--items", type=int, metavar="N", help="use only the first N items by key"
        )
        parser.add_argument(
            "--new", required=True, metavar="SLUG", help="short name of the new study"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"], uses="personas")
        if options["items"] is not None and options["items"] < 1:
            raise CommandError("--items: Use a whole number of 1 or more.")
        try:
            made = counterfactual_study(
                study_id=study.pk,
                slug=options["new"],
                wanted=WantedChange(
                    features=options["feature"], value=options["value"], limit=options["items"]
                ),
            )
        except ValidationError as error:
            raise CommandError(explain(error)) from error
        except StudyError as error:
            raise CommandError(str(error)) from error
        mark = mark_of(options["feature"][0])
        n = Item.objects.filter(study=made, key__endswith=mark).count()
        self.stdout.write(
            f"Created the draft “{made.slug}” with {n:,} items and the same {n:,} about personas "
            f"with another {', and with another '.join(options['feature'])}."
        )
