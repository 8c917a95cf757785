from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from extras.personas.changed_items import WantedChange, counterfactual_study, mark_of
from extras.personas.other_personas import SEED, WantedSignal, signal_study
from extras.personas.signal_sizes import seen_by, sizes
from studies.errors import StudyError
from studies.management.terminal import explain, find_study, using
from studies.models import Item, Study


class Command(BaseCommand):
    help = (
        "Create a draft of a linked study that asks each item twice: unchanged, and about the "
        "same persona with another value of one feature (--feature), or about another persona of "
        "the study (--whole). After people and judges have answered, its report says how much "
        "each side relies on the feature, or how much the persona is worth to each."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument("--new", metavar="SLUG", help="short name of the new study")
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument(
            "--feature",
            action="append",
            metavar="KEY",
            help="feature to change; repeatable, each in separate items",
        )
        what.add_argument("--whole", action="store_true", help="ask about another persona")
        parser.add_argument(
            "--value", default="", help="the new value (default: drawn for each persona)"
        )
        parser.add_argument(
            "--items",
            type=int,
            metavar="N",
            help="use only N items: the first by key, with --whole drawn ones",
        )
        parser.add_argument(
            "--differ-in",
            action="append",
            default=[],
            metavar="KEY",
            help="with --whole: feature in which both personas must differ; repeatable",
        )
        parser.add_argument("--seed", type=int, default=SEED, help=f"of --whole, default {SEED}")
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="with --whole: create nothing; print how many items show 3, 5 and 10 points",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        whole, least = options["whole"], 2 if options["whole"] else 1
        if options["items"] is not None and options["items"] < least:
            raise CommandError(f"--items: Use a whole number of {least} or more.")
        if options["seed"] < 0:
            raise CommandError("--seed: Use a whole number of 0 or more.")
        for name, is_of_whole in (("value", False), ("differ_in", True), ("dry_run", True)):
            if options[name] and whole != is_of_whole:
                other = "--whole" if is_of_whole else "--feature"
                raise CommandError(f"--{name.replace('_', '-')} is for {other}.", returncode=2)
        if options["dry_run"]:
            self._print_sizes(study.annotations_per_item)
            return
        if not options["new"]:
            raise CommandError("--new: Give the new study a short name.", returncode=2)
        try:
            with using(study, "personas"):
                created = (_with_others if whole else _with_changes)(study, options)
        except ValidationError as error:
            raise CommandError(explain(error)) from error
        except StudyError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(created)

    def _print_sizes(self, answers: int) -> None:
        for size in sizes(answers):
            self.stdout.write(
                f"To see {size['points']} points you need about {size['judge']:,} items for a "
                f"judge, and {size['people']:,} for people with {answers} answers each."
            )


def _with_changes(study: Study, options: dict[str, Any]) -> str:
    features = options["feature"]
    wanted = WantedChange(features=features, value=options["value"], limit=options["items"])
    draft = counterfactual_study(study_id=study.pk, slug=options["new"], wanted=wanted)
    n = Item.objects.filter(study=draft, key__endswith=mark_of(features[0])).count()
    return (
        f"Created the draft “{draft.slug}” with {n:,} items and the same {n:,} about personas "
        f"with another {', and with another '.join(features)}."
    )


def _with_others(study: Study, options: dict[str, Any]) -> str:
    wanted = WantedSignal(
        items=options["items"], differ_in=options["differ_in"], seed=options["seed"]
    )
    draft = signal_study(study_id=study.pk, slug=options["new"], wanted=wanted)
    drawn = draft.source["persona_signal"]
    left = f" {drawn['left_out']:,} found no other persona." if drawn["left_out"] else ""
    seen = seen_by(drawn["items"], study.annotations_per_item)["judge"]
    sees = "It is too small to show what the persona is worth to a judge."
    if seen is not None:
        sees = f"It can show a worth of {seen} points or more to a judge."
    return (
        f"Created the draft “{draft.slug}” with {drawn['items']:,} items, each also about "
        f"another persona.{left} {sees} Judge it with --samples 2 --orders both."
    )
