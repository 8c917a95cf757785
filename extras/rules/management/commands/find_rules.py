"""find_rules STUDY: search for rules that explain where people and a judge's run disagree."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from analysis.data.item_comparisons import labelled, runs_to_compare
from extras.rules.models import RuleSearch
from extras.rules.requests import estimate_search, request_search
from extras.rules.tasks import search_rules
from judging.errors import JudgingError
from judging.management.asking import add_asking, is_done
from judging.management.errors import command_error
from judging.worker.job_requests import judges_named
from studies.errors import StudyError
from studies.jobs.retry import waiting_job
from studies.management.terminal import find_study, using


class Command(BaseCommand):
    help = (
        "Search for rules that people follow more or less often than a run: on one half of the "
        "items, measured features and, with --judge, rules that a judge proposes; tested on the "
        "other half. The page “Why they disagree” and the next report show them. Repeating the "
        "command with --inline does a search that no worker has started."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument(
            "--run",
            metavar="ID",
            help="a run, by the id on its page (default: the first that can be compared)",
        )
        parser.add_argument(
            "--judge", metavar="NAME", help="let this judge propose rules and apply them"
        )
        parser.add_argument(
            "--items", type=int, default=250, metavar="N", help="items that the judge reads"
        )
        add_asking(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        runs = runs_to_compare(study)
        wanted = options["run"]
        run = next((run for run in runs if not wanted or wanted in (run.public_id, run.key)), None)
        if run is None:
            names = ", ".join(f"{run.public_id} ({label})" for run, label in labelled(runs))
            raise CommandError(f"No such run. Runs of “{study.slug}”: {names or 'none'}.")
        if options["items"] < 1:
            raise CommandError(f"--items is {options['items']}. Use a number from 1 on.")
        try:
            judge = judges_named([options["judge"]])[0] if options["judge"] else None
        except JudgingError as error:
            raise command_error(error) from error
        if options["dry_run"]:
            self._print_cost(judge and estimate_search(study, judge, options["items"]))
            return
        to_read, budget = (options["items"] if judge else 0), options["budget"]
        same = RuleSearch.objects.filter(run=run, judge=judge, to_read=to_read)
        try:
            with using(study, "rules"):
                search = waiting_job(same) or request_search(
                    run=run, judge=judge, budget=budget, to_read=to_read, user=None
                )
        except (JudgingError, StudyError) as error:
            raise command_error(error) from error
        if budget is not None:
            RuleSearch.objects.filter(pk=search.pk).update(budget=budget)
        done = is_done(search, options, search_rules)
        self.stdout.write(search.message if done else "A worker is searching for rules.")

    def _print_cost(self, cost: Any) -> None:
        if cost is None:
            self.stdout.write("No model is asked, and nothing is paid.")
            return
        price = "unknown" if cost.dollars is None else f"${cost.dollars:.4f}"
        self.stdout.write(
            f"{cost.proposals} requests for rules and {cost.applications} to apply them, about "
            f"{cost.tokens:,} tokens. Expected cost: {price}."
        )
        if cost.remark:
            self.stdout.write(f"Note: {cost.remark}")
