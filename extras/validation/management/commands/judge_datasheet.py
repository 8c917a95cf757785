from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from extras.validation.asking import USUAL_ITEMS, plan_for
from judging.errors import JudgingError
from judging.management.asking import add_asking, answer_or_wait, estimated
from judging.management.errors import command_error
from judging.runs.campaigns import start_campaign
from judging.runs.costs import estimate_plan
from judging.selectors import campaign_progress
from judging.worker.job_requests import judges_named
from studies.errors import StudyError
from studies.management.terminal import find_study, using


class Command(BaseCommand):
    help = (
        "Ask a judge for its datasheet: equal responses, an empty response, another profile, and a "
        "response that tells it what to choose. The next report shows the answers. Repeating the "
        "command asks only for what is missing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument("--judge", required=True, metavar="NAME")
        parser.add_argument(
            "--items", type=int, default=USUAL_ITEMS, metavar="N", help=f"default {USUAL_ITEMS}"
        )
        add_asking(parser, budget="of all runs together")

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        if options["items"] < 1:
            raise CommandError("--items: Use a whole number of 1 or more.")
        try:
            [judge] = judges_named([options["judge"]])
            plan = plan_for(study, judge, items=options["items"], budget=options["budget"])
            if options["dry_run"]:
                self.stdout.write(estimated(estimate_plan(study, plan)))
                return
            with using(study, "validation"):
                campaign = start_campaign(
                    study_id=study.pk, plan=plan, change=True, enqueue=not options["inline"]
                )
        except (JudgingError, StudyError) as error:
            raise command_error(error) from error
        answer_or_wait(campaign.runs.all(), options)
        done = campaign_progress(campaign)
        self.stdout.write(f"{plan.name}: {done.ended:,} of {done.total:,} judgments are finished.")
