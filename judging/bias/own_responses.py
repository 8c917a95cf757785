"""Items with a response of the judge's own, which only runs with this probe ask about."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from judging.bias.probe import BiasProbe

SIDES = ("r1", "r2")
# What of a response's maker can name the judge, its family or its provider.
KEYS = ("name", "family", "provider")
Maker = Mapping[str, Any] | None


class OwnResponses(BiasProbe):
    """Changes nothing: it asks about the items that other runs leave out."""

    name = "own-responses"
    description = "Nothing; asks the items with one response of the judge’s own, otherwise skipped"
    has_target = False
    asks_own = True


def own_source(maker: Maker, own: Collection[str]) -> tuple[str, str] | None:
    """Which of a maker's `KEYS` is among the judge's own sources, and its value; None if none is.

    `own` is in casefolded letters.
    """
    for key in KEYS:
        if (value := (maker or {}).get(key)) and str(value).casefold() in own:
            return key, str(value)
    return None


def own_sides(makers: Sequence[Maker], own: Collection[str]) -> list[str]:
    """The responses, r1 and r2, that are the judge's own."""
    return [side for side, maker in zip(SIDES, makers, strict=True) if own_source(maker, own)]
