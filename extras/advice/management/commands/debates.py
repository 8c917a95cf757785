from argparse import ArgumentParser
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from extras.advice.arguing import (
    MOST_ROUNDS,
    MOST_WORDS,
    SEED,
    WantedArguments,
    continue_job,
    cost_of,
    items_for,
    request_arguments,
    spent,
)
from extras.advice.arms import arms_study
from extras.advice.discussions import estimate_discussion, start_discussion
from extras.advice.models import ArgumentJob, Arm
from extras.advice.tasks import write_arguments
from judging.errors import JudgingError
from judging.management.asking import add_asking, answer_or_wait, estimated, is_done
from judging.management.errors import command_error
from judging.models import JudgeRun, Jury
from judging.worker.job_requests import judges_named
from studies.errors import StudyError
from studies.management.terminal import explain, find_study, using
from studies.models import Study


class Command(BaseCommand):
    help = (
        "Have models argue about the responses of drawn items, as debates and as single advisers. "
        "Without --judge, continue the latest job of the study, and with --new create the linked "
        "study in which people and judges answer with a debate, with one adviser, or alone. With "
        "--jury, start the second round of a jury: each judge sees the others' reasons and chooses "
        "again, after its latest run with --setting reason-before. Repeating the command continues "
        "the round."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument("--judge", metavar="NAME", help="model that argues")
        parser.add_argument("--jury", metavar="NAME", help="jury that discusses")
        parser.add_argument("--second", metavar="NAME", help="second model (default: the same)")
        parser.add_argument(
            "--arm",
            action="append",
            choices=[Arm.CONSULTANCY.value, Arm.DEBATE.value],
            help="what to write; repeatable (default: both)",
        )
        parser.add_argument("--items", type=int, metavar="N", help="items to draw (default: all)")
        parser.add_argument(
            "--rounds", type=int, default=2, metavar="K", help=f"1 to {MOST_ROUNDS}, default 2"
        )
        parser.add_argument(
            "--words", type=int, default=100, metavar="N", help=f"30 to {MOST_WORDS}, default 100"
        )
        parser.add_argument("--seed", type=int, default=SEED, help=f"default {SEED}")
        add_asking(parser, budget="for all arguments together, or of each judge of a jury")
        parser.add_argument(
            "--new", metavar="SLUG", help="short name of the linked study to create"
        )
        parser.add_argument(
            "--beliefs",
            metavar="STUDY",
            help="study in which the same people answer for themselves",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        try:
            if options["jury"]:
                self._discuss(study, options)
            elif options["new"]:
                self._create(study, options)
            elif options["judge"]:
                self._write(study, options)
            else:
                self._continue(study, options)
        except (JudgingError, StudyError) as error:
            raise command_error(error) from error

    def _write(self, study: Study, options: dict[str, Any]) -> None:
        judge, *more = judges_named(
            [options[name] for name in ("judge", "second") if options[name]]
        )
        second = more[0] if more else None
        wanted = _wanted(options)
        if options["dry_run"]:
            cost = cost_of(items_for(study, wanted), wanted, judge, second)
            price = "cost unknown, because a model has no price"
            if cost.dollars is not None:
                price = f"about ${cost.dollars:.4f}"
            self.stdout.write(
                f"{cost.texts:,} arguments about {cost.items:,} items, about {cost.tokens:,} "
                f"tokens: {price}. Nothing was asked."
            )
            for remark in cost.remarks:
                self.stdout.write(f"Note: {remark}")
            return
        with using(study, "advice"):
            job = request_arguments(
                study_id=study.pk,
                wanted=wanted,
                judge=judge,
                second=second,
                budget=options["budget"],
                user=None,
            )
        self._run(job, options)

    def _continue(self, study: Study, options: dict[str, Any]) -> None:
        job = _latest(study)
        budget: Decimal | None = options["budget"] or job.budget
        with using(study, "advice"):
            if not continue_job(study_id=study.pk, job=job, budget=budget):
                raise CommandError(
                    "Arguments are being written. Wait until that has finished; if the process was "
                    "stopped, continue after a minute."
                )
        self._run(job, options)

    def _run(self, job: ArgumentJob, options: dict[str, Any]) -> None:
        how = "Run the command without --judge to continue."
        if is_done(job, options, write_arguments, to_continue=how):
            self.stdout.write(f"{job.message} Spent: ${spent(job):.4f}.")
        else:
            self.stdout.write("A worker is asking for the arguments.")

    def _discuss(self, study: Study, options: dict[str, Any]) -> None:
        jury, inline = _jury(study, options["jury"]), options["inline"]
        if options["dry_run"]:
            self.stdout.write(estimated(estimate_discussion(study, jury)))
            return
        with using(study, "advice"):
            runs = start_discussion(
                study_id=study.pk, jury=jury, budget=options["budget"], enqueue=not inline
            )
        answer_or_wait(JudgeRun.objects.filter(pk__in=[run.pk for run in runs]), options)
        for run in runs:
            run.refresh_from_db()
            self.stdout.write(
                f"{run.judge.name}: {run.get_state_display()}. {run.sentence}".strip()
            )
        if inline and any(run.state != JudgeRun.State.DONE for run in runs):
            raise CommandError("Some judges have not finished. Run the same command to continue.")

    def _create(self, study: Study, options: dict[str, Any]) -> None:
        beliefs = find_study(options["beliefs"]) if options["beliefs"] else None
        try:
            with using(study, "advice"):
                draft = arms_study(job=_latest(study), slug=options["new"], beliefs=beliefs)
        except ValidationError as error:
            raise CommandError(explain(error)) from error
        noted = draft.source["advice_arms"]
        self.stdout.write(
            f"Created “{draft.slug}”, a draft with {noted['items']:,} items in each of "
            f"{len(noted['arms'])} arms: {', '.join(noted['arms'])}."
        )


def _latest(study: Study) -> ArgumentJob:
    job = ArgumentJob.objects.filter(study=study).order_by("-pk").first()
    if job is None:
        raise CommandError(f"No arguments were requested for “{study.slug}”. Give --judge.")
    return job


def _jury(study: Study, name: str) -> Jury:
    jury = Jury.objects.filter(study=study, name=name).first()
    if jury is None:
        names = ", ".join(Jury.objects.filter(study=study).values_list("name", flat=True))
        raise CommandError(f"Study “{study.slug}” has no jury “{name}”. It has: {names or 'none'}.")
    return jury


def _wanted(options: dict[str, Any]) -> WantedArguments:
    limits = {
        "items": (1, 10**6),
        "rounds": (1, MOST_ROUNDS),
        "words": (30, MOST_WORDS),
        "seed": (0, 2**53),
    }
    for name, (least, most) in limits.items():
        if options[name] is not None and not least <= options[name] <= most:
            raise CommandError(f"--{name}: Use a whole number from {least:,} to {most:,}.")
    numbers = {name: options[name] for name in limits}
    return WantedArguments(**numbers, **({"arms": options["arm"]} if options["arm"] else {}))
