"""Prolific from the command line: the same services as the pages."""

import datetime as dt
import re
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.errors import AnnotationError
from annotation.models import BonusPayment, ProlificStudy, Recruitment
from annotation.prolific import money
from annotation.prolific.additions import ACTIONS
from annotation.prolific.api import accounts
from annotation.prolific.api.credentials import knows_secret, why_unusable
from annotation.prolific.api.transport import ChooseWorkspace, LaunchRefused
from annotation.prolific.launch import launch, publication
from annotation.prolific.launch.launch_checks import LaunchPreview
from annotation.prolific.launch.launch_plan import DEVICES, LaunchPlan
from annotation.prolific.launch.open_places import forecast_on_prolific
from annotation.prolific.launch.plan_words import plan_sentence
from annotation.prolific.money import BonusLine
from annotation.prolific.settle import decisions
from annotation.prolific.settle.proposals import (
    APPROVE,
    BONUS,
    RETURN,
    SettlementRow,
    pace_of,
    settlement,
    totals,
)
from annotation.prolific.spending import BeyondNeed, Spending
from annotation.prolific.sync.sync import follow
from annotation.prolific.sync.webhooks import subscribe
from studies.management.terminal import find_study, using
from studies.models import Study
from studies.money import format_money, sums_in_words


def add_launch_options(parser: ArgumentParser) -> None:
    parser.add_argument("--preset", choices=["paper"], help="the settings of the paper's study")
    parser.add_argument(
        "--places", type=int, help="number of participants (default: as many as the items need)"
    )
    parser.add_argument(
        "--country",
        action="append",
        help="as Prolific names it, for example “United States”; repeat",
    )
    parser.add_argument(
        "--language", action="append", help="as Prolific names it, for example English; repeat"
    )
    parser.add_argument(
        "--filter",
        action="append",
        dest="filters",
        metavar="FILTER=LABEL,LABEL",
        help="any other filter by its id, with labels or ids, or a range FILTER=LOW:HIGH; “|” "
        "between alternatives and “&&” within one, for example “diet=Vegan && sex=Male | age=60:”; "
        "repeat for further conditions",
    )
    parser.add_argument("--filter-set", help="id of a filter set, instead of all other filters")
    parser.add_argument(
        "--naivety", type=float, help="0 (fastest) to 1 (participants with few studies)"
    )
    parser.add_argument("--at-once", type=int, help="at most this many participants at a time")
    parser.add_argument(
        "--approve-at-once",
        action="store_true",
        default=None,
        help="Prolific approves everybody who finishes; you cannot reject anybody",
    )
    parser.add_argument("--approval-rate", type=int, help="minimum, in percent")
    parser.add_argument("--earlier-submissions", type=int, help="minimum number")
    parser.add_argument("--age", metavar="LOW-HIGH", help="for example 18-75")
    parser.add_argument(
        "--balance",
        action="append",
        metavar="FILTER=LABEL,LABEL",
        help="divide the places by a filter, for example sex=Male,Female: like the quota groups if "
        "there are any, otherwise equally; repeat to cross filters",
    )
    parser.add_argument("--devices", help=f"comma-separated list of {', '.join(DEVICES)}")
    parser.add_argument(
        "--apart", action="store_true", default=None, help="one study for each group"
    )
    parser.add_argument(
        "--signed-links", action="store_true", default=None, help="if your workspace has them"
    )
    parser.add_argument(
        "--screen-out-pay",
        type=int,
        help="cents or pence for people who are screened out, if your workspace pays screen-outs",
    )
    parser.add_argument("--screen-out-slots", type=int, help="at most this many of them")
    parser.add_argument("--workspace", help="workspace id; required if the account has several")
    parser.add_argument("--project", help="project id (default: Thirdperson, else the first)")
    parser.add_argument("--check", action="store_true", help="show checks and cost only")
    for trial in launch.TRIALS:
        parser.add_argument(f"--{trial.name}", action="store_true", help=trial.help)


def plan_changes(options: dict[str, Any]) -> dict[str, Any]:
    """The settings given on the command line; the others do not change."""
    names = (
        "places",
        "approval_rate",
        "earlier_submissions",
        "apart",
        "signed_links",
        "screen_out_pay",
        "screen_out_slots",
        "workspace",
        "project",
        "filter_set",
        "naivety",
        "at_once",
        "approve_at_once",
    )
    changes = {name: options[name] for name in names if options[name] is not None}
    readers: dict[str, Callable[[Any], dict[str, Any]]] = {
        "age": _ages,
        "balance": _balance,
        "devices": _devices,
        "filters": _filters,
        "country": lambda labels: {"country": "\n".join(labels)},
        "language": lambda labels: {"language": "\n".join(labels)},
    }
    for name, read in readers.items():
        if options[name]:
            changes |= read(options[name])
    return changes


def _ages(text: str) -> dict[str, Any]:
    low, _, high = text.partition("-")
    if not (low.isdecimal() and high.isdecimal() and int(low) <= int(high)):
        raise CommandError(f"--age takes LOW-HIGH, for example 18-75, not “{text}”.")
    return {"age_low": int(low), "age_high": int(high)}


def _balance(texts: list[str]) -> dict[str, Any]:
    balance = {}
    for text in texts:
        name, _, labels = text.partition("=")
        balance[name.strip()] = [label.strip() for label in labels.split(",") if label.strip()]
        if not name.strip() or len(balance[name.strip()]) < 2:
            raise CommandError(f"--balance takes FILTER=LABEL,LABEL, not “{text}”.")
    return {"balance": balance}


def _filters(texts: list[str]) -> dict[str, Any]:
    filters = []
    for text in texts:
        either = [_together(one) for one in text.split("|")]
        filters.append(either[0] if len(either) == 1 else {"any": either})
    return {"filters": filters}


def _together(text: str) -> dict[str, Any]:
    parts = [_filter(one) for one in text.split("&&")]
    return parts[0] if len(parts) == 1 else {"all": parts}


def _filter(text: str) -> dict[str, Any]:
    name, _, value = (part.strip() for part in text.partition("="))
    is_range = re.fullmatch(r"[\d.-]*\s*:\s*[\d.-]*", value)
    low, _, high = (part.strip() for part in value.partition(":"))
    labels = [label.strip() for label in value.split(",") if label.strip()]
    if not name or not (low or high if is_range else labels):
        raise CommandError(f"--filter takes FILTER=LABEL,LABEL or FILTER=LOW:HIGH, not “{text}”.")
    if is_range:
        return {"filter": name} | {n: v for n, v in (("low", low), ("high", high)) if v}
    return {"filter": name, "labels": labels}


def _moment(text: str) -> dt.datetime:
    try:
        at = dt.datetime.fromisoformat(text)
    except ValueError:
        raise CommandError(f"--at takes a time such as 2026-12-31T09:30, not “{text}”.") from None
    return at if at.tzinfo else at.replace(tzinfo=dt.UTC)


def _devices(text: str) -> dict[str, Any]:
    chosen = [name.strip() for name in text.split(",") if name.strip()]
    if not chosen or set(chosen) - set(DEVICES):
        raise CommandError(f"--devices takes {', '.join(DEVICES)}, not “{text}”.")
    return {"devices": chosen}


def _add_beyond(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--beyond-need", action="store_true", help="buy more places than the study needs"
    )


_PAUSED = ("pause", "start", "stop")
# When run again, these first look for the result of an earlier call.
_LOOKS_ITSELF = ("launch", "forget", "webhooks")


class Command(BaseCommand):
    help = (
        "Recruit on Prolific. launch creates a draft, publish spends the money, settle approves "
        "and pays. Actions that spend money show the amount and ask first; --yes answers yes."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

        def add(name: str, words: str) -> ArgumentParser:
            sub = actions.add_parser(name, help=words, description=words)
            sub.add_argument("study", metavar="STUDY", help="short name of the study")
            sub.add_argument("--yes", action="store_true", help="do not ask for confirmation")
            return sub

        plan = add("launch", "check the launch plan and create the draft; safe to repeat")
        add_launch_options(plan)

        known = add("accounts", "show the accounts that the study may use, or choose one of them")
        known.add_argument("--use", type=int, metavar="N", help="its number; 0: the installation's")
        publish = add("publish", "publish the draft; you type the amount to confirm")
        publish.add_argument(
            "--at", metavar="TIME", help="later, for example 2026-12-31T09:30+00:00 (default UTC)"
        )
        _add_beyond(publish)
        add("unschedule", "cancel a scheduled publication")
        for name in _PAUSED:
            add(name, f"{name} recruitment")
        places = add("places", "show the cost of more places and add them")
        places.add_argument("extra", type=int, metavar="N")
        places.add_argument("--group", default="", help="quota group, if each has its own study")
        _add_beyond(places)
        add("refill", "reopen the study to refill returned places")
        add("sync", "read everything from Prolific")
        add("forget", "delete an unpublished draft here and on Prolific")
        add("webhooks", "subscribe to Prolific's notifications; prints the signing secret once")
        money = add("settle", "show all submissions; approve and pay after confirmation")
        money.add_argument(
            "--approve", action="store_true", help="approve the suggested submissions"
        )
        money.add_argument("--bonuses", action="store_true", help="pay the suggested bonuses")
        money.add_argument("--returns", metavar="REASON", help="request the suggested returns")
        for more in ACTIONS:
            more.add_options(add(more.name, more.help))

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        action: str = options["action"]
        added = {more.name: more for more in ACTIONS}.get(action)
        try:
            if added:
                with using(study, ACTIONS.extra_of(action)):
                    for line in added.lines(study, options):
                        self.stdout.write(line)
            elif action in _PAUSED:
                self._change(study, action, yes=options["yes"])
            else:
                getattr(self, f"_{action}")(study, options)
        except EOFError:
            raise CommandError(
                "There is no terminal to confirm this. Add --yes to answer yes."
            ) from None
        except LaunchRefused as error:
            raise CommandError("\n".join(error.problems)) from error
        except BeyondNeed as error:
            raise CommandError(f"{error} To buy them all the same, add --beyond-need.") from error
        except ChooseWorkspace as error:
            raise CommandError(f"{error} Name it with: prolific launch --workspace ID") from error
        except AnnotationError as error:
            # Only the action itself looks up some outcomes; `sync` shows all others.
            looks_itself = added.looks_itself if added else action in _LOOKS_ITSELF
            again = action if looks_itself else "sync"
            doubt = f" To find out, run: prolific {again} {study.slug}"
            unknown = getattr(error, "outcome_unknown", False)
            raise CommandError(f"{error}{doubt if unknown else ''}") from error

    def _confirmed(self, question: str, options: dict[str, Any]) -> bool:
        if options["yes"]:
            return True
        return input(f"{question} Type yes: ").strip().lower() == "yes"

    def _typed(self, asked: Spending, question: str, options: dict[str, Any]) -> str:
        """Show what a press spends and why; the amount as typed, which --yes types itself."""
        balance = f"The workspace has {asked.held}." if asked.held else asked.balance_problem
        self.stdout.write(f"{asked.need.why} {balance}".rstrip())
        if options["yes"]:
            return asked.plain
        if asked.must_type:
            return input(f"{question} Type {asked.plain} to confirm: ")
        return asked.plain if self._confirmed(question, options) else ""

    def _launch(self, study: Study, options: dict[str, Any]) -> None:
        is_made = ProlificStudy.objects.filter(study=study).exists()
        if options["preset"] == "paper" and not is_made:
            launch.apply_paper(study_id=study.pk)
        if (changes := plan_changes(options)) and not is_made:
            stored = {**launch.plan_of(study).stored(), **changes}
            launch.save_plan(study_id=study.pk, plan=LaunchPlan.of(stored))
        study.refresh_from_db()
        if options["check"]:
            preview = launch.check_launch(study)
            self._show(preview, plan_sentence(study, launch.plan_of(study), preview))
            return
        for trial in launch.TRIALS:
            if options[trial.name.replace("-", "_")]:
                for line in trial.lines(study):
                    self.stdout.write(line)
                return
        rows = launch.launch(study_id=study.pk)
        places = sum(row.places for row in rows)
        self.stdout.write(
            f"Drafts on Prolific: {len(rows)}, with {places:,} places. Publish them with: "
            f"prolific publish {study.slug}"
        )

    def _show(self, preview: LaunchPreview, sentence: str) -> None:
        self.stdout.write(sentence)
        for check in preview.checks:
            mark = "ok     " if not check.is_open else "BLOCKS " if check.blocks else "warning"
            self.stdout.write(f"{mark} {check.text}")
        reward = format_money(preview.reward, preview.currency)
        cost = format_money(preview.cost, preview.currency)
        for cell in (cell for draft in preview.drafts for cell in draft.cells):
            people = {None: "–", 0: "fewer than 25"}.get(cell.eligible, f"{cell.eligible:,}")
            self.stdout.write(f"{cell.label}: {cell.places:g} places, {people} people match.")
        self.stdout.write(
            f"{preview.places:,} participants × {reward}. Total with fees and tax: {cost}."
        )
        if preview.blocking:
            raise LaunchRefused(preview.blocking)

    def _publish(self, study: Study, options: dict[str, Any]) -> None:
        total, asked, _ = publication.look_at_publishing(study)
        if not total.amount:
            self.stdout.write("Everything is already published.")
            return
        beyond = options["beyond_need"]
        at = _moment(options["at"]) if options["at"] else None
        typed = self._typed(asked, f"Publishing spends {total}.", options)
        rows = publication.publish(study_id=study.pk, confirmed=typed, beyond=beyond, at=at)
        if at is not None:
            self.stdout.write(f"Scheduled for {at:%Y-%m-%d %H:%M %Z}.")
            return
        states = ", ".join(dict.fromkeys(row.status.lower() for row in rows))
        self.stdout.write(f"Published for {total}: {states}.")

    def _unschedule(self, study: Study, options: dict[str, Any]) -> None:
        publication.change(study_id=study.pk, action="CANCEL_PUBLISH")
        self.stdout.write("Publication cancelled. The study is a draft again.")

    def _change(self, study: Study, action: str, *, yes: bool) -> None:
        if action == "stop" and not self._confirmed(
            "No new participants can join after that.", {"yes": yes}
        ):
            raise CommandError("Not stopped.")
        rows = publication.change(study_id=study.pk, action=action.upper())
        self.stdout.write(f"On Prolific: {', '.join(row.status.lower() for row in rows)}.")

    def _places(self, study: Study, options: dict[str, Any]) -> None:
        extra, group = options["extra"], options["group"]
        row = ProlificStudy.objects.filter(study=study, label=group).first()
        if row is None or extra < 1:
            raise CommandError("This study is not on Prolific, or the number is below 1.")
        seen, asked = publication.look_at_places(row, extra=extra)
        question = f"Increase the places from {seen} to {seen + extra} for {asked}?"
        typed = self._typed(asked, question, options)
        if not typed:
            raise CommandError("No places were added.")
        row = publication.add_places(
            study_id=study.pk,
            extra=extra,
            label=group,
            seen=seen,
            confirmed=typed,
            beyond=options["beyond_need"],
        )
        self.stdout.write(f"Places: {row.places:,}.")

    def _refill(self, study: Study, options: dict[str, Any]) -> None:
        self.stdout.write(f"Places opened again: {publication.refill(study_id=study.pk):,}.")

    def _sync(self, study: Study, options: dict[str, Any]) -> None:
        read = follow(study_id=study.pk)
        counts = totals(study)
        states = ", ".join(f"{status.lower()} {n}" for status, n in sorted(counts.items()))
        self.stdout.write(f"Submissions read: {read:,}. {states.capitalize() or 'None yet'}.")
        if pace := pace_of(study):
            hourly = format_money(pace.per_hour, study.currency)
            self.stdout.write(f"Median time {pace.minutes:.0f} minutes: {hourly} an hour.")
        if warning := forecast_on_prolific(study).warning:
            self.stdout.write(warning)

    def _forget(self, study: Study, options: dict[str, Any]) -> None:
        forgotten = launch.forget_drafts(study_id=study.pk)
        self.stdout.write(f"Drafts deleted here and on Prolific: {forgotten}.")

    def _accounts(self, study: Study, options: dict[str, Any]) -> None:
        if options["use"] is not None:
            used = accounts.choose(study_id=study.pk, account_id=options["use"] or None)
            self.stdout.write(f"The study uses {used}.")
            return
        for account in accounts.accounts_for(study):
            used = " (used)" * account.recruitments.filter(study=study).exists()
            problem = why_unusable(account, study)
            self.stdout.write(f"{account.pk:>4}  workspace “{account}”{used}  {problem}".rstrip())
        self.stdout.write("   0  the account of the installation (PROLIFIC_API_TOKEN)")

    def _webhooks(self, study: Study, options: dict[str, Any]) -> None:
        secret = subscribe(study_id=study.pk)
        recruitment = Recruitment.objects.select_related("prolific_account").get(study=study)
        if recruitment.prolific_account and knows_secret(recruitment):
            self.stdout.write("Subscribed. The secret is stored, encrypted.")
            return
        self.stdout.write(
            f"Subscribed. Set PROLIFIC_WEBHOOK_SECRET={secret} and restart web and worker."
            if secret
            else "Subscribed. The workspace already has a secret, which Prolific does not show "
            "again. Set it as PROLIFIC_WEBHOOK_SECRET."
        )

    def _settle(self, study: Study, options: dict[str, Any]) -> None:
        follow(study_id=study.pk)
        overview = settlement(study)
        rows = overview.rows
        for row in rows:
            currency, _ = row.amount
            bonus = f"  bonus {format_money(row.bonus, currency)}" if row.bonus else ""
            self.stdout.write(
                f"{row.pseudonym:<12} {row.submission.status.lower():<16} "
                f"{row.work.answers:>3} of {row.work.items:<3} {row.work.minutes:5.0f} min  "
                f"{row.action or 'nothing':<8}{bonus}  {row.reason}"
            )
        if overview.unknown:
            names = ", ".join(annotator.pseudonym for annotator in overview.unknown)
            self.stdout.write(f"Annotators unknown to Prolific: {names}.")
        if options["approve"]:
            self._approve(study, [row for row in rows if row.action == APPROVE], options)
        if options["returns"]:
            self._ask_to_return(study, [row for row in rows if row.action == RETURN], options)
        if options["bonuses"]:
            self._pay(study, [row for row in rows if row.bonus and row.action == BONUS], options)

    def _approve(self, study: Study, rows: list[SettlementRow], options: dict[str, Any]) -> None:
        if not rows:
            self.stdout.write("No submissions to approve.")
            return
        total = sums_in_words([row.approval for row in rows], study.currency)
        if not self._confirmed(
            f"Approve {len(rows)} submission{'s' if len(rows) > 1 else ''} for {total}?", options
        ):
            raise CommandError("Nothing was approved.")
        ids = [row.submission.pk for row in rows]
        done = decisions.approve(study_id=study.pk, submission_ids=ids, confirmed=len(ids))
        self.stdout.write(str(done))

    def _ask_to_return(
        self, study: Study, rows: list[SettlementRow], options: dict[str, Any]
    ) -> None:
        if rows and not self._confirmed(f"Request {len(rows)} returns?", options):
            raise CommandError("No returns were requested.")
        ids = [row.submission.pk for row in rows]
        asked = decisions.request_returns(
            study_id=study.pk, submission_ids=ids, reason=options["returns"]
        )
        self.stdout.write(f"Returns requested: {asked:,}.")

    def _pay(self, study: Study, rows: list[SettlementRow], options: dict[str, Any]) -> None:
        payments = list(
            BonusPayment.objects.filter(
                prolific_study__study=study, state__in=["prepared", "ready"]
            )
        )
        for group in dict.fromkeys(row.submission.prolific_study_id for row in rows):
            lines = [
                BonusLine(row.submission.pk, row.bonus, row.bonus_reason)
                for row in rows
                if row.submission.prolific_study_id == group
            ]
            payments.append(money.prepare(study_id=study.pk, lines=lines))
        if not payments:
            self.stdout.write("No bonuses to pay.")
        for payment in payments:
            ready = money.set_up(payment_id=payment.pk)
            total = format_money(ready.total, ready.prolific_study.paid_in)
            people = ready.lines.count()
            question = f"Pay {total}, with fees and tax, for {people} bonuses?"
            typed = self._typed(money.look_at_payment(ready), question, options)
            if not typed:
                raise CommandError(
                    "Not paid. To pay later, run settle --bonuses or use the page Bonuses."
                )
            money.pay(payment_id=ready.pk, confirmed=ready.total, typed=typed)
            self.stdout.write(f"Paid: {people:,} bonuses, {total} with fees and tax.")
