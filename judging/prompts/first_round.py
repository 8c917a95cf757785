"""The first round of a discussion: what each judge of a jury wrote about an item."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from django.db.models import Count, QuerySet

from judging.engine.replies import without_thoughts
from judging.models import JudgeRun, Judgment
from studies.models import Item

_NOT_ALL = "Not every judge of the jury answered this item in the first round."


@dataclass(frozen=True)
class FirstRound:
    """The runs of the first round by their ids; `own` is that of the judge who is asked again."""

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
        found = Judgment.objects.filter(
            run__in=self.runs, item=item, shown_first=shown_first, state=Judgment.State.DONE
        )
        replies = found.values_list("run", "raw_text")
        return {run: without_thoughts(text).strip() for run, text in replies}

    def own_reply(self, item: Item, shown_first: str) -> str:
        return self.replies(item, shown_first)[self.own]

    def words_of_others(self, item: Item, shown_first: str) -> str:
        """What the others wrote, in the order of the runs and without their names."""
        replies = self.replies(item, shown_first)
        others = [replies[run] for run in self.runs if run != self.own]
        return "\n\n".join(f"[{n}]\n{text}" for n, text in enumerate(others, start=1))

    def why_not(self, items: QuerySet[Item]) -> dict[int, str]:
        """The items that some judge did not answer in every order that was asked."""
        asked = Judgment.objects.filter(run__in=self.runs)
        done = asked.filter(state=Judgment.State.DONE).order_by().values_list("item")
        counts = dict(done.annotate(n=Count("pk")))
        orders = asked.filter(run=self.own).order_by().values_list("item").annotate(n=Count("pk"))
        wanted = {item: n * len(self.runs) for item, n in orders}
        ids: Sequence[int] = list(items.values_list("pk", flat=True))
        return {pk: _NOT_ALL for pk in ids if counts.get(pk, 0) != wanted.get(pk, -1)}
