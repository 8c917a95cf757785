"""The protocol that shows all responses of a set at once and asks for their ranking."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import QuerySet

from extras.option_sets.option_order import OptionPlaces, shown_order, shown_pair
from extras.option_sets.rankings import read_ranking
from judging.engine.interface import Options, Verdict
from judging.errors import ConflictingValue, Reason
from judging.models import JudgeRun
from judging.protocols.protocol import JudgingProtocol
from studies.models import Item, Side, Study
from studies.prompts import options_text
from studies.texts.slots import Slots

LETTERS = "ABCDE"
_NO_SET = "The item was not paired from more than two responses."
_NO_OPTIONS = Reason(
    "no_options",
    "{field}: “{setting}” needs items that were paired from more than two responses, and this "
    "study has none. Import items with 3 to 5 responses.",
)
_OPTION_ORDERS = Reason(
    "option_orders",
    "{field}: “{setting}” draws the order of all responses. Use random or both.",
)
_OPTION_PROBE = Reason(
    "option_probe", "{field}: probes change pairs of responses, which “{setting}” does not show."
)
_OPTION_ANCHORS = Reason(
    "option_anchors",
    "{field} are single items, and “{setting}” asks about sets. Leave {field} out.",
)


@dataclass(frozen=True)
class Listwise(JudgingProtocol):
    """One request for a set of options; the choice of each of its pairs follows from the ranking.

    `shown` are the numbers of the options in the order of the prompt, `pair` those of the two
    responses of the item, the one that is shown first before the other. `details` of a verdict has
    the ranking as numbers of options, the best first, and the order that was shown.
    """

    shown: tuple[int, ...] = ()
    pair: tuple[int, int] = (0, 0)

    name = "listwise"
    description = "Listwise: a ranking of all 3 to 5 responses at once, with a certainty"
    asks_certainty = True
    shares_requests = True
    shows = ("options",)
    more_makers = "option_set__others"
    has_form = False
    reads_words = True
    reply_tokens = 24

    def is_for(self, study: Study) -> bool:
        return Item.objects.filter(study=study).exclude(option_set={}).exists()

    def check(self, run: JudgeRun) -> None:
        if not self.is_for(run.study):
            raise ConflictingValue("setting", _NO_OPTIONS, setting=run.setting)
        if run.orders not in (JudgeRun.Orders.RANDOM, JudgeRun.Orders.BOTH):
            raise ConflictingValue("orders", _OPTION_ORDERS, setting=run.setting)
        if run.bias_probe:
            raise ConflictingValue("bias_probe", _OPTION_PROBE, setting=run.setting)
        if run.anchors:
            raise ConflictingValue("anchors", _OPTION_ANCHORS, setting=run.setting)

    def why_not(self, items: QuerySet[Item]) -> Mapping[int, str]:
        without = Item.objects.filter(pk__in=items.values("pk"), option_set={})
        return dict.fromkeys(without.values_list("pk", flat=True), _NO_SET)

    def filled(
        self, slots: Slots, item: Item, *, seed: int, shown_first: str, language: str
    ) -> Slots:
        order, heading = shown_order(item, seed, shown_first), self.texts(language).option
        options = options_text(item, order, heading=heading, letters=LETTERS, language=language)
        return replace(slots, options=options)

    def about(self, item: Item, *, seed: int, shown_first: str) -> "Listwise":
        order = shown_order(item, seed, shown_first)
        return replace(self, shown=order, pair=shown_pair(item, shown_first))

    def places(self, run: JudgeRun, items: Iterable[int]) -> OptionPlaces:
        return OptionPlaces(run, items)

    def choice_of(self, item: Item, details: Mapping[str, Any]) -> str:
        place = item.option_set["place"]
        return str(Side.R1 if is_better(place["r1"], place["r2"], details) else Side.R2)

    def options(self, earlier: tuple[str, ...]) -> Options:
        return {}

    def read(
        self,
        text: str,
        *,
        earlier: tuple[str, ...] = (),
        is_structured: bool = False,
        is_lenient: bool = False,
    ) -> Verdict:
        letters = LETTERS[: len(self.shown)]
        found = read_ranking(text, letters, is_lenient=is_lenient)
        if found is None:
            return Verdict(None, None)
        ranking = [self.shown[letters.index(letter)] for letter in found.letters]
        details: dict[str, Any] = {"ranking": ranking, "shown": list(self.shown)}
        if found.code:
            details["read"] = found.code
        first, second = self.pair
        return Verdict("A" if is_better(first, second, details) else "B", found.certainty, details)


def is_better(one: int, other: int, details: Mapping[str, Any]) -> bool:
    """Whether the option `one` stands before `other` in the ranking of a judgment."""
    ranking = details["ranking"]
    return bool(ranking.index(one) < ranking.index(other))


LISTWISE = Listwise()
