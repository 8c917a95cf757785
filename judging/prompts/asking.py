"""How a run asks: everything that decides a prompt, other than the item and its order.

Items store texts trimmed and normalised, and personas as features. A recovered wording keeps the
spelling of its file where it differs, so that a prompt is rebuilt to the byte:
`{"texts": [text, …], "items": {item key: {"content": hash, slot or response: number of a text}}}`.
A spelling belongs to the content it was read with: an item that was edited since shows its own.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from math import ceil
from typing import Any, Self

from django.db import connection, connections
from django.db.models import QuerySet

from judging.backends.parameters import FORM_WORDS, JSON_OBJECT
from judging.bias.probe_choices import REFLECTION, WARNING, Reflecting, probe_choice, warned
from judging.bias.texts import all_of, text
from judging.engine.interface import ClosedQuestion
from judging.engine.messages import Attachment, Message, Messages
from judging.errors import BadRun
from judging.models import SAMPLED, JudgeRun, PromptTemplate
from judging.prompts.probing import Probing
from judging.protocols.framings import Framing, framing
from judging.protocols.protocol import EarlierReplies, JudgingProtocol
from judging.protocols.registry import protocol
from judging.protocols.texts import texts
from judging.protocols.usual import Levels
from studies.file_storage.storage import Stored
from studies.media import is_film, keeper
from studies.models import Item, Side, Study
from studies.prompts import (
    PROMPT_LANGUAGE,
    Wording,
    bands_in,
    bands_text,
    criteria_text,
    slots_of,
    wording,
    words_in,
)
from studies.texts.slots import Slots, as_steps, fill, names_in, steps_of, without_marks

# Providers count differently and do not say how in advance, so these are rough, on the high side.
_PIXELS_PER_TOKEN = 750
_TOKENS_PER_SECOND = 50
_FRAME_TOKENS = 100


def user_message(filled: str, item: Item) -> Message:
    """A filled template as a message, with the item's pictures and sounds at their places.

    At the place of a film are its frames, one after the other.
    """
    text, places = without_marks(filled)
    if not places:
        return Message("user", text)
    facts = {medium["sha256"]: medium for medium in item.all_media}
    films = [sha for _, sha in places if is_film(facts[sha]["type"])]
    frames = keeper().frames(item.study_id, films) if films else {}
    sent = [(place, file) for place, sha in places for file in frames.get(sha, [facts[sha]])]
    files = keeper().named(item.study_id, {file["sha256"] for _, file in sent})
    return Message(
        "user",
        text,
        tuple(
            Attachment(
                place,
                file["sha256"],
                file["type"],
                _tokens(file),
                partial(_read, files[file["sha256"]]),
                size=file["size"],
            )
            for place, file in sent
        ),
    )


def _tokens(facts: Mapping[str, Any]) -> int:
    if (seconds := facts.get("seconds")) is not None:
        return _FRAME_TOKENS + ceil(seconds * _TOKENS_PER_SECOND)
    return _FRAME_TOKENS + ceil(facts["width"] * facts["height"] / _PIXELS_PER_TOKEN)


def _read(stored: Stored) -> bytes:
    """The bytes of a file. A backend calls it in a separate thread, which keeps no connection.

    A worker that writes a file of requests keeps its own connection.
    """
    had_connection = connection.connection is not None
    try:
        return stored.read_bytes()
    finally:
        if not had_connection:
            connections.close_all()


CONTENT = "content"


def with_exact_texts(
    slots: Slots, stored: Mapping[str, Any], item: Item, *, shown_first: str, whole_persona: bool
) -> Slots:
    """The slots in the spelling of the file.

    The spelling of a profile is that of the whole persona; a judge that sees less gets the features
    as usual.
    """
    entry = stored.get("items", {}).get(item.key)
    if entry is None or entry[CONTENT] != item.content_hash:
        return slots
    names = {name: slot for slot, name in names_by_side(shown_first).items()}
    texts = {
        names.get(name, name): stored["texts"][number]
        for name, number in entry.items()
        if name != CONTENT
    }
    if not whole_persona or not slots.persona:
        texts.pop("persona", None)
    return replace(slots, **texts)


def names_by_side(shown_first: str) -> dict[str, str]:
    """The stored response in each response slot."""
    second = Side.R2 if shown_first == Side.R1 else Side.R1
    return {"response_a": str(Side(shown_first)), "response_b": str(second)}


_NO_TEXT = "The wording {wording} has no text for judges {which} a profile."


@dataclass(frozen=True)
class Asking:
    """A run's protocol, words and changes, which turn an item into messages.

    `features` are the persona's keys to show: None shows everything, an empty list nothing.
    `template` is the study's own wording, used instead of the protocol's. `seed` draws the order of
    responses. `probing` is the run's bias probe, if any, `earlier_replies` what it shows of other
    runs.
    """

    study: Study
    protocol: JudgingProtocol
    features: Sequence[str] | None
    framing: Framing
    language: str
    template: PromptTemplate | None
    seed: int = 0
    probing: Probing | None = None
    earlier_replies: EarlierReplies | None = None

    @classmethod
    def of(cls, run: JudgeRun) -> Self:
        """How a run, stored or not, asks."""
        asked = protocol(run.setting).of_study(run.study.criteria)
        return cls(
            study=run.study,
            protocol=asked,
            features=run.feature_keys,
            framing=framing(run.framing),
            language=run.prompt_language,
            template=run.wording,
            seed=run.seed,
            probing=Probing.of(run),
            earlier_replies=asked.goes_on_from(run),
        )

    @property
    def reply_format(self) -> JudgingProtocol | Reflecting:
        """How replies are read, and what follows each."""
        if self.probing and self.probing.choice.reflects:
            return Reflecting(self.protocol, self.language)
        return self.protocol

    def reply_format_of(self, item: Item, *, shown_first: str) -> JudgingProtocol | Reflecting:
        """How the reply about one item is read."""
        if not self.protocol.shares_requests:
            return self.reply_format
        return self.protocol.about(item, seed=self.seed, shown_first=shown_first)

    def messages(self, item: Item, *, shown_first: str) -> Messages:
        """The prompt about `item` with response `shown_first` ("r1" or "r2") as side A."""
        item.study = self.study  # saves a query per item
        slots = self.slots(item, shown_first=shown_first)
        words = self.words_of(item.task, persona=bool(slots.persona or slots.examples))
        if slots.examples and "examples" not in names_in(words.template):
            both = "\n\n".join(filter(None, (slots.persona, slots.examples)))
            slots = replace(slots, persona=both)
        slots = replace(slots, ask=words.question)
        if self.earlier_replies is not None:
            slots = self.earlier_replies.change(slots, item, shown_first)
        prompt = tuple(user_message(fill(step, slots), item) for step in steps_of(words.template))
        if system := self._system:
            prompt = (Message("system", system), *prompt)
        if self.probing and self.probing.choice.warns:
            return warned(prompt, self.language)
        return prompt

    def closed(self, item: Item) -> ClosedQuestion:
        """The question about `item` to a judge that gives only the probability of each answer."""
        ask = self.words_of(item.task, persona=self._shown_features != []).question
        if not self.protocol.asks_certainty:
            return ClosedQuestion(ask)
        return ClosedQuestion(ask, **certainty_question(self.language))

    def slots(self, item: Item, *, shown_first: str) -> Slots:
        """The texts of `item` that the prompt is filled with."""
        features, language = self._shown_features, self.language
        slots = slots_of(item, shown_first=shown_first, features=features, language=language)
        if self.template is not None and self.template.exact_texts:
            slots = with_exact_texts(
                slots,
                self.template.exact_texts,
                item,
                shown_first=shown_first,
                whole_persona=features is None,
            )
        slots = self.protocol.filled(
            slots, item, seed=self.seed, shown_first=shown_first, language=language
        )
        if self.probing is None:
            return slots
        return self.probing.change(slots, item, shown_first, features=features)

    @property
    def asks_all(self) -> bool:
        """Whether it asks about every item, as far as known without reading them."""
        return not (self.probing or self.earlier_replies or self._needs_some)

    @property
    def _needs_some(self) -> bool:
        return bool(self.protocol.left_out) or self.protocol.shares_requests

    def earlier(self, item: Item, *, shown_first: str) -> tuple[str, ...]:
        """The replies that a judgment continues from, if it follows other runs."""
        earlier_replies = self.earlier_replies
        return (earlier_replies.own_reply(item, shown_first),) if earlier_replies else ()

    def why_not(self, items: QuerySet[Item]) -> dict[int, str]:
        """The items that the run does not ask about, by id, with the reason."""
        reasons: dict[int, str] = {}
        if left_out := self.protocol.left_out:
            without = items.model.objects.filter(pk__in=items.values("pk"), **left_out)
            reasons = dict.fromkeys(
                without.values_list("pk", flat=True), self.protocol.why_left_out
            )
        reasons |= self.protocol.why_not(items)
        if self.earlier_replies is not None:
            reasons |= self.earlier_replies.why_not(items)
        if self.probing is not None:
            reasons |= self.probing.why_not(items, self._shown_features)
        return reasons

    @property
    def _shown_features(self) -> Sequence[str] | None:
        return self.features if self.framing.shows_profile else []

    @property
    def _system(self) -> str:
        """The words of the framing that are sent before the prompt."""
        return self.framing.system.get(self.language, "")

    def words_of(self, task: str, *, persona: bool = True) -> Wording:
        """The wording of `task`: the study's own, the protocol's, or that of `studies.prompts`.

        Raises `BadRun` if the study's own has no text for judges with, or without, a profile.
        """
        own = self._own(persona=persona)
        texts = self.protocol.texts(self.language)
        if not own and not texts.follow_up:
            return wording(task, self.protocol.name, persona=persona, language=self.language)
        standard = wording(task, self.protocol.begins_with, persona=persona, language=self.language)
        question = texts.questions.get(task, standard.question)
        template = own or standard.template
        if self.template is None and texts.follow_up:
            template = as_steps([template, texts.follow_up])
        parts = [question, template, self._shown_with(template)]
        digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        return Wording(question, template, digest)

    def _own(self, *, persona: bool) -> str:
        """The template of the study or of the protocol; empty if it is that of the task."""
        if self.template is not None:
            chosen = self.template
            template = chosen.template if persona else chosen.template_without_persona
            if not template:
                which = "with" if persona else "without"
                raise BadRun(_NO_TEXT.format(wording=self.template, which=which))
            return template
        texts = self.protocol.texts(self.language)
        return texts.prompt if persona else texts.prompt_without_persona

    def _shown_with(self, template: str) -> str:
        """Texts in the template that are the same for all items."""
        names = names_in(template)
        bands = repr(bands_in(self.language)) if "bands" in names else ""
        if "options" in names:
            bands += self.protocol.texts(self.language).option
        return bands + (criteria_text(self.study.criteria) if "criteria" in names else "")

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
        words = [self._system] if self._system else []
        if self.template is not None and self.template.exact_texts:
            words.append(self.template.sha256)
        if self.language != PROMPT_LANGUAGE:
            words.append(repr(words_in(self.language)))
        return words + ([self.probing.fingerprint] if self.probing else [])


@cache
def certainty_question(language: str) -> dict[str, Any]:
    """The second question to a judge that answers closed questions: which level of certainty?"""
    asks = (texts(Levels.name, name).how_certain for name in (language, PROMPT_LANGUAGE))
    bands = {band.slug: (band.name, band.definition) for band in bands_in(language)}
    return {"how_certain": next(filter(None, asks)), "levels": bands}


def protocol_sha256(run: JudgeRun) -> str:
    """Identifies everything that reaches the model or affects reading, except prompt and seed.

    Two runs ask the same question only if this and the prompts are equal. A run has it in its
    parameters; for older runs it is computed from what they stored.
    """
    if stored := run.parameters.get("protocol_sha256"):
        return str(stored)
    asked, judge = run.parameters, run.judge
    own = protocol(run.setting).of_study(run.study.criteria)
    reflects = probe_choice(run.bias_probe).reflects
    parts = {
        "judge": {name: asked.get(name, getattr(judge, name)) for name in SAMPLED}
        | ({"reply_form": way} if (way := asked.get("reply_form")) else {}),
        "model_options": asked.get("model_options") or {},
        "setting": own.name,
        "criteria": run.study.criteria if own.needs_criteria else [],
        "language": run.prompt_language,
        "steps": own.steps,
        "form": own.form() if own.has_form else {},
        "offers_tie": own.offers_tie,
        "reflection": text(REFLECTION, "user", language=run.prompt_language) if reflects else "",
        "reading": [run.reading, asked.get("reading_version", 1)],
    }
    if judge.capabilities.only_probabilities and own.asks_certainty:
        parts["certainty_question"] = certainty_question(run.prompt_language)
    words = json.dumps(parts, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(words.encode()).hexdigest()


def words_of_run(run: JudgeRun, tasks: Sequence[str] | None = None) -> dict[str, Any]:
    """All current texts that reach the model, except item texts.

    A run stores them when it starts, because its `prompt_hash` cannot be turned back into words.
    """
    asking, language = Asking.of(run), run.prompt_language
    prompts = []
    for task in tasks_of(run.study) if tasks is None else tasks:
        for persona in (True, False):
            with suppress(BadRun):  # an own wording can lack the text for judges without a profile
                words = asking.words_of(task, persona=persona)
                prompts.append({"task": task, "persona": persona} | asdict(words))
    choice = probe_choice(run.bias_probe)
    system = [asking._system, text(WARNING, "system", language=language) if choice.warns else ""]
    parts = {
        "prompts": prompts,
        "system": "\n\n".join(filter(None, system)),
        "reflection": text(REFLECTION, "user", language=language) if choice.reflects else "",
        "criteria": criteria_text(run.study.criteria),
        "bands": bands_text(language),
        "around_items": words_in(language),
        "probe": all_of(choice.probe.name, language) if choice.probe else {},
        "option": asking.protocol.texts(language).option,
        "form": asking.protocol.form() if run.parameters.get("structured") else {},
        "form_words": FORM_WORDS if run.parameters.get("reply_form") == JSON_OBJECT else "",
        "certainty_question": certainty_question(language)
        if run.judge.capabilities.only_probabilities and asking.protocol.asks_certainty
        else {},
    }
    return {name: words_of_part for name, words_of_part in parts.items() if words_of_part}


def stored_words(run: JudgeRun, tasks: Sequence[str] | None = None) -> dict[str, Any]:
    """The words that a run was asked with; empty if they are gone.

    Today's words are the same if they have the hash from the start of the run. `tasks` are those of
    `tasks_of`.
    """
    if run.words or run.is_imported or not run.prompt_hash:
        return dict(run.words)
    try:
        is_same = Asking.of(run).sha256(tasks) == run.prompt_hash
    except (BadRun, LookupError, ValueError):  # a protocol or language that is no longer here
        is_same = False
    return words_of_run(run, tasks) if is_same else {}


def messages_of(run: JudgeRun, item: Item, *, shown_first: str) -> Messages:
    """The prompt that a run asks about `item` with response `shown_first` as side A."""
    return Asking.of(run).messages(item, shown_first=shown_first)


def tasks_of_items(study: Study) -> list[str]:
    """The tasks of the study's items; its own, which items may all differ from, without any."""
    of_items = Item.objects.filter(study=study).order_by().values_list("task", flat=True)
    return sorted({*of_items.distinct()} or {study.task})


def tasks_of(study: Study) -> list[str]:
    """The tasks whose words the hash of a run is of: those of the items, and the study's own."""
    return sorted({study.task, *tasks_of_items(study)})
