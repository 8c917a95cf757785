"""freeze_plan STUDY: freeze the analysis plan before data collection."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from analysis.errors import AnalysisError, BadParameters
from analysis.report.rules import DEFAULT_BOOTSTRAP, DEFAULT_SEED
from extras.frozen_plans.freezing import freeze_plan, parse_judge, usual_analyses
from studies.management.terminal import find_study, using


class Command(BaseCommand):
    help = (
        "Freeze the analysis plan of a study with a hash and the time. It cannot be changed "
        "afterwards; the report marks each number as registered or explored."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument(
            "--threshold", type=int, help="high-certainty threshold (default: the study's)"
        )
        parser.add_argument(
            "--margin", type=float, help="equivalence margin (default: the study's)"
        )
        parser.add_argument(
            "--analyses",
            metavar="CODE,CODE",
            help="comma-separated codes (default: the usual ones that this study can compute; an "
            "unknown code lists all)",
        )
        parser.add_argument(
            "--judge",
            action="append",
            default=[],
            metavar="NAME[:SETTING[:FEATURES[:WORDING[:FRAMING]]]]",
            help="a planned run (default: certainty, all, the protocol's words); repeatable",
        )
        parser.add_argument(
            "--exclusions", default="", help="rule for leaving out annotators (default: none)"
        )
        parser.add_argument("--hypotheses", default="", help="hypotheses, in words")
        parser.add_argument("--seed", type=int, default=DEFAULT_SEED)
        parser.add_argument("--bootstrap", type=int, default=DEFAULT_BOOTSTRAP)
        parser.add_argument(
            "--dry-run", action="store_true", help="check the plan without freezing it"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        names = ("threshold", "margin", "exclusions", "hypotheses", "seed", "bootstrap", "dry_run")
        try:
            judges = [parse_judge(text) for text in options["judge"]]
            if options["analyses"] is None:
                codes = usual_analyses(study, judges)
            else:
                codes = [code.strip() for code in options["analyses"].split(",")]
            with using(study, "" if options["dry_run"] else "frozen_plans"):
                plan = freeze_plan(
                    study_id=study.pk,
                    analyses=codes,
                    judges=judges,
                    **{name: options[name] for name in names},
                )
        except BadParameters as error:
            raise CommandError(str(error), returncode=2) from None
        except AnalysisError as error:
            raise CommandError(str(error)) from None
        if options["dry_run"]:
            self.stdout.write("The plan can be frozen. Nothing was stored.")
            return
        self.stdout.write(f"Frozen at {plan.frozen_at}, seal {plan.seal}.")
        if not plan.is_before_data:
            self.stderr.write(
                f"{plan.answers:,} answers and {plan.judgments:,} judgments already existed. The "
                "report will state this and mark all analyses as explored."
            )
