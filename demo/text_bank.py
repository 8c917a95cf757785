"""The texts of the demo study, read from text_bank.toml: topics, personas, and the evidence."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

STRATA_LETTERS = {"d": "direct", "s": "strong", "w": "weak", "n": "none"}


@dataclass(frozen=True)
class Topic:
    """A question with two replies (r1, r2) and the evidence for each of them."""

    key: str
    label: str
    question: str
    replies: tuple[str, str]
    direct: tuple[str, str]
    hint: tuple[str, str]
    lean_feature: str
    lean_values: tuple[frozenset[str], frozenset[str]]


@dataclass(frozen=True)
class Person:
    """An invented persona: one value per feature, and what the profile says on each topic."""

    id: str
    values: dict[str, str]
    strata: dict[str, str]  # topic key -> stratum


@dataclass(frozen=True)
class Feature:
    key: str
    label: str
    sentences: dict[str, str]  # value -> sentence


@dataclass(frozen=True)
class TextBank:
    title: str
    features: tuple[Feature, ...]
    topics: tuple[Topic, ...]
    people: tuple[Person, ...]
    torn: tuple[Person, ...]  # both hints of three topics: nothing shows which reply they prefer

    def lean(self, person: Person, topic: Topic) -> str | None:
        """The reply ("r1" or "r2") that a feature of `person` weakly suggests, if any does."""
        value = person.values[topic.lean_feature]
        for side, values in zip(("r1", "r2"), topic.lean_values, strict=True):
            if value in values:
                return side
        return None

    def demographics(self, person: Person) -> list[dict[str, str]]:
        """The persona features that every profile of `person` begins with."""
        return [
            {
                "key": feature.key,
                "label": feature.label,
                "value": person.values[feature.key],
                "text": feature.sentences[person.values[feature.key]],
            }
            for feature in self.features
        ]


def fact(topic: Topic, words: str, *, key: str | None = None) -> dict[str, str]:
    """A persona feature that says `words` about a persona under the label of `topic`."""
    return {
        "key": key or topic.key,
        "label": topic.label,
        "value": words[0].upper() + words[1:],
        "text": f"The person {words}.",
    }


def _read() -> TextBank:
    text = Path(__file__).with_name("text_bank.toml").read_text("utf-8")
    data = tomllib.loads(text)
    features = tuple(
        Feature(key, entry["label"], entry["values"]) for key, entry in data["features"].items()
    )
    topics = tuple(_topic(entry) for entry in data["topics"])
    keys = [topic.key for topic in topics]
    people = tuple(
        Person(
            entry["id"],
            {feature.key: entry[feature.key] for feature in features},
            {
                key: STRATA_LETTERS[letter]
                for key, letter in zip(keys, entry["strata"], strict=True)
            },
        )
        for entry in data["people"]
    )
    torn = tuple(
        Person(
            entry["id"],
            {feature.key: entry[feature.key] for feature in features},
            dict.fromkeys(entry["topics"], "tie"),
        )
        for entry in data["torn"]
    )
    return TextBank(data["title"], features, topics, people, torn)


def _topic(entry: dict) -> Topic:
    ((feature, (for_r1, *for_r2)),) = entry["lean"].items()
    return Topic(
        entry["key"],
        entry["label"],
        entry["question"],
        tuple(entry["replies"]),
        tuple(entry["direct"]),
        tuple(entry["hint"]),
        feature,
        (frozenset([for_r1]), frozenset(for_r2)),
    )


BANK = _read()
