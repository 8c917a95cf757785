"""The simulated judges' answers about items outside the demo, based on shared words.

If you add your own items to the demo, they get answers too, but these mean little: a response that
shares words with the profile is more likely to be chosen, and the rest is drawn from a hash of the
item. Each such reply says that it is simulated.
"""

import re
from dataclasses import dataclass

from demo.truth import certainty_from, other, uniform

SAYS_SO = "(simulated: these items are unknown here, only their words were compared)"
SAYS_DRAWN = "(simulated: this prompt is unknown here, the answer was drawn from its hash)"
FOLLOWS = {"strong": 0.85, "weak": 0.68, "none": 0.5}  # the response with more words in common
CERTAINTY = {"strong": (72, 10), "weak": (55, 11), "none": (34, 12)}
_MOST_TELLING = 3  # with this many more words than the other, the evidence is strong

_ASKED = re.compile(
    r"^\[(?P<name>[\w ]+) A\]\n(?P<a>.*?)\n\n\[(?P=name) B\]\n(?P<b>.*)\n\n[^\n]*\n\n\[Answer\]",
    re.DOTALL | re.MULTILINE,
)
_PERSON = re.compile(r"^\[Person\]\n(.*?)\n\n\[", re.DOTALL | re.MULTILINE)
_WORD = re.compile(r"\w{4,}")


@dataclass(frozen=True)
class Stranger:
    """Two unknown responses, in the order of their words."""

    texts: tuple[str, str]
    first: str  # the response shown first: r1 or r2
    leaning: str  # the one with more words of the profile; empty where neither has
    evidence: str  # strong, weak or none

    @property
    def name(self) -> str:
        return "\n".join(self.texts)


def read_stranger(prompt: str) -> Stranger | None:
    """The two responses that a prompt of the product shows; None where it shows none."""
    asked = _ASKED.search(prompt)
    if asked is None:
        return None
    responses = asked["a"], asked["b"]
    r1, r2 = sorted(responses)
    person = _PERSON.search(prompt)
    profile = _words(person[1]) if person else set()
    more = len(_words(r1) & profile - _words(r2)) - len(_words(r2) & profile - _words(r1))
    evidence = "strong" if abs(more) >= _MOST_TELLING else "weak" if more else "none"
    leaning = "r1" if more > 0 else "r2" if more else ""
    return Stranger((r1, r2), "r1" if responses[0] == r1 else "r2", leaning, evidence)


def choose(seed: int, model: str, stranger: Stranger, sample: object) -> str:
    """Choose one of the two: the same in both orders, and mostly the same for any `sample`."""
    u = uniform(seed, "stranger", model, stranger.name, sample)
    leaning = stranger.leaning or "r1"
    return leaning if u < FOLLOWS[stranger.evidence] else other(leaning)


def certainty_about(stranger: Stranger, u: float) -> int:
    return certainty_from(*CERTAINTY[stranger.evidence], u)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))
