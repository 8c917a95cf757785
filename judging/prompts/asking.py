"""How a run asks: everything that decides a prompt, other than the item and its order."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from judging.engine.messages import Message, Messages, from_user
from judging.models import JudgeRun, PromptTemplate
from judging.protocols.framings import Framing, framing
from judging.protocols.protocol import JudgingProtocol
from judging.protocols.registry import protocol
from studies.models import Item, Study
from studies.prompts import BANDS, Wording, slots_of, wording
from studies.slots import Slots, fill


@dataclass(frozen=True)
class Asking:
    """The protocol of a run, its words and its changes; it turns an item into messages.

    `features` are the persona's keys to show: None shows everything, an empty list nothing.
    `template` is the study's own wording, used instead of the protocol's.
    """

    study: Study
    protocol: JudgingProtocol
    features: Sequence[str] | None
    framing: Framing
    language: str
    template: PromptTemplate | None

    @classmethod
    def of(cls, run: JudgeRun) -> Self:
        """How a run asks; it need not be stored."""
        return cls(
            study=run.study,
            protocol=protocol(run.setting),
            features=run.feature_keys,
            framing=framing(run.framing),
            language=run.prompt_language,
            template=run.wording,
        )

    def messages(self, item: Item, *, shown_first: str) -> Messages:
        """The prompt about `item` with response `shown_first` ("r1" or "r2") as side A."""
        item.study = self.study  # saves a query per item
        slots = self.slots(item, shown_first=shown_first)
        words = self.words_of(item.task, persona=bool(slots.persona))
        prompt = from_user(fill(words.template, replace(slots, ask=words.question)))
        if self.framing.system:
            return (Message("system", self.framing.system), *prompt)
        return prompt

    def slots(self, item: Item, *, shown_first: str) -> Slots:
        """The texts of `item` that the prompt is filled with."""
        features = self.features if self.framing.shows_profile else []
        return slots_of(item, shown_first=shown_first, features=features)

    def words_of(self, task: str, *, persona: bool = True) -> Wording:
        """The wording of `task`: the study's own, the protocol's, or that of `studies.prompts`."""
        own = self.template or self.protocol
        template = own.template if persona else own.template_without_persona
        if not template:
            return wording(task, self.protocol.name, persona=persona, language=self.language)
        question = wording(task, "standard", persona=persona, language=self.language).question
        bands = repr(BANDS) if "{{ bands }}" in template else ""
        digest = hashlib.sha256("\n".join([question, template, bands]).encode()).hexdigest()
        return Wording(question, template, digest)

    def sha256(self, tasks: Sequence[str] | None = None) -> str:
        """Hash of the wording of every task of the study; `tasks` are those of `tasks_of`."""
        persona = self.features != [] and self.framing.shows_profile
        hashes = [
            self.words_of(task, persona=persona).sha256
            for task in (tasks_of(self.study) if tasks is None else tasks)
        ]
        hashes += [hashlib.sha256(words.encode()).hexdigest() for words in self._around()]
        if len(hashes) == 1:
            return hashes[0]
        return hashlib.sha256("".join(hashes).encode()).hexdigest()

    def _around(self) -> list[str]:
        """Words that are sent next to the template, and rules that change its slots."""
        return [self.framing.system] if self.framing.system else []


def messages_of(run: JudgeRun, item: Item, *, shown_first: str) -> Messages:
    """The prompt that a run asks about `item` with response `shown_first` as side A."""
    return Asking.of(run).messages(item, shown_first=shown_first)


def tasks_of(study: Study) -> list[str]:
    """Every task that the study's items have."""
    of_items = Item.objects.filter(study=study).order_by().values_list("task", flat=True)
    return sorted({study.task, *of_items.distinct()})
