from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from extras.advice.discussions import estimate_discussion, start_discussion
from judging.errors import JudgingError
from judging.management.commands.add_judge import dollars
from judging.management.errors import command_error
from judging.models import JudgeRun, Jury
from judging.runs.lifecycle import wait_for_workers, work_off
from judging.worker import runtime
from studies.errors import StudyError
from studies.management.terminal import add_how, find_study


class Command(BaseCommand):
    help = (
        "Start the second round of a jury: each judge sees the others' reasons and chooses again. "
        "The first round is the latest run of each judge with --setting reason-before. Repeating "
        "the command continues the same round."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument("--jury", required=True, metavar="NAME")
        parser.add_argument("--budget", type=dollars, metavar="USD", help="of each judge")
        add_how(parser, dry_run="show the cost; ask nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"], uses="" if options["dry_run"] else "advice")
        jury = Jury.objects.filter(study=study, name=options["jury"]).first()
        if jury is None:
            names = ", ".join(Jury.objects.filter(study=study).values_list("name", flat=True))
            raise CommandError(
                f"Study “{study.slug}” has no jury “{options['jury']}”. It has: {names or 'none'}."
            )
        inline = options["inline"]
        try:
            if options["dry_run"]:
                cost = estimate_discussion(study, jury)
                money = "cost unknown" if cost.dollars is None else f"about ${cost.dollars:.4f}"
                self.stdout.write(
                    f"{cost.questions:,} questions, about {cost.tokens:,} tokens: {money}. "
                    "Nothing was asked."
                )
                return
            runs = start_discussion(
                study_id=study.pk, jury=jury, budget=options["budget"], enqueue=not inline
            )
        except (JudgingError, StudyError) as error:
            raise command_error(error) from error
        if inline:
            try:
                for run in runs:
                    work_off(run_id=run.pk)
            finally:
                runtime.shut_down()
        elif options["wait"]:
            wait_for_workers(JudgeRun.objects.filter(pk__in=[run.pk for run in runs]))
        for run in runs:
            run.refresh_from_db()
            self.stdout.write(
                f"{run.judge.name}: {run.get_state_display()}. {run.sentence}".strip()
            )
        if inline and any(run.state != JudgeRun.State.DONE for run in runs):
            raise CommandError("Some judges have not finished. Run the same command to continue.")
