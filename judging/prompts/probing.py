"""The bias probe of a run, with the facts it needs about the study."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from django.db.models import QuerySet

from judging.bias.probe_choices import ProbeChoice, probe_choice
from judging.bias.probes import Asked, BiasProbe, Example, draw, not_the_same
from judging.models import JudgeRun
from studies.models import Item, Persona, Side, Study
from studies.personas import build_profile, profile_for, what_it_asks
from studies.prompts import persona_text
from studies.texts.slots import Profile, Slots

# A feature with more values, such as free text, is flipped to one of this many.
_MOST_VALUES = 200


@dataclass(frozen=True)
class Probing:
    """The change of prompts named by a run.

    `values` are the flipped feature's values, each with its sentence. They are read when a run
    starts and stored with it, so that later personas do not change prompts.
    """

    study: Study
    choice: ProbeChoice
    seed: int
    language: str
    values: tuple[tuple[str, str], ...] = ()
    _answered: dict[int, list[Example]] = field(default_factory=dict, compare=False)
    _personas: list[Persona] = field(default_factory=list, compare=False)

    @classmethod
    def of(cls, run: JudgeRun) -> Self | None:
        """The probe of a run, stored or not; None if it has none."""
        if not run.bias_probe:
            return None
        choice, values = probe_choice(run.bias_probe), list[tuple[str, str]]()
        if choice.probe is not None and choice.probe.uses_values:
            stored = run.parameters.get("bias_probe", {}).get("values")
            values = (
                _values_of(run.study, choice.option)
                if stored is None
                else [(value, words) for value, words in stored]
            )
        return cls(run.study, choice, run.seed, run.prompt_language, tuple(values))

    @property
    def record(self) -> dict[str, Any]:
        """The parts of its probe that a run stores."""
        record: dict[str, Any] = {"name": self.choice.name}
        probe = self.choice.probe
        if probe is not None and probe.has_target:
            record["target"] = self.choice.rule
        if probe is not None and probe.uses_values:
            record["values"] = [list(pair) for pair in self.values]
        return record

    @property
    def fingerprint(self) -> str:
        """Identifies every text and rule by which it changes prompts."""
        words = json.dumps([self.choice.sha256(self.language), self.values], ensure_ascii=False)
        return hashlib.sha256(words.encode()).hexdigest()

    def change(
        self,
        slots: Slots,
        item: Item,
        shown_first: str,
        *,
        features: Sequence[str] | None,
    ) -> Slots:
        """The texts of the prompt instead of `slots`, which show the given `features`."""
        probe = self.choice.probe
        if probe is None or probe.asks_own:
            return slots
        asked = self._asked(probe, item, shown_first)
        if not probe.has_target and slots.persona:
            changed = probe.show(profile_for(item, features=features), asked)
            slots = replace(slots, persona=persona_text(item, changed, self.language))
        return probe.change(slots, asked)

    def why_not(self, items: QuerySet[Item], features: Sequence[str] | None) -> dict[int, str]:
        """The items that the probe does not apply to, by id, with the reason."""
        probe = self.choice.probe
        if probe is None or probe.has_target or probe.asks_own:
            return {}
        if probe.uses_examples:
            self._read_answers(None)
        reasons = {}
        for item in items.select_related("persona").iterator(chunk_size=500):
            item.study = self.study
            profile = profile_for(item, features=features)
            if reason := probe.why_not(profile, self._asked(probe, item, Side.R1)):
                reasons[item.pk] = reason
        return reasons

    def _asked(self, probe: BiasProbe, item: Item, shown_first: str) -> Asked:
        return Asked(
            item=item.key,
            persona=item.persona.key,
            shown_first=shown_first,
            seed=self.seed,
            language=self.language,
            rule=self.choice.rule,
            option=self.choice.option,
            values=self.values,
            examples=self._examples(item) if probe.uses_examples else (),
            other=self._other(item) if probe.uses_profiles else None,
        )

    def _other(self, item: Item) -> Profile | None:
        """The profile of another persona of the study, drawn once for each item; None without."""
        if not self._personas:
            personas = Persona.objects.filter(study=self.study).order_by("key")
            self._personas.extend(
                persona for persona in personas if persona.features or persona.text
            )
        others = [persona for persona in self._personas if _shown(persona) != _shown(item.persona)]
        if not others:
            return None
        one = others[draw(self.seed, "other persona", item.key) % len(others)]
        return build_profile(one, show_history=self.study.show_history, without=what_it_asks(item))

    def _examples(self, item: Item) -> list[Example]:
        """The persona's own answers to other items, except similar ones."""
        if item.persona_id not in self._answered:
            self._read_answers(item.persona_id)
        own = {
            "question": item.question or item.context,
            "r1": item.r1["text"],
            "r2": item.r2["text"],
        }
        return [
            example
            for example in self._answered[item.persona_id]
            if example.item != item.key and not_the_same(example, **own)
        ]

    def _read_answers(self, persona: int | None) -> None:
        """Read the items that a persona answered, or those of every persona."""
        rows = Item.objects.filter(study=self.study, first_person__in=Side.values).order_by("key")
        examples: dict[int, list[Example]] = defaultdict(list)
        if persona is not None:
            rows = rows.filter(persona=persona)
            examples[persona] = []
        columns = ("persona_id", "key", "question", "context", "r1", "r2", "first_person")
        for owner, key, question, context, r1, r2, own in rows.values_list(*columns).iterator():
            example = Example(key, question or context, r1["text"], r2["text"], own)
            examples[owner].append(example)
        if persona is None:
            everyone = Persona.objects.filter(study=self.study).values_list("pk", flat=True)
            self._answered.update({owner: [] for owner in everyone})
        self._answered.update(examples)


def _shown(persona: Persona) -> tuple[Any, ...]:
    return persona.features, persona.text, persona.history


def _values_of(study: Study, key: str) -> list[tuple[str, str]]:
    """The values that a study has for a feature, sorted, each with the sentence of one persona."""
    words: dict[str, str] = {}
    for features in Persona.objects.filter(study=study).values_list("features", flat=True):
        for feature in features:
            if feature["key"] == key:
                value = str(feature["value"])
                words[value] = min(words.get(value, feature["text"]), feature["text"])
    if len(words) <= _MOST_VALUES:
        return sorted(words.items())

    def by_hash(pair: tuple[str, str]) -> str:
        return hashlib.sha256(pair[0].encode()).hexdigest()

    return sorted(sorted(words.items(), key=by_hash)[:_MOST_VALUES])
