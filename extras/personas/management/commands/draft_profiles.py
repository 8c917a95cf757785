"""draft_profiles STUDY --judge NAME: have a judge write profile texts, for review on a page."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from extras.personas.drafting import cost_of, request_drafts
from extras.personas.models import DraftingJob
from extras.personas.tasks import write_profile_drafts
from judging.errors import JudgingError
from judging.management.asking import about, add_asking, is_done
from judging.management.errors import command_error
from judging.worker.job_requests import judges_named
from studies.errors import StudyError
from studies.jobs.retry import waiting_job
from studies.management.terminal import find_study, using


class Command(BaseCommand):
    help = (
        "Ask a judge to describe each persona that has earlier choices, in a few sentences. "
        "Editors review the texts on the page “Profile texts”; nothing changes until then. If "
        "you repeat the command, it asks only about personas without a usable reply, and with "
        "--inline it does a job that no worker has started."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument("--judge", required=True, metavar="NAME")
        add_asking(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        try:
            [judge] = judges_named([options["judge"]])
        except JudgingError as error:
            raise command_error(error) from error
        if options["dry_run"]:
            cost = cost_of(study, judge)
            self.stdout.write(
                f"Texts about {cost.texts:,} personas, about {cost.tokens:,} tokens: "
                f"{about(cost.dollars)}. Nothing was asked."
            )
            return
        budget = options["budget"]
        try:
            with using(study, "personas"):
                job = waiting_job(DraftingJob.objects.filter(study=study, judge=judge)) or (
                    request_drafts(study_id=study.pk, judge=judge, budget=budget, user=None)
                )
        except (JudgingError, StudyError) as error:
            raise command_error(error) from error
        if budget is not None:
            DraftingJob.objects.filter(pk=job.pk).update(budget=budget)
        done = is_done(job, options, write_profile_drafts)
        words = f"A worker is asking about {job.drafts.count():,} personas."
        self.stdout.write(job.message if done else words)
