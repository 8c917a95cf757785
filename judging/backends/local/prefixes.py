"""Which prompts of a batch begin alike, so that their beginning is computed once. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

Tokens = Sequence[int]


@dataclass(frozen=True)
class Shared:
    """Prompts split into beginnings and rests: prompt `n` is `beginnings[of[n]]` + `rests[n]`."""

    beginnings: list[Tokens]
    of: list[int]
    rests: list[Tokens]


def share(prompts: Sequence[Tokens]) -> Shared | None:
    """Split prompts at the beginnings that they share; None if that computes no less.

    Every rest has at least one token, because the last token's output begins the reply. Both
    stages are padded to their longest row, and so is a batch that shares nothing.
    """
    groups = _groups(prompts)
    beginnings: list[Tokens] = []
    of, rests = [0] * len(prompts), list(prompts)
    for members in groups:
        length = _common([prompts[n] for n in members])
        for n in members:
            of[n], rests[n] = len(beginnings), prompts[n][length:]
        beginnings.append(prompts[members[0]][:length])
    plain = len(prompts) * max(map(len, prompts))
    shared = len(beginnings) * max(map(len, beginnings)) + len(rests) * max(map(len, rests))
    return Shared(beginnings, of, rests) if shared < plain and all(beginnings) else None


def _groups(prompts: Sequence[Tokens]) -> list[list[int]]:
    """Prompts in groups whose members share at least half of the shorter one."""
    groups: list[list[int]] = []
    for n in sorted(range(len(prompts)), key=lambda n: tuple(prompts[n])):
        last = groups[-1] if groups else None
        if last is not None and _are_alike(prompts[last[0]], prompts[n]):
            last.append(n)
        else:
            groups.append([n])
    return groups


def _are_alike(one: Tokens, other: Tokens) -> bool:
    half = min(len(one), len(other)) // 2
    return one[:half] == other[:half]


def _common(prompts: Sequence[Tokens]) -> int:
    """The length of the beginning that all share, which leaves each a token."""
    shortest = min(map(len, prompts)) - 1
    # Sorted prompts differ most between the first and the last.
    first, last = min(prompts, key=tuple), max(prompts, key=tuple)
    return min(shortest, _same(first, last))


def _same(one: Tokens, other: Tokens) -> int:
    """The number of first tokens that are equal."""
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return place
    return min(len(one), len(other))
