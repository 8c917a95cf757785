"""The simulated judges, which decide only from the words of the prompt.

A judge recognises the question and, from the facts in the prompt, the persona. Then it knows how
much the profile reveals (the stratum) and which reply the common stereotype suggests, but not the
persona's answer. It follows the stereotype at a rate that gives a known accuracy in each stratum.
Only the decider does not: it gives the persona's answer at a higher rate, so that one judge is
clearly better than people. If the prompt shows only part of a profile, there is less evidence:
without the deciding fact, direct and strong become weak; with fewer than three facts or an unknown
persona there is none.
"""

import re
from dataclasses import dataclass
from functools import cached_property

from demo.rankings import SAYS_RANKED, profile_of, read_options
from demo.strangers import SAYS_DRAWN, SAYS_SO, Stranger, certainty_about, choose, read_stranger
from demo.text_bank import BANK, Person, Topic
from demo.truth import STRATA, DemoItem, World, certainty_from, other, uniform

MODELS = ("demo-steady", "demo-boastful", "demo-lefty")
DECIDER = "demo-decider"  # at decision endpoints alone: it writes no text
ACCURACY = {"direct": 0.80, "strong": 0.66, "weak": 0.58, "none": 0.50}
# The decider's: clearly better than the majority of people, so that the report has an answer.
INFORMED = {"direct": 0.98, "strong": 0.94, "weak": 0.78, "none": 0.60}
# Mean and sd of the certainty that a judge states; it is informative, like the annotators'.
CERTAINTY = {"direct": (86, 7), "strong": (71, 10), "weak": (55, 11), "none": (34, 12)}
BOASTFUL = (85, 95)
LEFTY_SHARE_A = 0.70  # in strata weak and none, whatever the replies say
SAYS_TIE = {"tie": 0.70, "none": 0.25, "weak": 0.10, "strong": 0.03, "direct": 0.0}
MALFORMED_FIRST, MALFORMED_ALWAYS = 0.04, 0.003
WAVERS = 0.15  # share of draws that depend on the request seed
ENOUGH_FACTS = 3
LEAST_DOUBT = 0.2  # of the doubt that a model should have, in the probability of its letter
DRAWN = (50, 20)  # mean and sd of a certainty that is drawn

_OFFERED = re.compile(r"\[\[([A-E])\]\]")
_PROFILE = re.compile(r"^\[Person\]\n(.*?)\n\n\[", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Reading:
    """A judge's reading of a prompt."""

    topic: Topic
    first: str  # the reply shown first, r1 or r2
    item: DemoItem | None  # the item, if the persona was recognised
    evidence: str  # direct, strong, weak, none or tie
    offers_tie: bool
    wants_certainty: bool


class UnknownPrompt(ValueError):
    """The prompt asks about nothing in the text bank."""


class Judges:
    """The simulated models over the items of one world."""

    def __init__(self, world: World) -> None:
        self._world = world

    def reply(self, model: str, prompt: str, *, attempt: int, sample: object = "") -> str:
        """The raw text that `model` answers when asked for the `attempt`-th time (from 1).

        `sample` is the seed of the request: most verdicts do not depend on it, some change with it.
        """
        options = read_options(prompt)
        side, certainty, says_so = self._decided(model, prompt, options, sample)
        seed = self._world.seed
        u = uniform(seed, "malformed", model, prompt)
        if u < MALFORMED_ALWAYS or (attempt == 1 and u < MALFORMED_FIRST):
            words = "Both replies have their merits, and much depends on the day."
        else:
            words = f"[[{side}]]" if uniform(seed, "style", model, prompt) < 0.5 else f"{side}]]"
            words += f" [[{certainty}]]" if options or _wants_certainty(prompt) else ""
        return words + says_so

    def verdict(self, model: str, prompt: str) -> tuple[str, int]:
        """The letter and the certainty of `model`, whatever form a reply would have."""
        side, certainty, _ = self._decided(model, prompt, read_options(prompt), "")
        return side[:1], certainty

    def _decided(
        self, model: str, prompt: str, options: dict[str, str], sample: object
    ) -> tuple[str, int, str]:
        """The verdict and its certainty, and how a reply says where they come from."""
        if options:
            ranked = self._rank(model, profile_of(prompt), options, sample)
            return *ranked, f"\n\n{SAYS_RANKED}"
        if self._knows(prompt):
            return *self._verdict(model, self.read(prompt), sample), ""
        if stranger := read_stranger(prompt):
            return *self._guess(model, prompt, stranger, sample), f" {SAYS_SO}"
        return *self._draw(model, prompt, sample), f" {SAYS_DRAWN}"

    def _rank(
        self, model: str, profile: str, options: dict[str, str], sample: object
    ) -> tuple[str, int]:
        """The letters of the options in an order that depends on their texts, not their places."""
        seed = self._world.seed
        content: tuple[object, ...] = (model, profile)
        if uniform(seed, "wavers", *content, *sorted(options.values()), sample) < WAVERS:
            content = (*content, sample)
        best_first = sorted(
            options, key=lambda letter: -uniform(seed, "rank", *content, options[letter])
        )
        u = uniform(seed, "judge certainty", *content, *sorted(options.values()))
        certainty = _boast(u) if model == "demo-boastful" else certainty_from(*DRAWN, u)
        return " > ".join(best_first), certainty

    def _knows(self, prompt: str) -> bool:
        return any(
            topic.question in prompt and all(reply in prompt for reply in topic.replies)
            for topic in BANK.topics
        )

    def _guess(
        self, model: str, prompt: str, stranger: Stranger, sample: object
    ) -> tuple[str, int]:
        """A verdict about an item that is not from the demo."""
        seed, content = self._world.seed, (model, stranger.name, stranger.evidence)
        if uniform(seed, "wavers", *content, sample) >= WAVERS:
            sample = ""
        u = uniform(seed, "judge certainty", *content, sample)
        boasts = model == "demo-boastful"
        certainty = _boast(u) if boasts else certainty_about(stranger, u)
        tie = uniform(seed, "C", *content, sample) < SAYS_TIE[stranger.evidence]
        if _offers_tie(prompt) and tie:
            return "C", certainty
        if model == "demo-lefty" and stranger.evidence != "strong":
            left = uniform(seed, "left", *content, stranger.first, sample) < LEFTY_SHARE_A
            return ("A" if left else "B"), certainty
        choice = choose(seed, model, stranger, sample)
        return ("A" if choice == stranger.first else "B"), certainty

    def _draw(self, model: str, prompt: str, sample: object) -> tuple[str, int]:
        """A verdict about any other prompt, drawn from its hash."""
        seed, content = self._world.seed, (model, prompt)
        if uniform(seed, "wavers", *content, sample) >= WAVERS:
            sample = ""
        u = uniform(seed, "judge certainty", *content, sample)
        certainty = _boast(u) if model == "demo-boastful" else certainty_from(*DRAWN, u)
        letters = letters_of(prompt)
        return letters[int(uniform(seed, "letter", *content, sample) * len(letters))], certainty

    def letter_probability(self, model: str, prompt: str) -> float:
        """The probability that a model gives the letter of its verdict: more than it deserves."""
        accuracy = ACCURACY["none"]
        if self._knows(prompt):
            accuracy = ACCURACY.get(self.read(prompt).evidence, accuracy)
        u = uniform(self._world.seed, "letter probability", model, prompt)
        return 1 - (1 - accuracy) * (LEAST_DOUBT + (1 - LEAST_DOUBT) * u)

    def decide(self, model: str, item: DemoItem) -> str:
        """The reply (r1 or r2) that `model` picks when it reads the whole profile."""
        reading = Reading(item.topic, "r1", item, item.stratum, False, True)
        side, _ = self._verdict(model, reading, "")
        return "r1" if side == "A" else "r2"

    def read(self, prompt: str) -> Reading:
        """Find question, persona and the requested output. Raises `UnknownPrompt`."""
        topic = next((t for t in BANK.topics if t.question in prompt), None)
        places = [prompt.find(reply) for reply in topic.replies] if topic else [-1]
        if topic is None or -1 in places:
            raise UnknownPrompt("The prompt asks about nothing that this simulation knows.")
        first = "r1" if places[0] < places[1] else "r2"
        item, facts = self._recognise(prompt, topic)
        evidence = _evidence(item, facts)
        return Reading(topic, first, item, evidence, _offers_tie(prompt), _wants_certainty(prompt))

    def _recognise(self, prompt: str, topic: Topic) -> tuple[DemoItem | None, frozenset[str]]:
        """The one item whose persona has all the facts shown, and those facts."""
        match = _PROFILE.search(prompt)
        block = match[1] if match else ""
        lines = block.splitlines()
        facts_in_prompt = frozenset(
            text for text, line in self._facts.items() if text in block or line in lines
        )
        candidates = [
            item
            for item, facts in self._items_by_topic[topic.key]
            if facts_in_prompt and facts_in_prompt <= facts
        ]
        return (candidates[0] if len(candidates) == 1 else None), facts_in_prompt

    @cached_property
    def _facts(self) -> dict[str, str]:
        """Every fact as a sentence, and as the labelled line of the other persona style."""
        return {
            feature["text"]: f"{feature['label']}: {feature['value']}"
            for person in (*BANK.people, *BANK.torn)
            for feature in self._world.profile(person)
        }

    @cached_property
    def _items_by_topic(self) -> dict[str, list[tuple[DemoItem, frozenset[str]]]]:
        items: dict[str, list[tuple[DemoItem, frozenset[str]]]] = {}
        for item in (*self._world.items, *self._world.ties):
            items.setdefault(item.topic.key, []).append((item, self._wordings(item.person)))
        return items

    def _wordings(self, person: Person) -> frozenset[str]:
        return frozenset(feature["text"] for feature in self._world.profile(person))

    def _verdict(self, model: str, reading: Reading, sample: object) -> tuple[str, int]:
        seed = self._world.seed
        # Drawn by content, not by prompt: both orders of an item get the same answer.
        name = reading.item.id if reading.item else reading.topic.key
        content: tuple[object, ...] = (model, name, reading.evidence)
        if uniform(seed, "wavers", *content, sample) < WAVERS:
            content = (*content, sample)
        certainty = _certainty(model, reading.evidence, uniform(seed, "judge certainty", *content))
        if reading.offers_tie and uniform(seed, "C", *content) < SAYS_TIE[reading.evidence]:
            return "C", certainty
        if model == "demo-lefty" and reading.evidence in ("weak", "none"):
            left = uniform(seed, "left", *content, reading.first) < LEFTY_SHARE_A
            return ("A" if left else "B"), certainty
        u = uniform(seed, "judge", *content)
        if reading.item is None or reading.evidence == "tie":
            choice = "r1" if u < 0.5 else "r2"
        elif model == DECIDER:
            label = reading.item.label
            choice = label if u < INFORMED[reading.evidence] else other(label)
        else:
            guess = reading.item.guess
            follows = u < follow_rate(reading.item.stratum, reading.evidence)
            choice = guess if follows else other(guess)
        return ("A" if choice == reading.first else "B"), certainty


def follow_rate(stratum: str, evidence: str) -> float:
    """The rate of following the stereotype of `stratum` that gives the accuracy for `evidence`."""
    r = STRATA[stratum].r
    return (ACCURACY[evidence] - (1 - r)) / (2 * r - 1)


def _evidence(item: DemoItem | None, facts: frozenset[str]) -> str:
    if item is None or len(facts) < ENOUGH_FACTS:
        return "none"
    topic = item.topic
    if item.stratum in ("direct", "strong"):
        words = topic.direct if item.stratum == "direct" else topic.hint
        deciding = f"The person {words[item.guess == 'r2']}."
        return item.stratum if deciding in facts else "weak"
    return item.stratum


def letters_of(prompt: str) -> list[str]:
    """The letters that a prompt offers in double brackets; A and B where it offers none."""
    return sorted(set(_OFFERED.findall(prompt))) or ["A", "B"]


def _offers_tie(prompt: str) -> bool:
    return "[[C]]" in prompt


def _wants_certainty(prompt: str) -> bool:
    return "[[X]]" in prompt or (not _OFFERED.search(prompt) and "certain" in prompt.casefold())


def _boast(u: float) -> int:
    low, high = BOASTFUL
    return low + int((high - low + 1) * u)


def _certainty(model: str, evidence: str, u: float) -> int:
    if model == "demo-boastful":
        return _boast(u)
    return certainty_from(*CERTAINTY["none" if evidence == "tie" else evidence], u)


def expected_judges(sizes: dict[str, int]) -> dict[str, dict[str, float]]:
    """Expected accuracy with the whole profile and one random order, and share of answers A."""
    total = sum(sizes.values())
    swayed = sizes["weak"] + sizes["none"]
    steady, decider = (
        sum(rates[name] * size for name, size in sizes.items()) / total
        for rates in (ACCURACY, INFORMED)
    )
    firm = sum(ACCURACY[name] * sizes[name] for name in ("direct", "strong"))
    return {
        "demo-steady": {"accuracy": steady, "share_a": 0.5},
        "demo-boastful": {"accuracy": steady, "share_a": 0.5},
        "demo-lefty": {
            "accuracy": (firm + swayed * 0.5) / total,
            "share_a": ((total - swayed) * 0.5 + swayed * LEFTY_SHARE_A) / total,
        },
        DECIDER: {"accuracy": decider, "share_a": 0.5},
    }
