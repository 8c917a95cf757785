"""The wording of every task, one file per task × setting; page and prompt read the same file.

The files of this folder are English; `de/` has the same files in German, and each other language
gets a folder. A file has a line `question: …`, a line `---`, and the prompt. The prompt ends in an
open `[[`, which a reply can continue (`A]]`) or not (`[[A]]`).
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.utils.translation import get_language_info

from studies.personas import profile_for, profile_text
from studies.texts.languages import SOURCE, language_of_texts
from studies.texts.normalisation import digest
from studies.texts.slots import HistoryWords, Profile, Slots, fill, media_mark, without_marks

if TYPE_CHECKING:
    from studies.models import Item, Study

PROMPT_LANGUAGE = "en"  # of the files in this folder; each other language has a folder here
_FOLDER = Path(__file__).parent


@cache
def prompt_languages() -> tuple[str, ...]:
    """The languages in which judges can be asked, English first."""
    others = sorted(path.parent.name for path in _FOLDER.glob("*/bands.txt"))
    return (PROMPT_LANGUAGE, *others)


def folder_of(language: str) -> Path:
    """The folder with the prompts of a language."""
    return _FOLDER if language == PROMPT_LANGUAGE else _FOLDER / language


def base_of(language: str) -> str:
    """The language of the texts for a code: `de` for `de-at`, `zh-hans` for `zh-cn`."""
    texts = language_of_texts(language)
    return texts if texts != SOURCE else language.casefold().replace("_", "-").split("-")[0]


def is_prompt_language(language: str) -> bool:
    """Whether judges can be asked in a study's language."""
    return base_of(language) in prompt_languages()


def language_or_english(language: str) -> str:
    """The language of a preview or a test: that of a study, or English if it has no prompts."""
    return base_of(language) if is_prompt_language(language) else PROMPT_LANGUAGE


def language_name(language: str) -> str:
    """The English name of a language, or its code if Django has none."""
    try:
        return str(get_language_info(language)["name"])
    except KeyError:
        return f"the language “{language}”"


def language_note(language: str, asked_in: str = "") -> str:
    """A note if judges are asked in another language than annotators; otherwise empty.

    `asked_in` is the language of the prompts, by default that of the study's judges.
    """
    if not asked_in and not is_prompt_language(language):
        return (
            f"People are asked in {language_name(language)}. There are no prompts in this "
            "language, so judges can be asked only if you choose English. The question, the scale "
            "and all other words around the items are then English in a prompt. The items’ own "
            "words are sent as they are."
        )
    if not asked_in or base_of(language) == asked_in:
        return ""
    name = language_name(asked_in)
    return (
        f"People are asked in {language_name(language)}, judges in {name}: the question, the "
        f"scale and all other words around the items are {name} in a prompt. The items’ own words "
        "are sent as they are."
    )


_FILE = "media.toml"


class MediaMarks:
    """Numbers the pictures, sounds and films of a prompt in the order they are shown."""

    def __init__(self, language: str, *, n_before: int = 0) -> None:
        self._language, self._shown = language, n_before

    def marks(self, media: Iterable[Mapping[str, Any]]) -> str:
        """A line for each: its name, such as “[Picture 1]”, and its place.

        The frames of a film come at its place.
        """
        lines = []
        for medium in media:
            self._shown += 1
            kind = medium["type"].partition("/")[0]
            words = _words_in(self._language)
            name = f"{words[kind]} {self._shown}{words.get(f'after_{kind}', '')}"
            lines.append(f"[{name}]{media_mark(medium['sha256'])}")
        return "\n".join(lines)


@cache
def _words_in(language: str) -> dict[str, str]:
    """What a prompt calls each kind of file, in English where a language has no word."""
    words: dict[str, str] = {}
    for folder in (folder_of(PROMPT_LANGUAGE), folder_of(language)):
        if (path := folder / _FILE).is_file():
            words |= tomllib.loads(path.read_text("utf-8"))
    return words


SETTINGS = ("standard", "certainty", "tie")


@dataclass(frozen=True)
class Band:
    """A named range of certainty, both ends included."""

    slug: str
    low: int
    high: int
    name: str
    definition: str


@cache
def bands_in(language: str) -> tuple[Band, ...]:
    """The bands with their names and definitions in a language."""
    lines = (folder_of(language) / "bands.txt").read_text("utf-8").splitlines()
    return tuple(
        Band(slug, int(low), int(high), name, text)
        for slug, low, high, name, text in (line.split(" | ") for line in lines)
    )


BANDS = bands_in(PROMPT_LANGUAGE)


def band_of(certainty: float) -> Band:
    """The band of a certainty from 1 to 100; a fraction counts as the next whole number."""
    for band in BANDS:
        if band.low - 1 < certainty <= band.high:
            return band
    raise ValueError(f"certainty must be from 1 to 100, got {certainty}")


@dataclass(frozen=True)
class Wording:
    """The wording of a task in one setting; `sha256` is stored with every run and answer."""

    question: str
    template: str
    sha256: str


@cache
def wording(
    task: str, setting: str, *, persona: bool = True, language: str = PROMPT_LANGUAGE
) -> Wording:
    """Read the wording of `task` in `setting`, with or without a persona."""
    if setting not in SETTINGS:
        raise ValueError(f"setting must be one of {', '.join(SETTINGS)}, got {setting!r}")
    folder = folder_of(language)
    name = f"{task}.{setting}{'' if persona else '.no_persona'}.txt"
    text = (folder / name).read_text("utf-8")
    head, _, template = text.partition("\n---\n")
    bands = (folder / "bands.txt").read_text("utf-8") if "{{ bands }}" in template else ""
    digest = hashlib.sha256((text + bands).encode()).hexdigest()
    return Wording(head.removeprefix("question: "), template.removesuffix("\n"), digest)


def build_prompt(
    item: Item, *, setting: str, shown_first: str, features: Sequence[str] | None = None
) -> str:
    """The prompt that asks about `item` with response `shown_first` ("r1" or "r2") as side A.

    `features` are the persona's keys to show: None shows everything; an empty sequence shows
    nothing and uses the wording without a profile. The prompt is in the study's language, or in
    English if that has no prompts.
    """
    language = language_or_english(item.study.language)
    slots = slots_of(item, shown_first=shown_first, features=features, language=language)
    chosen = wording(item.task, setting, persona=bool(slots.persona), language=language)
    return without_marks(fill(chosen.template, replace(slots, ask=chosen.question)))[0]


def slots_of(
    item: Item,
    *,
    shown_first: str,
    features: Sequence[str] | None = None,
    language: str = PROMPT_LANGUAGE,
) -> Slots:
    """The texts of `item` for a prompt; `ask`, the question of its task, is left empty."""
    from studies.models import Side  # Here, because reports of a table need no models.

    second = Side.R2 if shown_first == Side.R1 else Side.R1
    words = words_in(language)
    media = MediaMarks(language)
    marks = media.marks(item.media)
    return Slots(
        persona=""
        if features is not None and not features
        else persona_text(item, profile_for(item, features=features), language),
        context=_block(item.context_title or words["context"], item.context),
        question=_block(words["question"], _lines(item.question, marks)),
        response_a=_response(item.response(shown_first), words, media),
        response_b=_response(item.response(second), words, media),
        bands=bands_text(language),
        criteria=criteria_text(item.study.criteria),
        context_text=item.context,
        question_text=_lines(item.question, marks),
        advice=_advice(item.advice),
    )


def options_text(
    item: Item, order: Sequence[int], *, heading: str, letters: str, language: str
) -> str:
    """The responses of the set that `item` was paired from, in an order of their numbers."""
    words, options = words_in(language), item.options
    media = MediaMarks(language, n_before=len(item.media))
    return "".join(
        f"[{heading} {letter}]\n{_response(options[number - 1], words, media)}\n\n"
        for letter, number in zip(letters, order, strict=False)
    )


def persona_text(item: Item, profile: Profile, language: str) -> str:
    """A profile as the study of `item` shows it to judges that are asked in a language."""
    words = HistoryWords(**words_in(language).get("history", {}))
    return profile_text(profile, style=item.study.persona_style, words=words)


@cache
def words_in(language: str) -> dict[str, Any]:
    """The words of a language around the parts of an item."""
    return tomllib.loads((folder_of(language) / "words.toml").read_text("utf-8"))


def _advice(advice: Mapping[str, str]) -> str:
    """The advice of an item, with its title if it has one; empty without an advice."""
    return "\n\n".join(filter(None, (advice.get("title"), advice.get("text"))))


def criteria_text(criteria: Sequence[Mapping[str, str]]) -> str:
    """The criteria of a study, a line each."""
    return "\n".join(
        f"- {criterion['name']}: {criterion['description']}"
        if criterion.get("description")
        else f"- {criterion['name']}"
        for criterion in criteria
    )


def bands_text(language: str = PROMPT_LANGUAGE) -> str:
    """The bands of certainty, a line each."""
    return "\n".join(f"{b.low}-{b.high} ({b.name}): {b.definition}" for b in bands_in(language))


def _block(title: str, text: str) -> str:
    return f"[{title}]\n{text}\n\n" if text else ""


def _lines(*texts: str) -> str:
    return "\n".join(filter(None, texts))


def _response(response: Mapping[str, Any], words: Mapping[str, str], media: MediaMarks) -> str:
    text = _lines(str(response["text"]), media.marks(response.get("media", ())))
    if prompt := response.get("prompt"):
        return f"{words['question']}: {prompt}\n{words['answer']}: {text}"
    return text


# By the names of the bands in bands.txt, which defines them for somebody else's answers.
OWN_DEFINITIONS = {
    "uncertain": "Close to a guess. You could as well have chosen the other one.",
    "moderately_confident": "You lean to your choice, but the other one could easily be yours too.",
    "quite_confident": "You prefer your choice, but there is real room for doubt.",
    "confident": "You would be surprised to choose the other one on another day.",
    "highly_confident": "You can hardly imagine that you would ever choose the other one.",
}


@cache
def own_bands() -> tuple[Band, ...]:
    """The bands of certainty about one's own answer."""
    return tuple(replace(band, definition=OWN_DEFINITIONS[band.slug]) for band in BANDS)


@cache
def own_wording(task: str, setting: str) -> Wording:
    """The question to people who answer for themselves; no model is asked it."""
    from studies.models import Task

    is_survey = task == Task.SURVEY_ANSWER
    question = "Which answer would you give?" if is_survey else "Which response do you prefer?"
    return Wording(question, "", digest([question, setting, OWN_DEFINITIONS]))


def wording_in(study: Study, task: str, setting: str) -> Wording:
    """The wording of `task` for the annotators of a study."""
    return own_wording(task, setting) if study.asks_own_answers else wording(task, setting)
