"""Requests for searches, and the lists and tables of what they found; loads no statistics."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from statistics import fmean
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Substr

from analysis.disagreements.selection import ItemSet
from analysis.exports.catalogue import Disclosure, ExportTable
from analysis.exports.columns import Column
from analysis.exports.table_files import ExportTableFile
from extras.rules.models import TEST, FoundRule, MarkedItem, RuleSearch
from extras.rules.prompts import (
    AT_ONCE,
    MOST_REQUESTS,
    MOST_RULES,
    PROMPT_SHA256,
    RuleCase,
    messages_to_apply,
    messages_to_propose,
    place_of,
)
from judging.engine.messages import length
from judging.models import Judge, JudgeRun
from judging.runs.costs import RunUsage, duration
from judging.worker.endpoints import check_sharing
from studies.errors import StudyError
from studies.jobs.retry import start_over
from studies.models import Item, Study
from studies.personas import profile_for, profile_text
from studies.services.studies import lock_study, record

_SAMPLED, _LETTERS_PER_TOKEN, _USUAL_MS = 20, 4, 2000.0
_USUAL_RULE = "The response that gives practical steps instead of general encouragement"
FAVOURS = {"1": "r1", "2": "r2", "-": "neither", "?": "not known"}


def cases_of(ids: Iterable[int]) -> dict[int, RuleCase]:
    """Items as a judge reads them, by id; which response comes first does not depend on them."""
    items = Item.objects.filter(pk__in=list(ids)).select_related("persona", "study")
    return {
        item.pk: RuleCase(
            profile_text(profile_for(item), style=item.study.persona_style),
            "\n".join(filter(None, (item.context, item.question))),
            (item.r1.get("text") or "", item.r2.get("text") or ""),
            first_shown(item.pk),
        )
        for item in items
    }


def first_shown(item: int) -> int:
    """The stored response, 0 or 1, that a judge of rules sees first."""
    return place_of(str(item))[0] % 2


@dataclass(frozen=True)
class SearchCost:
    """What a search asks at most: requests, and dollars (None if the judge has no price).

    `remark` says whether the price is old.
    """

    proposals: int
    applications: int
    tokens: int
    dollars: Decimal | None
    time: str
    remark: str = ""


def estimate_search(study: Study, judge: Judge, to_read: int) -> SearchCost:
    """The expected cost of a search, guessed from the length of some prompts."""
    items = Item.objects.filter(study=study).exclude(r1__text="").exclude(r2__text="")
    n = min(to_read, -(-items.count() // 2))
    cases = list(cases_of(items.order_by("key").values_list("pk", flat=True)[:_SAMPLED]).values())
    rules = [_USUAL_RULE] * MOST_RULES
    reading = [length(messages_to_apply(case, rules)) for case in cases] or [0]
    finding = [length(messages_to_propose([(case, 0, 1)] * AT_ONCE)) for case in cases] or [0]
    usages = [
        (
            asked,
            RunUsage(fmean(sent) / _LETTERS_PER_TOKEN, judge.thinking_tokens + reply, _USUAL_MS),
        )
        for asked, sent, reply in ((MOST_REQUESTS, finding, 250), (n, reading, 5 * MOST_RULES))
    ]
    dollars = [usage.dollars(judge, asked, by_batch=False) for asked, usage in usages]
    seconds = sum(usage.seconds(judge, asked) or 0.0 for asked, usage in usages)
    return SearchCost(
        MOST_REQUESTS,
        n,
        round(sum(asked * usage.tokens for asked, usage in usages)),
        None if None in dollars else sum(filter(None, dollars), Decimal(0)),
        duration(seconds),
        judge.named_price_remark,
    )


def needed(study: Study) -> Iterator[str]:
    """What has to end before rules can be turned off."""
    if RuleSearch.objects.filter(study=study, state__in=RuleSearch.OPEN).exists():
        yield "A search for rules is in progress. Wait for its end."


@transaction.atomic
def request_search(
    *,
    run: JudgeRun,
    judge: Judge | None,
    budget: Decimal | None,
    to_read: int,
    user: User | None,
) -> RuleSearch:
    """Create a search; without a judge it uses measured features only.

    Raises `StudyError` if one is in progress, and `BadJudge` if the items must not be sent to the
    judge.
    """
    study = lock_study(run.study_id)
    if judge is not None:
        check_sharing(study, judge)
    if other := RuleSearch.objects.filter(run=run, state__in=RuleSearch.OPEN).first():
        by = f"by “{other.judge_name}”" if other.judge_name else "with measured features only"
        raise StudyError(
            f"A search for rules of this run {by} is in progress. Wait for its end. If its process "
            "was stopped, try again in a minute."
        )
    search = RuleSearch.objects.create(
        study=study,
        run=run,
        judge=judge,
        judge_name=judge.name if judge else "",
        prompt_sha256=PROMPT_SHA256,
        budget=budget,
        to_read=to_read if judge else 0,
        requested_by=user,
    )
    record(study, "rules searched", user=user, judge=search.judge_name, run=run.key)
    return search


@transaction.atomic
def request_again(search: RuleSearch, *, budget: Decimal | None) -> bool:
    """Queue a search again; it asks only what has no reply yet, and counts all answers.

    Returns False if it is in progress.
    """
    lock_study(search.study_id)
    search.refresh_from_db()
    if search.is_open:
        return False
    RuleSearch.objects.filter(pk=search.pk).update(budget=budget)
    return start_over(search)


def newest_searches(study: Study) -> list[RuleSearch]:
    """The newest search with results of each run."""
    by_run: dict[int, RuleSearch] = {}
    rows = RuleSearch.objects.filter(study=study).exclude(results={}).select_related("run")
    for search in rows.order_by("pk"):
        by_run[search.run_id] = search
    return list(by_run.values())


def _rule(study: Study, public_id: str) -> FoundRule | None:
    return FoundRule.objects.filter(search__study=study, public_id=public_id).first()


def _label(study: Study, public_id: str) -> str:
    rule = _rule(study, public_id)
    return f"a rule says something: “{rule.text}”" if rule else ""


def _items(study: Study, public_id: str) -> QuerySet[Any] | None:
    """The items for which the rule favours a response."""
    rule = _rule(study, public_id)
    if rule is None:
        return None
    marked = MarkedItem.objects.filter(search=rule.search_id)
    favours = marked.alias(favours=Substr("marks", rule.number, 1)).filter(favours__in=("1", "2"))
    return favours.values("item")


RULE_ITEMS = ItemSet("rule", _label, _items)

COLUMNS = (
    Column("study", "text", "Short name of the study."),
    Column("run", "text", "The run that people are compared with, by the hash of its parameters."),
    Column("rule", "integer", "Number of the rule."),
    Column("text", "text", "What the rule favours."),
    Column("source", "text", "`measured`, or `proposed` by a judge."),
    Column("proposed_by", "text", "The judge that proposed and applied it."),
    Column("item_id", "text", "The item."),
    Column("half", "text", "`find`: the half on which a judge proposed rules; `test`: the other."),
    Column("favours", "text", "`r1`, `r2`, `neither`, or `not known` if the judge did not say."),
)


def rule_table(study: Study) -> Iterator[dict[str, Any]]:
    """One row for each item and rule of the newest search of each run."""
    for search in newest_searches(study):
        rules = list(search.rules.order_by("number"))
        marked = search.marked.order_by("item__key").values_list("item__key", "half", "marks")
        for key, half, marks in marked.iterator(chunk_size=2_000):
            for rule in rules:
                yield {
                    "study": study.slug,
                    "run": search.run.key,
                    "rule": rule.number,
                    "text": rule.text,
                    "source": rule.source,
                    "proposed_by": search.judge_name if not rule.name else "",
                    "item_id": key,
                    "half": "test" if half == TEST else "find",
                    "favours": FAVOURS[marks[rule.number - 1]],
                }


def _table(study: Study, disclosure: Disclosure) -> ExportTableFile:
    return ExportTableFile("rules", COLUMNS, lambda: rule_table(study))


RULES = ExportTable(
    "rules",
    ("jsonl", "csv", "xlsx"),
    "Rules: one row per item and rule that may explain disagreements",
    _table,
)
