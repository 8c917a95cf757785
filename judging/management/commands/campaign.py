import sys
from argparse import ArgumentParser
from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from judging.errors import DatabaseAway, FieldError, JudgingError
from judging.management.asking import add_asking
from judging.models import Campaign, JudgeRun
from judging.runs import lifecycle
from judging.runs.campaigns import PLAN_KEYS, CampaignPlan, read_plan, start_campaign
from judging.runs.costs import CampaignEstimate, estimate_plan
from judging.runs.planned import planned_runs, plans_of
from judging.selectors import campaign_progress, progress_words, run_progress
from judging.worker import runtime
from judging.worker.runtime import outlive_restart
from studies.errors import StudyError
from studies.management.terminal import find_study, progress_bar
from studies.models import Study
from studies.prompts import language_note
from studies.services.extras import turned_on_since


class Command(BaseCommand):
    help = (
        "Start all runs of a campaign: judges × settings × features × orders. docs/judging.md "
        "describes the TOML file. Repeating the command continues the campaign; a different plan "
        "under the same name is refused."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument("plan", type=Path, metavar="FILE.toml", nargs="?")
        parser.add_argument(
            "--planned",
            action="store_true",
            help="instead of a file: the runs that the study's preset plans, as campaigns",
        )
        parser.add_argument(
            "--judge",
            action="append",
            default=[],
            metavar="NAME",
            help="with --planned: a judge; repeatable",
        )
        parser.add_argument(
            "--change",
            action="store_true",
            help="replace the plan and budget of the campaign with this name",
        )
        add_asking(parser, budget="with --planned: the most that each campaign spends")

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        path: Path | None = options["plan"]
        if options["planned"] == (path is not None):
            raise CommandError("Name a plan file, or use --planned.", returncode=2)
        if path is None:
            try:
                plans = plans_of(study, judges=options["judge"], budget=options["budget"])
            except JudgingError as error:
                raise CommandError(str(error)) from error
            for sentence in planned_runs(study).left_out:
                self.stderr.write(f"Left out: {sentence}")
            for plan in plans:
                self._start(study, plan, options, where=plan.name)
            return
        try:
            plan = read_plan(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
        except UnicodeDecodeError as error:
            raise CommandError(f"{path} is not UTF-8.") from error
        except JudgingError as error:
            raise CommandError(f"{path}: {error}") from error
        self._start(study, plan, options, where=str(path))

    def _start(
        self, study: Study, plan: CampaignPlan, options: dict[str, Any], *, where: str
    ) -> None:
        try:
            if note := language_note(study.language, plan.language):
                self.stdout.write(note)
            if options["dry_run"]:
                self.stdout.write(_words(plan, estimate_plan(study, plan)))
                return
            campaign = start_campaign(
                study_id=study.pk,
                plan=plan,
                enqueue=not options["inline"],
                change=options["change"],
            )
        except FieldError as error:  # fields of a plan are named like the keys of its file
            raise CommandError(f"{where}: {error.worded(_key_of)}") from error
        except (JudgingError, StudyError) as error:
            raise CommandError(f"{where}: {error}") from error
        for sentence in turned_on_since(study):
            self.stderr.write(sentence)
        try:
            if options["inline"]:
                self._work(list(campaign.runs.select_related("judge")))
            elif options["wait"]:
                self._follow(campaign)
        except DatabaseAway as error:
            raise CommandError(str(error)) from error
        progress = campaign_progress(campaign)
        self.stdout.write(
            f"Campaign “{campaign.name}”: {progress.ended:,} of {progress.total:,} judgments of "
            f"{campaign.runs.count()} runs are finished. "
            f"See /studies/{study.slug}/judges/campaign/{campaign.public_id}/"
        )
        stopped = campaign.runs.filter(
            state__in=[JudgeRun.State.STOPPED_OUTAGE, JudgeRun.State.STOPPED_BUDGET]
        )
        if (options["inline"] or options["wait"]) and (
            run := stopped.select_related("judge").first()
        ):
            raise CommandError(f"Run {run.public_id} of {run.judge.name} stopped: {run.sentence}")

    def _follow(self, campaign: Campaign) -> None:
        total = campaign_progress(campaign).total
        with progress_bar(sys.stderr, total=total, label=campaign.name) as bar:

            def show() -> None:
                progress = outlive_restart(partial(campaign_progress, campaign))
                bar.update(progress.ended - bar.n)

            lifecycle.wait_for_workers(campaign.runs.all(), on_wait=show)

    def _work(self, campaign_runs: list[JudgeRun]) -> None:
        """Process one run after the other, because one run fills the slots of its judge."""
        try:
            for run in campaign_runs:
                label = f"{run.judge.name}, {run.setting}, {run.features[:20]}"
                with progress_bar(sys.stderr, total=run_progress(run).total, label=label) as bar:
                    lifecycle.work_off(run_id=run.pk, on_wait=partial(_show, run, bar))
        finally:
            runtime.shut_down()


def _show(run: JudgeRun, bar: Any) -> None:
    outlive_restart(run.refresh_from_db)
    progress = outlive_restart(partial(run_progress, run))
    bar.set_postfix_str(progress_words(run, progress), refresh=False)
    bar.update(progress.ended - bar.n)


def _key_of(field: str) -> str:
    return PLAN_KEYS.get(field, field)


def _words(plan: CampaignPlan, estimate: CampaignEstimate) -> str:
    lines = [
        f"Campaign “{plan.name}”: {estimate.runs} runs, {estimate.questions:,} questions, about "
        f"{estimate.tokens:,} tokens."
    ]
    for row in estimate.judges:
        money = "price unknown" if row.dollars is None else f"${row.dollars:.2f}"
        lines.append(f"{row.judge.name}: {row.questions:,} questions, {money}.")
    lines += [f"Note: {remark}" for remark in estimate.remarks]
    return "\n".join(lines)
