"""The protocols that ask twice: before and after advice, or other judges' reasons."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from django.db.models import Count, QuerySet

from judging.engine.interface import Verdict
from judging.engine.messages import without_thoughts
from judging.models import JudgeRun, Judgment
from judging.protocols.protocol import JudgingProtocol
from judging.protocols.texts import Texts
from judging.protocols.usual import ReasonBefore
from studies.models import Item
from studies.texts.slots import Slots

_NOT_ALL = "Some judges of the jury did not answer this item in the first round."


class Advice(JudgingProtocol):
    """The second step shows the item's advice; the judge keeps its answer or changes it.

    The answer after the advice counts; `details` has the one before it as `before_advice`.
    """

    name = "advice"
    description = "Advice: choice and certainty before and after the item’s advice"
    family = ""
    asks_certainty = True
    left_out = {"advice": {}}
    why_left_out = "The item has no advice."
    needs_slots = {"advice": "asks before and after it"}
    begins_with = "certainty"
    steps = 2
    reply_tokens = 32

    def read(
        self,
        text: str,
        *,
        earlier: tuple[str, ...] = (),
        is_structured: bool = False,
        is_lenient: bool = False,
    ) -> Verdict:
        def answer_in(reply: str) -> Verdict:
            return super(Advice, self).read(
                reply, is_structured=is_structured, is_lenient=is_lenient
            )

        verdict = answer_in(text)
        if verdict.side is None or verdict.certainty is None:
            return Verdict(None, None)
        if not earlier:
            return Verdict(None, None, continues=True, position=verdict.position)
        before = answer_in(earlier[0])
        first = {"choice": before.side, "certainty": before.certainty}
        return replace(verdict, details={**verdict.details, "before_advice": first})


@dataclass(frozen=True)
class FirstRound:
    """The runs of the first round by id; `own` is that of the judge who is asked again."""

    own: int
    runs: tuple[int, ...]

    @classmethod
    def of(cls, run: JudgeRun) -> Self | None:
        if not run.discusses:
            return None
        judges = dict(JudgeRun.objects.filter(pk__in=run.discusses).values_list("judge", "pk"))
        return cls(judges[run.judge_id], tuple(run.discusses))

    def replies(self, item: Item, shown_first: str) -> Mapping[int, str]:
        """The reply of each run to the same prompt, without thoughts, by the run's id."""
        judgments = Judgment.objects.filter(
            run__in=self.runs, item=item, shown_first=shown_first, state=Judgment.State.DONE
        )
        replies = judgments.values_list("run", "raw_text")
        return {run: without_thoughts(text).strip() for run, text in replies}

    def own_reply(self, item: Item, shown_first: str) -> str:
        return self.replies(item, shown_first)[self.own]

    def change(self, slots: Slots, item: Item, shown_first: str) -> Slots:
        """Add the others' replies, in the order of the runs and without names."""
        replies = self.replies(item, shown_first)
        others = [replies[run] for run in self.runs if run != self.own]
        words = "\n\n".join(f"[{n}]\n{text}" for n, text in enumerate(others, start=1))
        return replace(slots, others=words)

    def why_not(self, items: QuerySet[Item]) -> dict[int, str]:
        """The items that some judge did not answer in every requested order."""
        asked = Judgment.objects.filter(run__in=self.runs)
        done = asked.filter(state=Judgment.State.DONE).order_by().values_list("item")
        counts = dict(done.annotate(n=Count("pk")))
        orders = asked.filter(run=self.own).order_by().values_list("item").annotate(n=Count("pk"))
        wanted = {item: n * len(self.runs) for item, n in orders}
        ids: Sequence[int] = list(items.values_list("pk", flat=True))
        return {pk: _NOT_ALL for pk in ids if counts.get(pk, 0) != wanted.get(pk, -1)}


class Discussion(ReasonBefore):
    """Continues from the judge's own first-round reply, which gave reasons.

    Its first step was answered in that round. `details` of the verdict has that choice as
    `before_discussion`.
    """

    name = "discussion"
    description = "Discussion: choice after the reasons of the other judges of a jury"
    needs_others = True
    has_form = False
    steps = 2

    def texts(self, language: str) -> Texts:
        first, own = self.first_round.texts(language), super().texts(language)
        return replace(first, follow_up=own.follow_up)

    first_round = ReasonBefore()

    def goes_on_from(self, run: JudgeRun) -> "FirstRound | None":
        return FirstRound.of(run)

    def read(
        self,
        text: str,
        *,
        earlier: tuple[str, ...] = (),
        is_structured: bool = False,
        is_lenient: bool = False,
    ) -> Verdict:
        verdict = super().read(text, is_lenient=is_lenient)
        if verdict.side is None:
            return verdict
        before = super().read(earlier[0], is_lenient=True)
        details = {**verdict.details, "before_discussion": {"choice": before.side}}
        return replace(verdict, certainty=None, details=details)


ADVICE, DISCUSSION = Advice(), Discussion()
