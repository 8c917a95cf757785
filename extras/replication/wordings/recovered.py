"""Wordings recovered from released result files and checked on every prompt."""

import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from extras.replication.released.result_rows import (
    ReleasedRow,
    aligned,
    looks_released,
    parse_released,
)
from extras.replication.wordings.recovery import NotRecovered, PromptRow, recover
from judging.models import PromptTemplate
from judging.prompts.asking import CONTENT, Asking, names_by_side
from judging.protocols.framings import OBSERVER, framing
from judging.protocols.protocol import Standard
from judging.protocols.registry import protocol
from judging.wordings import save_wording
from studies.importers.files.bundle import File
from studies.importers.files.faults import Fault, Refused
from studies.importers.files.json_rows import json_lines, read_json_lines
from studies.importers.files.lines import BadLine
from studies.models import Item, Study
from studies.prompts import PROMPT_LANGUAGE, slots_of
from studies.services.studies import lock_study
from studies.texts.slots import Slots

# The importer reads profile and pairs from the same places, but trims them.
_PROFILE = re.compile(r"\[User Profile\]\n([^\n]*)")
_PAIRS = re.compile(
    r"\[Question-Answer Pair A\]\n(?P<a>Question:.*?\nAnswer:.*?)"
    r"\[Question-Answer Pair B\]\n(?P<b>Question:.*?\nAnswer:.*)\[Answer\]",
    re.DOTALL,
)
_BLANKS = {" ", "\n", "\t", "\r"}


@dataclass(frozen=True)
class ReleasedPrompt:
    """A row of the file: the importer's reading, and its prompt with the exact texts."""

    released: ReleasedRow
    row: PromptRow


def read_prompts(file: File) -> list[ReleasedPrompt]:
    """Every row of a released file. Raises `Refused` if it is not one, or a row is damaged."""
    with file.open() as stream:
        first = next(json_lines(stream, file.name), None)
    if not isinstance(first, tuple) or not looks_released(first[1]):
        fault = Fault(
            1,
            "",
            "not a released result",
            "the prompts of this file do not contain the texts of its rows.",
            "Use a result file as it was released, with prompt, user_info, ground_truth and "
            "answer in every row.",
            file=file.name,
        )
        raise Refused([fault])
    released = parse_released(file)
    raw = [parsed for parsed in read_json_lines(file) if not isinstance(parsed, BadLine)]
    texts = [_texts(row) for _, row in raw]
    if any("pair_a" in text for text in texts):
        _end_pairs(texts)
    return [
        ReleasedPrompt(row, PromptRow(line, str(fields["prompt"]), parsed))
        for row, (line, fields), parsed in zip(released, raw, texts, strict=True)
    ]


def _texts(raw: dict[str, Any]) -> dict[str, str]:
    """The texts of a row, by slot."""
    prompt, texts = str(raw["prompt"]), {}
    if (profile := raw["user_info"]) and profile in prompt:
        texts["persona"] = profile
    elif match := _PROFILE.search(prompt):
        texts["persona"] = match[1]
    if "asst_A" in raw:
        texts |= {"response_a": raw["asst_A"], "response_b": raw["asst_B"]}
        for slot, field in (("question_text", "question"), ("context_text", "article")):
            if isinstance(raw.get(field), str):
                texts[slot] = raw[field]
    elif pairs := _PAIRS.search(prompt):
        texts |= {"pair_a": pairs["a"], "pair_b": pairs["b"]}
    return texts


def _end_pairs(texts: Sequence[dict[str, str]]) -> None:
    """Name the pairs as responses, without the white space that ends all pairs of a side.

    Any further white space is part of a row's text.
    """
    for side in "ab":
        ends = [text[f"pair_{side}"][::-1] for text in texts]
        shared = 0
        while (last := {end[shared : shared + 1] for end in ends}) <= _BLANKS and len(last) == 1:
            shared += 1
        for text in texts:
            pair = text.pop(f"pair_{side}")
            text[f"response_{side}"] = pair[: len(pair) - shared]


_SCALE = 100  # the certainties that our protocols read


@dataclass(frozen=True)
class Recovered:
    """A file's wording, and the number of prompts that it rebuilds.

    `from_items` were rebuilt from items of the study.
    """

    wording: PromptTemplate
    prompts: int
    from_items: int

    @property
    def proof(self) -> str:
        part = "" if self.from_items == self.prompts else f", {self.from_items:,} of them"
        return (
            f"“{self.wording.name}”, version {self.wording.version}: rebuilds all "
            f"{self.prompts:,} prompts byte for byte{part} from the items of this study."
        )

    def __str__(self) -> str:
        return (
            f"{self.proof} Use it with: --wording {shlex.quote(self.wording.reference)} --setting "
            f"{self.wording.setting}{'' if self.wording.template else ' --features none'}"
        )


@transaction.atomic
def import_protocol(
    *, study_id: int, file: File, name: str = "", user: User | None = None
) -> Recovered:
    """Store the wording of a released file that shares items with the study.

    The wording is stored only if it rebuilds every prompt: from the study's items or, for items
    that the study lacks, from the row's texts. Raises `NotRecovered` or `Refused` with the rows at
    fault.
    """
    study = lock_study(study_id)
    every = read_prompts(file)
    recovered = recover([prompt.row for prompt in every])
    if not {"response_a", "response_b"} <= set(recovered.slots):
        raise NotRecovered("The prompts of this file do not show both responses of its rows.")
    setting, remark = _setting_of(every)
    shows_persona = "persona" in recovered.slots
    items = _items_of(study, every)
    prompts = [prompt for prompt in every if prompt.released.item_id in items]
    if shows_persona:
        _check_personas(prompts, items)
    field = "template" if shows_persona else "template_without_persona"
    wording = PromptTemplate(study=study, setting=setting, **{field: recovered.text})
    wording.exact_texts = _exact_texts(prompts, items, recovered.slots, study)
    _prove(wording, prompts, items)
    stored = save_wording(
        study_id=study.pk,
        name=name or file.name.removesuffix(".jsonl")[:60],
        setting=setting,
        note=(
            f"Recovered from {file.name} (SHA-256 {file.sha256()}), whose {len(every):,} prompts "
            f"it rebuilds byte for byte.{remark}"
        ),
        source=PromptTemplate.Source.RECOVERED,
        exact_texts=wording.exact_texts,
        user=user,
        **{field: recovered.text},
    )
    return Recovered(stored, len(every), len(prompts))


def import_template(*, study_id: int, file: File, name: str) -> PromptTemplate:
    """Store the words of a released file's prompts as a wording of any study.

    Unlike in `import_protocol`, the study needs none of its items, so profiles and texts keep the
    study's spelling. If nothing is known about a person, the profile is empty. Raises
    `NotRecovered` or `Refused`, and `InvalidValue`.
    """
    every = read_prompts(file)
    recovered = recover([prompt.row for prompt in every])
    setting, remark = _setting_of(every)
    shows_persona = "persona" in recovered.slots
    return save_wording(
        study_id=study_id,
        name=name,
        setting=setting,
        note=f"The words of {file.name} (SHA-256 {file.sha256()}), whose {len(every):,} prompts "
        f"they rebuild from their own texts.{remark}",
        source=PromptTemplate.Source.RECOVERED,
        template=recovered.text if shows_persona else "",
        template_without_persona=recovered.text.replace("{{ persona }}", ""),
    )


def _setting_of(prompts: list[ReleasedPrompt]) -> tuple[str, str]:
    """The protocol that reads the replies, and a remark if it ignores a part."""
    common = Counter((prompt.released.setting, prompt.released.certainty_max) for prompt in prompts)
    [((setting, most), _)] = common.most_common(1)
    if most in (None, _SCALE):
        return setting, ""
    return Standard.name, (
        f" They ask for a certainty from 1 to {most}, which is not stored because certainties "
        f"here go from 1 to {_SCALE}."
    )


def _items_of(study: Study, prompts: list[ReleasedPrompt]) -> dict[str, Item]:
    """The study's items of the file by key. Raises `NotRecovered` if it has none of them."""
    keys = {prompt.released.item_id for prompt in prompts}
    items = {
        item.key: item
        for item in Item.everything.filter(study=study).select_related("persona")
        if item.key in keys
    }
    if not items:
        raise NotRecovered(
            "The study has none of the items of this file. Import the same file as items first."
        )
    return items


def _check_personas(prompts: list[ReleasedPrompt], items: dict[str, Item]) -> None:
    """Raise `NotRecovered` if a prompt shows another profile than its item has."""
    for prompt in prompts:
        row, item = prompt.released, items[prompt.released.item_id]
        if _sentences(item.persona.features) != _sentences(row.features):
            raise NotRecovered(
                f"Line {row.line}: the prompt shows another profile than item {item.key} has. "
                "Import the items of this file into a study of their own."
            )


def _sentences(features: "list[Mapping[str, str]] | tuple[Mapping[str, str], ...]") -> list[str]:
    return [feature["text"] for feature in features]


def _exact_texts(
    prompts: list[ReleasedPrompt], items: dict[str, Item], slots: list[str], study: Study
) -> dict[str, object]:
    """The file's spelling of item texts, where it differs from the study's."""
    texts = ExactTexts()
    for prompt in prompts:
        item = items[prompt.released.item_id]
        item.study = study
        first = _shown_first(prompt, item)
        exact = {slot: prompt.row.texts[slot] for slot in slots}
        spelling = spelling_of(slots_of(item, shown_first=first), exact, shown_first=first)
        if not texts.add(item, spelling):
            raise NotRecovered(
                f"Line {prompt.row.line}: this file has item {item.key} in two spellings. Keep "
                "one of the rows."
            )
    return texts.stored()


def _shown_first(prompt: ReleasedPrompt, item: Item) -> str:
    return aligned(prompt.released, item.r1).shown_first


def _prove(wording: PromptTemplate, prompts: list[ReleasedPrompt], items: dict[str, Item]) -> None:
    """Build every prompt as a run would. Raises `NotRecovered` if one differs from its row."""
    asking = Asking(
        study=wording.study,
        protocol=protocol(wording.setting),
        features=None if wording.template else [],
        framing=framing(OBSERVER),
        language=PROMPT_LANGUAGE,
        template=wording,
    )
    for prompt in prompts:
        item = items[prompt.released.item_id]
        [message] = asking.messages(item, shown_first=_shown_first(prompt, item))
        if message.text != prompt.row.prompt:
            raise NotRecovered(
                f"Line {prompt.row.line}: the prompt cannot be rebuilt from item {item.key}."
            )


class ExactTexts:
    """Collects spellings; each text is stored once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._items: dict[str, dict[str, Any]] = {}

    def add(self, item: Item, spelling: Mapping[str, str]) -> bool:
        """Keep the spelling of an item; False if it was added with another one."""
        entry: dict[str, Any] = {
            name: self._numbers.setdefault(text, len(self._numbers))
            for name, text in spelling.items()
        }
        if entry:
            entry[CONTENT] = item.content_hash
        return self._items.setdefault(item.key, entry) == entry

    def stored(self) -> dict[str, Any]:
        items = {key: entry for key, entry in self._items.items() if entry}
        return {"texts": list(self._numbers), "items": items} if items else {}


def spelling_of(slots: Slots, exact: Mapping[str, str], *, shown_first: str) -> dict[str, str]:
    """The texts of a prompt that differ from its item's `slots`; responses by content."""
    names = names_by_side(shown_first)
    return {
        names.get(slot, slot): text for slot, text in exact.items() if text != getattr(slots, slot)
    }
