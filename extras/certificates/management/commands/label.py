"""label STUDY --judge J --passport FILE: label what a certificate allows; --new: ask the rest."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from analysis.errors import AnalysisError
from analysis.passports import find_passport
from extras.certificates.missing_answers import add_asking, ask_missing
from studies.errors import StudyError
from studies.management.terminal import explain, find_study, using


class Command(BaseCommand):
    help = (
        "Label the items of a study with a certified judge, and list the items that its "
        "certificate leaves to people. The judge is asked about unanswered items. If the prompt, "
        "the model or the items differ from the certified ones, nothing is labelled. --new creates "
        "a draft study with the items left; it and each of its items name the study, the passport "
        "and the reason."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study to label")
        parser.add_argument("--judge", required=True, metavar="NAME")
        parser.add_argument("--passport", type=Path, required=True, metavar="FILE")
        parser.add_argument(
            "--out", type=Path, metavar="FILE", help="CSV, or JSON Lines if it ends in .jsonl"
        )
        parser.add_argument("--new", metavar="SLUG", help="short name of a draft with the rest")
        parser.add_argument("--title", default="", help="title of the draft")
        parser.add_argument(
            "--answered-too",
            action="store_true",
            help="put items into the draft that people have already answered, too",
        )
        add_asking(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        from extras.certificates.labelling import check_judge, label
        from extras.certificates.labels import route_rest, write_labels

        study, passport = find_study(options["study"]), find_passport(options["passport"])
        try:
            check_judge(passport, options["judge"])
            ask_missing(study, passport, options, out=self.stderr)
            if options["dry_run"]:
                self.stdout.write("Nothing was labelled.")
                return
            labels = label(study, passport)
            if not (options["out"] or options["new"]):
                self.stdout.write(labels.sentence)
                return
            with using(study, "certificates"):
                if options["out"]:
                    write_labels(labels, options["out"])
                self.stdout.write(labels.sentence)
                if options["out"]:
                    self.stdout.write(f"Wrote {len(labels.lines):,} rows to {options['out']}.")
                if not options["new"]:
                    return
                draft = route_rest(
                    study,
                    labels,
                    slug=options["new"],
                    title=options["title"],
                    answered_too=options["answered_too"],
                )
        except ValidationError as error:
            raise CommandError(explain(error), returncode=2) from None
        except (AnalysisError, StudyError) as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            raise CommandError(f"{options['out']} cannot be written: {error.strerror}.") from None
        reasons = draft.source["routed"]["reasons"]
        listed = ", ".join(f"{n:,} ({reason})" for reason, n in reasons.items())
        self.stdout.write(f"Created the draft “{draft.slug}” with the remaining items: {listed}.")
