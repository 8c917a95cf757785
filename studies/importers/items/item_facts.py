"""Counts of items for the report of their import, made while they are read."""

from collections import Counter
from collections.abc import Iterator

from studies.importers.items.records import ItemRecord, PersonaRecord
from studies.texts.reading import Effort

PREVIEWED = 5


class ItemFacts:
    """How many items have which label, language, task and lengths; and the first of them."""

    def __init__(self) -> None:
        self.labels = Counter[str]()
        self.languages = Counter[str]()
        self.tasks = Counter[str]()
        # How often each number of characters occurs, by the name of the text.
        self.lengths = {name: Counter[int]() for name in ("question", "context", "prompt")}
        self.lengths["response"] = Counter[int]()
        # How often items ask the same of annotators, who see all texts of the persona.
        self.efforts = Counter[Effort]()
        self.personas: dict[str, int] = {}
        self.first: list[ItemRecord] = []

    def note(self, item: ItemRecord) -> None:
        values = item.values
        self.labels[values["first_person"]] += 1
        self.languages[values["language"] or "not stated"] += 1
        self.tasks[values["task"]] += 1
        self.lengths["question"][len(values["question"])] += 1
        self.lengths["context"][len(values["context"])] += 1
        for side in ("r1", "r2"):
            self.lengths["prompt"][len(values[side].get("prompt") or "")] += 1
            self.lengths["response"][len(values[side]["text"])] += 1
        if item.persona.key not in self.personas:
            self.personas[item.persona.key] = _length(item.persona)
        self.efforts[_effort(item, self.personas[item.persona.key])] += 1
        if len(self.first) < PREVIEWED:
            self.first.append(item)

    def __add__(self, other: "ItemFacts") -> "ItemFacts":
        both = ItemFacts()
        both.labels = self.labels + other.labels
        both.languages = self.languages + other.languages
        both.tasks = self.tasks + other.tasks
        both.lengths = {name: self.lengths[name] + other.lengths[name] for name in self.lengths}
        both.efforts = self.efforts + other.efforts
        both.personas = self.personas | other.personas
        both.first = [*self.first, *other.first][:PREVIEWED]
        return both

    def texts(self) -> Iterator[tuple[str, Counter[int]]]:
        """The lengths of each kind of text, in the order of the report."""
        yield from self.lengths.items()
        yield "persona", Counter(self.personas.values())


def _length(persona: PersonaRecord) -> int:
    return len(" ".join([*(f["text"] for f in persona.features), persona.text]).strip())


def _effort(item: ItemRecord, persona: int) -> Effort:
    """What the item asks of an annotator, next to the `persona` characters of its profile."""
    values = item.values
    sides = [values["r1"], values["r2"]]
    asked = [side.get("prompt") or "" for side in sides]
    advice = values.get("advice") or {}
    shown = Effort.of(
        [
            *(values["context_title"], values["context"], values["question"]),
            *asked,
            *(side["text"] for side in sides),
            advice.get("text", ""),
        ],
        values["language"],
        media=[each for shown in (values, *sides) for each in shown.get("media") or ()],
        has_advice=bool(advice),
    )
    return shown._replace(characters=shown.characters + persona)
