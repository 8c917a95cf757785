"""A batch that is being written: rows leave it as they end, and others join it.

Prompts are padded on the left and masked, so a row is computed alike next to any others. Only
caches that keep every token of every layer can be joined.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from judging.engine.interface import JudgeQuestion


@dataclass
class Writing:
    """A question whose reply is being written; `place` is its place among all of a call."""

    question: JudgeQuestion
    place: int
    prompt: int  # tokens
    generator: Any
    scored: dict[str, float]
    written: list[int]


@dataclass
class Running:
    """The cache of all rows, the logits of their next token, and their mask."""

    cache: Any
    logits: Any
    mask: Any

    def keep(self, places: Any) -> None:
        """Let all other rows leave; `logits` are those of the step before."""
        self.cache.reorder_cache(places)
        self.mask = self.mask[places]


def joined(torch: Any, one: Running, other: Running) -> Running:
    """Both as one batch, without columns in which every row is padding."""
    width = max(one.mask.shape[1], other.mask.shape[1])
    mask = torch.cat([_padded(torch, each.mask, 1, width) for each in (one, other)])
    first = int(mask.any(0).int().argmax())
    for mine, theirs in zip(one.cache.layers, other.cache.layers, strict=True):
        for name in ("keys", "values"):
            both = [_padded(torch, getattr(each, name), -2, width) for each in (mine, theirs)]
            setattr(mine, name, torch.cat(both)[..., first:, :])
    return Running(one.cache, torch.cat([one.logits, other.logits]), mask[:, first:])


def _padded(torch: Any, values: Any, axis: int, width: int) -> Any:
    """The values with zeros before them along an axis."""
    shape = list(values.shape)
    shape[axis] = width - shape[axis]
    return torch.cat([values.new_zeros(shape), values], axis)


Tokens = Sequence[int]


@dataclass(frozen=True)
class SharedBeginning:
    """Prompts split into beginnings and rests: prompt `n` is `beginnings[of[n]]` + `rests[n]`."""

    beginnings: list[Tokens]
    of: list[int]
    rests: list[Tokens]


def share(prompts: Sequence[Tokens]) -> SharedBeginning | None:
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
    return SharedBeginning(beginnings, of, rests) if shared < plain and all(beginnings) else None


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
