"""draft_profiles STUDY --judge NAME: have a judge write profile texts, for review on a page."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from extras.personas.drafting import cost_of, request_drafts, run_job
from extras.personas.models import DraftingJob
from extras.personas.tasks import write_profile_drafts
from judging.errors import JudgingError
from judging.management.commands.add_judge import dollars
from judging.management.errors import command_error
from judging.worker import runtime
from judging.worker.job_requests import judges_named
from studies.errors import StudyError
from studies.jobs.queueing import queue
from studies.jobs.retry import waiting_job
from studies.management.terminal import add_how, find_study, using, wait_for


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
        parser.add_argument(
            "--budget", type=dollars, metavar="USD", help="stop before spending more than this"
        )
        add_how(parser, dry_run="show the cost; ask nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        try:
            [judge] = judges_named([options["judge"]])
        except JudgingError as error:
            raise command_error(error) from error
        if options["dry_run"]:
            cost = cost_of(study, judge)
            money = "cost unknown" if cost.dollars is None else f"about ${cost.dollars:.4f}"
            self.stdout.write(
                f"Texts about {cost.texts:,} personas, about {cost.tokens:,} tokens: {money}. "
                "Nothing was asked."
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
        if not options["inline"]:
            queue(write_profile_drafts, job.pk)
            if not options["wait"]:
                self.stdout.write(f"A worker is asking about {job.drafts.count():,} personas.")
                return
            wait_for(job)
        else:
            try:
                job = run_job(job_id=job.pk)
            finally:
                runtime.shut_down()
        if job.state != DraftingJob.State.DONE:
            raise CommandError(job.message)
        self.stdout.write(job.message)
