"""Runs that asked for text and got many unreadable replies: the offer to go on in a form.

Nothing is changed by itself. Who accepts the offer gets a run of its own, because answers under two
conditions are not one judge's answers; each of the two names the other.
"""

from dataclasses import dataclass, replace

from django.contrib.auth.models import User
from django.db import transaction

from judging.backends.parameters import FREE_TEXT
from judging.errors import BadRun
from judging.models import Judge, JudgeRun, Judgment, PromptTemplate
from judging.protocols.registry import protocol
from judging.runs.request_conditions import CONTINUED_BY, GOES_ON_FROM
from judging.runs.spec import RunSpec
from judging.runs.start import run_for, start_run
from judging.worker import run_states
from studies.models import Item, Study
from studies.services.studies import lock_study, record

LOOKED_AT, TOO_MANY = 20, 10
_ANSWERED = (Judgment.State.DONE, Judgment.State.UNPARSEABLE, Judgment.State.REFUSED)


@dataclass(frozen=True)
class StructuredOffer:
    """How many of the first answers of a run had a reply that could not be read."""

    unread: int
    answered: int

    @property
    def words(self) -> str:
        return (
            f"{self.unread} of the first {self.answered} questions got a reply that could not be "
            "read. The same questions can be asked for structured replies, in a run of their own."
        )


def may_be_structured(run: JudgeRun) -> bool:
    """Whether a run that asks for text could ask for structured replies, as far as is known."""
    is_recovered = run.wording is not None and run.wording.source == PromptTemplate.Source.RECOVERED
    return (
        not (run.is_imported or is_recovered or run.parameters.get("structured"))
        and CONTINUED_BY not in run.parameters
        and run.state != JudgeRun.State.CANCELLED
        and run.judge.capabilities.structured
        and run.judge.reply_form.get("way") != FREE_TEXT
        and protocol(run.setting).has_form
    )


def offer_of(run: JudgeRun) -> StructuredOffer | None:
    """The offer to go on with structured replies; None if too few replies were unreadable."""
    if not may_be_structured(run):
        return None
    asked = Judgment.objects.filter(run=run.pk, answered_at__isnull=False, reused_from=None)
    first = asked.filter(state__in=_ANSWERED).order_by("answered_at", "pk")
    answers = list(first.values_list("state", "replies")[:LOOKED_AT])
    unread = sum(state == Judgment.State.UNPARSEABLE or replies > 1 for state, replies in answers)
    return StructuredOffer(unread, len(answers)) if unread >= TOO_MANY else None


def offering(study: Study, judge: Judge, spec: RunSpec) -> JudgeRun | None:
    """The run that is started like `spec`, but for the form, and offers to go on in a form."""
    run = run_for(study, judge, replace(spec, structured=None))
    return run if run.pk is not None and offer_of(run) else None


@transaction.atomic
def go_on_structured(*, run_id: int, enqueue: bool = True, user: User | None = None) -> JudgeRun:
    """Ask the questions of a run again for structured replies, in a run of its own.

    The first run ends and keeps its answers. What is left of its budget is that of the new one.
    Raises `BadRun` if the run has no `offer_of` this kind.
    """
    lock_study(JudgeRun.objects.values_list("study", flat=True).get(pk=run_id))
    run = JudgeRun.objects.select_related("judge", "study", "wording").get(pk=run_id)
    if offer_of(run) is None:
        raise BadRun("Nothing changed: this run does not offer structured replies any more.")
    budget = None if run.budget is None else run.budget - run.spent
    tokens = None if run.token_budget is None else run.token_budget - run.tokens
    if (budget is not None and budget <= 0) or (tokens is not None and tokens <= 0):
        raise BadRun("The budget of this run is used up. Raise it with “Extend run” first.")
    items = Judgment.objects.filter(run=run).values("item").distinct().count()
    is_limited = items < Item.objects.filter(study=run.study_id).count()
    spec = RunSpec.of(
        run,
        structured=True,
        limit=items if is_limited else None,
        budget=budget,
        token_budget=tokens,
    )
    new = start_run(spec, enqueue=enqueue, user=user)
    run_states.stop(
        run_id=run.pk,
        state=JudgeRun.State.CANCELLED,
        sentence=f"Run {new.public_id} goes on with structured replies; what it has is kept.",
        among=(*JudgeRun.ACTIVE, *JudgeRun.RESUMABLE),
    )
    for own_run, name, other in ((run, CONTINUED_BY, new), (new, GOES_ON_FROM, run)):
        own_run.parameters[name] = other.public_id
        own_run.save(update_fields=["parameters"])
    for campaign in run.campaigns.all():
        campaign.runs.add(new)
    event = "judge run goes on structured"
    record(run.study, event, user=user, run=run.public_id, goes_on=new.public_id)
    return new
