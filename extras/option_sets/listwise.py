"""The protocol that shows all responses of a set at once and asks for their ranking.

A hash of the run's seed and the set draws the order of options, so every position is equally likely
for every option, and all pairs of a set have the same prompt in the same order. Strict reading
takes “[[B > A > C]]”, also without its first brackets, or alone; lenient reading takes JSON, or a
line with only a ranking and words such as “My final ranking:”. All rankings in a reply must be the
same; a reply with words that may deny one is asked again.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

from django.db.models import QuerySet

from judging.engine.interface import Options, Verdict
from judging.errors import ConflictingValue, FailureReason
from judging.models import JudgeRun
from judging.protocols.protocol import JudgingProtocol
from judging.protocols.statements import plain, readable, stated, without_next_turn
from studies.models import Item, Side, Study
from studies.prompts import options_text
from studies.texts.normalisation import digest
from studies.texts.slots import Slots

_PORTION = 500
_OTHER = {Side.R1.value: Side.R2.value, Side.R2.value: Side.R1.value}


def drawn_order(item: Item, seed: int) -> tuple[int, ...]:
    """The numbers of the options in the drawn order."""
    key = item.option_set.get("id", item.key)
    numbers = range(1, len(item.options) + 1)
    return tuple(sorted(numbers, key=lambda number: _hash(seed, f"{key}|{number}")))


def drawn_first(item: Item, seed: int) -> str:
    """The response of the pair that comes first in the drawn order."""
    order, place = drawn_order(item, seed), _place(item)
    return min(Side.values, key=lambda side: order.index(place[side]))


def shown_order(item: Item, seed: int, shown_first: str) -> tuple[int, ...]:
    """The order that has response `shown_first` before the other: the drawn one or its reverse."""
    order = drawn_order(item, seed)
    return order if drawn_first(item, seed) == shown_first else order[::-1]


def shown_pair(item: Item, shown_first: str) -> tuple[int, int]:
    """The numbers of the two responses of an item, with that of `shown_first` first."""
    place = _place(item)
    second = Side.R2 if shown_first == Side.R1 else Side.R1
    return place[shown_first], place[second]


def fingerprints(items: Iterable[Item]) -> dict[int, str]:
    """By item id, a hash of what a prompt about its whole set shows."""
    return {
        item.pk: digest(
            [
                item.option_set["id"],
                item.persona_id,
                [item.task, item.question, item.context, item.context_title],
                [[option["text"], option.get("prompt")] for option in item.options],
            ]
        )
        for item in items
    }


def _place(item: Item) -> Mapping[str, int]:
    """The numbers of the two responses; an item without a set counts as a set of two."""
    place: Mapping[str, int] = item.option_set.get("place") or {"r1": 1, "r2": 2}
    return place


def _hash(seed: int, text: str) -> bytes:
    return hashlib.blake2b(text.encode(), key=str(seed).encode()).digest()


class _OptionPlace(NamedTuple):
    """An item's set, as a hash of what is shown, and the response shown first."""

    fingerprint: str
    first: str


class OptionPlaces:
    """The places of a run's items in their sets; an item without a set has none."""

    def __init__(self, run: JudgeRun, items: Iterable[int]) -> None:
        self._places: dict[int, _OptionPlace] = {}
        self._seed = run.seed
        self._is_both = run.orders == JudgeRun.Orders.BOTH
        ids = iter(items)
        while some := list(islice(ids, _PORTION)):
            self._read(Item.everything.filter(pk__in=some).exclude(option_set={}))

    def _read(self, items: QuerySet[Item]) -> None:
        portion = list(items)
        prints = fingerprints(portion)
        for item in portion:
            self._places[item.pk] = _OptionPlace(prints[item.pk], drawn_first(item, self._seed))

    def sides(self, item: int) -> list[str]:
        """The response shown first, for each order in which an item is asked."""
        if (place := self._places.get(item)) is None:
            return [Side.R1.value]  # it is skipped
        return [place.first, _OTHER[place.first]] if self._is_both else [place.first]

    def request(self, item: int, shown_first: str, sample: int) -> tuple[str, bool, int] | None:
        """A value that is equal for all judgments of one request; None without a set."""
        place = self._places.get(item)
        return None if place is None else (place.fingerprint, shown_first == place.first, sample)


_ITEM = r"(?:(?:response|option|answer|antwort|respuesta|opción|réponse)\s+)?[A-E]\b"
_CHAIN = rf"{_ITEM}(?:\s*>\s*{_ITEM})+"
_ANYWHERE = re.compile(_CHAIN, re.IGNORECASE)
# A line with a ranking: only the name of the answer before it, a certainty or a reason after it.
_LINE = re.compile(
    r"[^\w\n]*(?:(?:so|thus|therefore|my|the|final|overall|ranking|rank|order|answer|is"
    r"|(?:from\s+)?best\s+to\s+worst|meine|endgültige|rangfolge|reihenfolge|von\s+der\s+besten\s+zur"
    r"\s+schlechtesten|mi|clasificación|orden|mon|classement|我的|排名|排序)\b[^\w\n\[]*)*"
    rf"(?P<open>\[\[)?\W*?(?P<chain>{_CHAIN})\s*(?P<close>\]\])?"
    r"[^\w\n?]*(?:certainty|confidence|sicherheit)?[^\w\n?]*(?:\d{1,3}\W*)?(?:(?:because|since|weil|denn)\b.*)?",
    re.IGNORECASE,
)
_UNCLEAR = re.compile(
    r"\b(?:reflection|reconsider\w*|wait|correction|actually|reverse\w*|swap\w*|sorry|oops|ignore"
    r"|disregard|scrap|kidding|example|format|wrong|not|n['’]t|if|most|korrektur|wenn|nicht)\b",
    re.IGNORECASE,
)
_KEYS = {"ranking", "certainty", "confidence", "reason", "reasoning", "explanation"}


@dataclass(frozen=True, slots=True)
class ReadRanking:
    """The letters of a ranking, best first; `code` says how it was read leniently."""

    letters: tuple[str, ...]
    certainty: int | None
    code: str = ""


def read_ranking(
    text: str, letters: Sequence[str], *, is_lenient: bool = False
) -> ReadRanking | None:
    """The ranking of `letters` in a reply; None if it states none or several."""
    text = plain(without_next_turn(readable(text).text)).replace("&gt;", ">")
    if text.count(">") > 100 or _UNCLEAR.search(text):
        return None
    lines = [match for line in text.split("\n") if (match := _LINE.fullmatch(line))]
    strict = [x for x in lines if x["close"] or text.strip(" \n.") == x["chain"].strip()]
    code, rankings = "", {_letters(line["chain"]) for line in strict}
    if not rankings and is_lenient:
        code, rankings = "json", set(_in_objects(text))
        if not rankings:
            code, rankings = "label", {_letters(line["chain"]) for line in lines}
    every = rankings | {_letters(chain[0]) for chain in _ANYWHERE.finditer(text)}
    if len(rankings) != 1 or len(every) != 1:
        return None
    ranking = rankings.pop()
    return ReadRanking(ranking, stated(text), code) if sorted(ranking) == sorted(letters) else None


def _letters(chain: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\b[A-E]\b", chain))


def _in_objects(text: str) -> Iterator[tuple[str, ...]]:
    for braces in re.finditer(r"\{[^{}]*\}", text):
        try:
            form: dict[str, Any] = json.loads(braces[0])
        except (ValueError, RecursionError):
            continue
        value = form.get("ranking") if form.keys() <= _KEYS else None
        if isinstance(value, str) and _ANYWHERE.fullmatch(value.strip()):
            yield _letters(value)
        elif isinstance(value, list) and all(isinstance(name, str) for name in value):
            yield tuple(name.strip() for name in value)


LETTERS = "ABCDE"
_NO_SET = "The item was not paired from more than two responses."
_NO_OPTIONS = FailureReason(
    "no_options",
    "{field}: “{setting}” needs items that were paired from more than two responses, and this "
    "study has none. Import items with 3 to 5 responses.",
)
_OPTION_ORDERS = FailureReason(
    "option_orders",
    "{field}: “{setting}” draws the order of all responses. Use random or both.",
)
_OPTION_PROBE = FailureReason(
    "option_probe", "{field}: probes change pairs of responses, which “{setting}” does not show."
)


@dataclass(frozen=True)
class Listwise(JudgingProtocol):
    """One request for a set of options, whose ranking gives the choice of each pair.

    `shown` has the numbers of the options in the order of the prompt, `pair` those of the item's
    two responses, the one shown first in front. `details` of a verdict has the ranking as numbers
    of options, best first, and the shown order.
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
        reply = read_ranking(text, letters, is_lenient=is_lenient)
        if reply is None:
            return Verdict(None, None)
        ranking = [self.shown[letters.index(letter)] for letter in reply.letters]
        details: dict[str, Any] = {"ranking": ranking, "shown": list(self.shown)}
        if reply.code:
            details["read"] = reply.code
        first, second = self.pair
        return Verdict("A" if is_better(first, second, details) else "B", reply.certainty, details)


def is_better(one: int, other: int, details: Mapping[str, Any]) -> bool:
    """Whether option `one` ranks before `other` in a judgment."""
    ranking = details["ranking"]
    return bool(ranking.index(one) < ranking.index(other))


LISTWISE = Listwise()
