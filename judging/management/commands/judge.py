import sys
import time
from argparse import ArgumentParser
from dataclasses import replace
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from judging import deliveries
from judging.catalog.connection_test import run_connection_test
from judging.errors import DatabaseAway, JudgingError
from judging.management.asking import dollars, estimated
from judging.management.errors import command_error
from judging.models import Judge, JudgeRun
from judging.protocols import framings, registry
from judging.runs import costs, lifecycle
from judging.runs.reuse import saving_of
from judging.runs.row_creation import RunStudyFacts
from judging.runs.spec import Reuse, RunSpec
from judging.runs.start import run_for, start_run
from judging.runs.structured_replies import go_on_structured, offer_of, offering
from judging.selectors import (
    RunCost,
    RunProgress,
    has_replies,
    progress_words,
    run_cost,
    run_progress,
)
from judging.version_watch import VersionWatch
from judging.worker import runtime
from judging.worker.runtime import outlive_restart
from judging.worker.unread import accept_unread, unread_of
from studies.errors import StudyError
from studies.jobs import queueing
from studies.management.terminal import add_how, find_study, progress_bar
from studies.models import Study
from studies.prompts import language_note
from studies.services.extras import turn_on, turned_on_since
from studies.services.studies import confirm_providers

_OF_THE_RUN = (
    *("setting", "features", "orders", "samples", "seed", "limit", "budget", "token_budget"),
    *("framing", "bias_probe", "reading", "extend", "reuse"),
)
_POLL_SECONDS = 0.1
_COUNT_SECONDS = 0.5  # counting a large run takes a while
_NO_WORKER_SECONDS = 30.0
_GO_ON = "Nothing more is sent. To go on all the same, repeat this command with --go-on."
_STOPPED = (
    "Stopped by hand. All replies received so far are kept. To continue, repeat the command. To "
    "stop workers too, pause the run on its page."
)


class Command(BaseCommand):
    help = (
        "Run a judge on the items of a study. Repeating the command continues the run. Items "
        "with a judgment are not sent again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="short name of the study")
        parser.add_argument("--judge", required=True, metavar="NAME")
        parser.add_argument("--setting", choices=registry.names(), default=registry.DEFAULT)
        parser.add_argument(
            "--features", default="all", help="all, none, a set, or feature keys a,b,c"
        )
        parser.add_argument("--orders", choices=JudgeRun.Orders.values, default="random")
        parser.add_argument(
            "--wording", default="", metavar="NAME[@VERSION]", help="one of the study's wordings"
        )
        parser.add_argument("--framing", choices=[*framings.framings()], default=framings.OBSERVER)
        parser.add_argument(
            "--bias-probe", default="", metavar="PROBE", help="change prompts to measure a bias"
        )
        parser.add_argument(
            "--reading",
            choices=JudgeRun.Reading.values,
            default=JudgeRun.Reading.LENIENT,
            help="how to read replies that break the reply format",
        )
        parser.add_argument(
            "--language",
            default="",
            metavar="CODE",
            help="language of the words around the items (default: the study's)",
        )
        parser.add_argument("--samples", type=int, default=1, metavar="K")
        parser.add_argument(
            "--seed", type=int, help="seed of the random orders (default: the study's)"
        )
        parser.add_argument("--limit", type=int, metavar="N", help="first N items by key")
        parser.add_argument("--budget", type=dollars, metavar="USD")
        parser.add_argument("--token-budget", type=int, metavar="N")
        parser.add_argument(
            "--extend",
            action="store_true",
            help="add samples or the other order to an existing run instead of starting a new one",
        )
        which = parser.add_mutually_exclusive_group()
        which.add_argument(
            "--reuse",
            action="store_const",
            const=Reuse.SAME_PROMPT,
            default=Reuse.IDENTICAL,
            help=(
                "reuse judgments of other runs of the same model for the same prompts, even with "
                "another seed (default: only for the same request)"
            ),
        )
        which.add_argument(
            "--fresh",
            dest="reuse",
            action="store_const",
            const=Reuse.FRESH,
            help="do not reuse judgments of other runs",
        )
        parser.add_argument(
            "--probe",
            action="store_true",
            help="send one test question, show prompt, reply and estimated cost, then pause",
        )
        parser.add_argument(
            "--confirm-sharing",
            metavar="REASON",
            help="confirm that items whose source forbids it may be sent to the judge's provider",
        )
        parser.add_argument(
            "--yes",
            action="store_true",
            help="at a terminal: do not send a test question and do not ask for confirmation",
        )
        parser.add_argument(
            "--go-on",
            action="store_true",
            help="go on to the end although few replies can be read or many are refused; a run "
            "pauses then after 20 questions",
        )
        parser.add_argument(
            "--structured",
            action="store_true",
            help="request structured replies, in a run of its own; a run that offers to go on so "
            "ends and keeps its answers",
        )
        add_how(parser, dry_run="show the cost; ask nothing")
        for delivery in deliveries.MORE:
            delivery.add_judge_options(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        judge = Judge.objects.filter(name=options["judge"]).first()
        if judge is None:
            raise CommandError(
                f"There is no judge “{options['judge']}”. Add it with add_judge first."
            )
        try:
            wording_id = RunStudyFacts(study).wording_named(options["wording"])
        except JudgingError as error:
            raise command_error(error) from error
        spec = RunSpec(
            study_id=study.pk,
            judge_id=judge.pk,
            wording_id=wording_id,
            prompt_language=options["language"],
            **{name: options[name] for name in _OF_THE_RUN},
        )
        for delivery in deliveries.MORE:
            spec = delivery.specify(spec, options)
        if note := language_note(study.language, options["language"]):
            self.stdout.write(note)
        try:
            if options["dry_run"]:
                spec = replace(spec, structured=spec.structured or options["structured"])
                self.stdout.write(estimated(costs.estimate_start(study, judge, spec)))
                return
            if options["confirm_sharing"] is not None:
                confirm_providers(study_id=study.pk, reason=options["confirm_sharing"])
            if options["structured"]:
                if earlier := offering(study, judge, spec):
                    go_on_structured(run_id=earlier.pk, enqueue=False)
                spec = replace(spec, structured=True)
            for delivery in deliveries.MORE:
                if told := delivery.deliver(spec, options):
                    for sentence in turn_on(study, deliveries.MORE.extra_of(delivery.name)):
                        self.stderr.write(sentence)
                    self.stdout.write(told)
                    return
            known = run_for(study, judge, spec)
            if options["go_on"] and known.pk is not None:
                accept_unread(known.pk)
            if options["probe"]:
                self._find_form(judge, study)
            if options["probe"] or self._asks_first(judge, options):
                run = start_run(spec, probe=True, enqueue=False)
                if (options["probe"] or not has_replies(run.pk)) and not self._probe(run, options):
                    return
            run = start_run(spec, enqueue=not options["inline"])
            if options["go_on"]:
                accept_unread(run.pk)
            for sentence in turned_on_since(study):
                self.stderr.write(sentence)
        except (JudgingError, StudyError) as error:
            raise command_error(error) from error

        try:
            if options["inline"]:
                self._work(run)
            elif options["wait"]:
                if told := _unheard():
                    self.stderr.write(told.strip())
                self._follow(run)
        except DatabaseAway as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            raise CommandError(_STOPPED, returncode=130) from None
        run.refresh_from_db()
        self._report(run, is_over=options["inline"] or options["wait"])

    def _find_form(self, judge: Judge, study: Study) -> None:
        is_new = not (judge.reply_form or judge.runs.exists())
        if is_new and judge.structured is None and judge.capabilities.structured:
            test = run_connection_test(judge, study)
            if words := test.form_words or test.problem:
                self.stdout.write(words)

    def _asks_first(self, judge: Judge, options: dict[str, Any]) -> bool:
        """Whether a person at a terminal can confirm before money is spent."""
        costs = bool(judge.price_input or judge.price_output or options["budget"])
        return costs and not options["yes"] and sys.stdin.isatty() and self.stdout.isatty()

    def _probe(self, run: JudgeRun, options: dict[str, Any]) -> bool:
        """Show the reply to one question; return whether to continue."""
        try:
            probe = costs.probe_run(run_id=run.pk)
        finally:
            runtime.shut_down()
        self.stdout.write(_words(run, probe))
        if not options["probe"] and probe.left:
            if input("Continue with the rest? [y/N] ").strip().lower() in {"y", "yes"}:
                return True
        if probe.left:
            self.stdout.write(
                "Nothing more was sent. To continue, run the same command without --probe."
            )
        return False

    def _work(self, run: JudgeRun) -> None:
        total = run_progress(run).total
        try:
            with progress_bar(sys.stderr, total=total, label=run.judge.name) as bar:
                watch = VersionWatch(run.pk)
                lifecycle.work_off(run_id=run.pk, on_wait=lambda: self._show(run, bar, watch))
                self._show(run, bar, watch)
        finally:
            runtime.shut_down()

    def _show(self, run: JudgeRun, bar: Any, watch: VersionWatch) -> None:
        progress = _look(run)
        bar.set_postfix_str(progress_words(run, progress), refresh=False)
        bar.update(progress.ended - bar.n)
        for sentence in outlive_restart(watch.look):
            self.stderr.write(f"▲ {sentence}")

    def _follow(self, run: JudgeRun) -> None:
        started = counted = time.monotonic()
        warned = False
        watch = VersionWatch(run.pk)
        with progress_bar(sys.stderr, total=run_progress(run).total, label=run.judge.name) as bar:
            while run.is_active:
                time.sleep(_POLL_SECONDS)
                outlive_restart(run.refresh_from_db)
                if not run.is_active or time.monotonic() - counted > _COUNT_SECONDS:
                    self._show(run, bar, watch)
                    counted = time.monotonic()
                silent = run.state == JudgeRun.State.QUEUED and not warned
                if silent and time.monotonic() - started > _NO_WORKER_SECONDS:
                    warned = True
                    self.stderr.write(
                        "No worker has picked up the run yet. Start one with: celery -A config "
                        "worker -P threads --concurrency 16 --beat, or use --inline."
                    )

    def _report(self, run: JudgeRun, *, is_over: bool) -> None:
        progress = run_progress(run)
        if not is_over and run.is_active:
            self.stdout.write(
                f"Run {run.public_id} is queued: {progress.left:,} of {progress.total:,} "
                f"judgments left for the workers.{_unheard()}"
            )
            return
        cost = run_cost(run)
        money = "price unknown" if cost.dollars is None else f"${cost.dollars:.4f}"
        if cost.dollars is not None and cost.estimated:
            money += f" (of it up to ${cost.estimated:.4f} where the server reported no tokens)"
        tokens = cost.prompt_tokens + cost.completion_tokens
        summary = (
            f"Run {run.public_id}: {run.get_state_display()}. {run.sentence} "
            f"{cost.attempts:,} requests, {tokens:,} tokens, {money}.{_cached(cost)}"
        )
        if saving := saving_of(run):
            money = "" if saving.dollars is None else f", ${saving.dollars:.4f}"
            summary += (
                f" Reused from other runs: {saving.judgments:,}, which saved "
                f"{saving.tokens:,} tokens{money}."
            )
        if progress.unparseable and (offer := offer_of(run)):
            summary += f" {offer.words} For that, add --structured to this command."
        if unread := unread_of(run):
            replies = [f"{reply.key}: {reply.text}" for reply in unread.replies]
            summary = "\n".join((summary, *replies, unread.advice, _GO_ON))
        if is_over and (run.state != JudgeRun.State.DONE or progress.error):
            raise CommandError(summary)
        self.stdout.write(summary)


def _unheard() -> str:
    """What to do if the workers could not be told of a run; empty if they were."""
    if not (problem := queueing.problem()):
        return ""
    return (
        " The workers do not know of it yet: the broker cannot be reached "
        f"({problem.rstrip('.')}). Start it, or check CELERY_BROKER_URL. The run then starts by "
        "itself within a minute. Use --inline to ask from here without a broker."
    )


def _look(run: JudgeRun) -> RunProgress:
    def look() -> RunProgress:
        run.refresh_from_db()
        return run_progress(run)

    return outlive_restart(look)


def _cached(cost: RunCost) -> str:
    """The input from the server's cache as a sentence; empty if there was none."""
    if not cost.cached_tokens:
        return ""
    saved = "" if cost.saved is None else f", saved ${cost.saved:.4f}"
    return f" Cached: {cost.cached_percent:.0f} % of input tokens{saved}."


def _words(run: JudgeRun, probe: costs.Probe) -> str:
    judgment = probe.judgment
    money = "price unknown" if probe.dollars is None else f"${probe.dollars:.4f}"
    lines = [
        f"Item {judgment.item.key}, response {judgment.shown_first[1]} first. Prompt:",
        probe.prompt,
        "",
        f"Reply no. {judgment.replies} by {judgment.model_snapshot or run.judge.model}:",
        probe.reply,
        "",
        f"Read as: {probe.reading}. {judgment.error}".rstrip(),
        f"Option probabilities: {probe.probabilities}.",
        f"Structured output: {probe.form}.",
        f"Left: {probe.left:,} judgments, about {probe.tokens:,} tokens, {probe.time}, {money}.",
        *(f"Note: {remark}" for remark in costs.remarks_on(run)),
    ]
    return "\n".join(lines)
