"""improve_judge STUDY: learn better wordings from people's answers, and try them once."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from extras.improving import requests
from extras.improving.models import WHOLE, Improvement
from extras.improving.next_labels import next_labels
from extras.improving.tasks import improve
from judging.errors import JudgingError
from judging.management.asking import add_asking, is_done
from judging.management.errors import command_error
from judging.models import JudgeRun
from studies.errors import StudyError
from studies.jobs.retry import waiting_job
from studies.management.terminal import find_study, using


class Command(BaseCommand):
    help = (
        "Learn wordings for a judge from one part of people's answers, and try the best ones once "
        "on a sealed part. Repeating the command continues an improvement that was stopped or "
        "used up its budget; nothing is asked twice."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument(
            "--run", metavar="ID", help="the run to improve, by the id on its page (default: first)"
        )
        parser.add_argument(
            "--annotator",
            metavar="PSEUDONYM",
            default="",
            help="learn from this annotator’s answers alone, and predict their others",
        )
        parser.add_argument(
            "--judge",
            metavar="NAME",
            help="let this judge write guidelines (default: the judge of the run)",
        )
        parser.add_argument(
            "--learn",
            nargs="+",
            choices=requests.ALONE,
            default=requests.ALONE,
            help="what to learn (default: everything that can be learned)",
        )
        for name, usual, metavar, words in (
            ("most", requests.USUAL_MOST, "K", "wordings that are tried on the sealed part"),
            ("items", requests.USUAL_ITEMS, "N", "items to learn from on which each is judged"),
            ("sealed", requests.USUAL_SHARE, "PERCENT", "share of the personas that are sealed"),
            ("gain", requests.USUAL_GAIN, "POINTS", "gain that the trial must be able to find"),
        ):
            words += " (default: %(default)s)"
            parser.add_argument(f"--{name}", type=int, default=usual, metavar=metavar, help=words)
        parser.add_argument(
            "--again",
            action="store_true",
            help="start another improvement although the last one can be continued",
        )
        parser.add_argument(
            "--next",
            type=int,
            metavar="N",
            help="only name the N items that a person should answer next, and what they bring",
        )
        parser.add_argument(
            "--out", type=Path, metavar="FILE", help="write the better wording to this file"
        )
        add_asking(parser, dry_run="show sizes and cost; ask nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        try:
            run = requests.run_named(study, options["run"] or "")
            if options["next"] is not None:
                self.stdout.write(next_labels(run, options["next"], options["sealed"]).text)
                return
            wish = self._wish(run, options)
            if options["dry_run"]:
                self._print_cost(requests.estimate_improvement(wish))
                return
            with using(study, "improving"):
                improvement = self._requested(wish, options)
        except (JudgingError, StudyError) as error:
            raise command_error(error) from error
        if is_done(improvement, options, improve):
            self._print_results(improvement, options["out"])
        else:
            self.stdout.write("A worker is improving the judge.")

    def _wish(self, run: JudgeRun, options: dict[str, Any]) -> requests.ImprovementWish:
        return requests.wish_of(
            run,
            annotator=options["annotator"],
            writer=options["judge"] or "",
            learn=None if options["learn"] == requests.ALONE else options["learn"],
            most=options["most"],
            items=options["items"],
            share=options["sealed"],
            gain=options["gain"],
        )

    def _requested(self, wish: requests.ImprovementWish, options: dict[str, Any]) -> Improvement:
        budget = options["budget"]
        same = Improvement.objects.filter(run=wish.run, annotator=wish.annotator)
        if improvement := waiting_job(same):
            return improvement
        last = same.order_by("-pk").first()
        if last is not None and not options["again"]:
            if requests.request_again(last, budget=budget or last.budget):
                return last
        return requests.request_improvement(wish, budget=budget, user=None)

    def _print_cost(self, cost: requests.ImprovementCost) -> None:
        price = "unknown" if cost.dollars is None else f"${cost.dollars:.4f}"
        size = cost.size
        self.stdout.write(
            f"To learn from: {size.learn:,} items of {size.personas[0]:,} {cost.units}. Sealed: "
            f"{size.sealed:,} items of {size.personas[1]:,} {cost.units}, which find a gain of "
            f"{(size.findable or 0) * 100:.0f} points in 4 of 5 trials. Items needed: "
            f"{size.sizes}.\n"
            f"At most {cost.guidelines:,} requests for guidelines, {cost.learning:,} questions on "
            f"the part to learn from and {cost.trial:,} on the sealed one, about {cost.tokens:,} "
            f"tokens and {cost.time}. Expected cost: {price}. Nothing was asked."
        )
        for remark in cost.remarks:
            self.stdout.write(f"Note: {remark}")

    def _print_results(self, improvement: Improvement, out: Path | None) -> None:
        from analysis.report.words import p_value, percent, points, points_range

        for one in improvement.results["candidates"]:
            line = f"{one['wording']} ({one['sha256'][:12]}): {points(one['learned'])} points on "
            line += f"{one['learned_n']:,} items to learn from"
            if one.get("difference") is not None:
                ends = f", 95 % CI {points_range(one['ci'])}" if one.get("ci") else ""
                line += f"; sealed: {percent(one['before'])} to {percent(one['after'])}, "
                line += f"{points(one['difference'])} points{ends}"
                if one.get("p_holm") is not None:
                    line += f", adjusted p {p_value(one['p_holm'])}"
            self.stdout.write(f"{line}.")
        if improvement.opening > 1:
            self.stdout.write(
                f"The sealed part has been opened {improvement.opening} times for this judge, "
                "which weakens what it shows; p values are adjusted for the earlier trials too."
            )
        self.stdout.write(improvement.message)
        better = improvement.results["better"]
        if better and out is not None:
            best = improvement.wordings.get(fold=WHOLE, kind=better)
            out.write_text(best.wording.template or best.wording.template_without_persona, "utf-8")
            self.stdout.write(
                f"Wrote it to {out}. Use it elsewhere with: import_wording STUDY {out}"
            )
