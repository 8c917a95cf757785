"""The protocol that shows all responses of a set at once and asks for their ranking."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from judging.engine.interface import Options, Verdict
from judging.protocols.protocol import JudgingProtocol
from judging.protocols.reading.rankings import read_ranking

LETTERS = "ABCDE"


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
    needs_options = True
    has_form = False
    reads_words = True
    reply_tokens = 24

    def of_options(self, shown: tuple[int, ...], pair: tuple[int, int]) -> "Listwise":
        return replace(self, shown=shown, pair=pair)

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
