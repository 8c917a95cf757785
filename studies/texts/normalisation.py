"""Texts of items: normal form, hashes, time to read, and whether they may be passed on."""

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

# All control characters below the space except TAB and LF, DEL, and the C1 block.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# These, and halves of surrogate pairs, which no UTF-8 file or database can store.
UNSTORABLE = re.compile(f"{CONTROL.pattern[:-1]}\ud800-\udfff]")
HALF = re.compile("[\ud800-\udfff]")
_NEWLINE = re.compile(r"\r\n?")
# Characters that nobody sees: joiners, direction marks, fillers, selectors and tags. Written as
# escapes, because editors hide them.
INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e01ef]"
)
# Where joiners decide how letters are written, and where they make one sign of several emoji.
_JOINS = (
    "\u0600-\u1cff\u2190-\u2bff\ufe0f\ua840-\uabff\ufb50-\ufdff\ufe70-\ufefc"
    "\U00010a00-\U00011fff\U0001e900-\U0001faff"
)
_WITHOUT_SPACES = "\u0e00-\u109f\u1780-\u17ff\u1950-\u1aff\ua9e0-\ua9ff\uaa60-\uaa7f"
_FLAG = "(\U0001f3f4[\U000e0020-\U000e007e]{1,6}\U000e007f)"
# Those that mean nothing in any text; the first group is kept.
_NOISE = re.compile(
    f"{_FLAG}|(?<![{_JOINS}])[\u200c\u200d]|(?<![{_WITHOUT_SPACES}])\u200b|(?<![\u1800-\u18af])\u180e"
    "|[\u00ad\u034f\u202d\u202e\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    "\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
)
# Those that matter only next to letters that are written from right to left.
_DIRECTION = re.compile("[\u061c\u200e\u200f\u202a-\u202c\u2066-\u2069]")


def normalise(text: str) -> str:
    """`text` in NFC, with LF as the only line ending, without invisible characters.

    Those that decide how a text is written stay: joiners in emoji and in Persian or Indic words,
    breaks in Thai, direction marks in a text with Arabic or Hebrew letters.
    """
    text = _NEWLINE.sub("\n", text)
    if text.isascii():
        return text
    if INVISIBLE.search(text):
        text = _NOISE.sub(r"\1", text)
        if not _RIGHT_TO_LEFT.search(text):
            text = _DIRECTION.sub("", text)
    return unicodedata.normalize("NFC", text)


def plain(text: str) -> str:
    """`text` without characters that a database rejects, with LF as the only line ending."""
    text = _NEWLINE.sub("\n", text.replace("\x00", ""))
    return HALF.sub("\ufffd", text)


def storable(text: str) -> str:
    """`text` normalised and trimmed, without the characters that no item can contain."""
    return UNSTORABLE.sub("", normalise(text)).strip()


def fold(text: str) -> str:
    """`text` with white space and case normalised, to compare two responses."""
    return " ".join(text.split()).casefold()


def digest(value: Any) -> str:
    """SHA-256 of a JSON value, independent of the order of its keys."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def canonical(value: Any) -> str:
    """A JSON value as text, independent of the order of its keys."""
    return _CANONICAL.encode(value)


_CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))


# From the most open value to the strictest.
REDISTRIBUTION = ("allowed", "unknown", "non-commercial", "forbidden")


_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U0001e800-\U0001efff]")


def direction_of(*texts: str) -> str:
    """The direction in which texts that belong together are written, for all of them: ltr or rtl.

    Most letters decide: a text that begins with a foreign name is written like the others.
    """
    letters = sum(len(_RIGHT_TO_LEFT.findall(text)) for text in texts)
    return "rtl" if letters and 2 * letters > sum(map(str.isalpha, "".join(texts))) else "ltr"


# About three screens of a phone. A longer context would push the responses out of reach.
LONG = 2_000
START = 600
# Adults read English non-fiction silently at 238 words a minute on average, and most of them at up
# to 300 (Brysbaert, 2019, https://doi.org/10.1016/j.jml.2019.104047).
WORDS_PER_MINUTE = 238
FAST_WORDS_PER_MINUTE = 300
# Such texts have 4.6 letters a word (Brysbaert, Sui, Dirix & Duyck, 2021,
# https://doi.org/10.1177/17470218211017100); a space follows each.
_CHARACTERS_PER_WORD = 5.6
# Characters a minute that people read aloud of the same text in their own language (Trauzettel-
# Klosinski & Dietz, 2012, https://doi.org/10.1167/iovs.11-8284). Only their ratio to English is
# used; a language that is not here counts like English.
_ENGLISH = 987
_ALOUD: Mapping[str, int] = {
    "ar": 612,
    "de": 920,
    "en": _ENGLISH,
    "es": 1025,
    "fi": 1078,
    "fr": 998,
    "he": 833,
    "it": 950,
    "ja": 357,
    "nl": 978,
    "pl": 916,
    "pt": 913,
    "ru": 986,
    "sv": 917,
    "tr": 1054,
    "zh": 255,
}
# To choose and to state a certainty after reading. Our convention, not measured.
JUDGING_SECONDS = 10


@dataclass(frozen=True)
class ReadingTime:
    """A long text on a page: what is shown before it is opened, and its reading time."""

    start: str
    minutes: int


def reading_of(text: str, language: str = "en") -> ReadingTime | None:
    """How a text is folded; None if it is short enough to be shown whole."""
    if len(text) <= LONG:
        return None
    # Ends with a whole word, unless the language has no spaces between them.
    start = text[:START].rstrip()
    cut = start.rpartition(" ")[0]
    start = cut if len(cut) > START // 2 else start
    return ReadingTime(f"{start} …", math.ceil(seconds_to_read(len(text), language) / 60))


def shown_at_once(text: str) -> int:
    """The letters of a text that a page shows before anything is opened."""
    return len(text) if len(text) <= LONG else START


def seconds_to_read(
    characters: int, language: str = "en", *, words_per_minute: int = WORDS_PER_MINUTE
) -> float:
    """How long people need to read this many characters, spaces included, in a language."""
    code = language.replace("_", "-").partition("-")[0].casefold()
    ratio = _ALOUD.get(code, _ENGLISH) / _ENGLISH
    return characters / (words_per_minute * _CHARACTERS_PER_WORD * ratio) * 60


class Effort(NamedTuple):
    """The effort of an item: texts to read, sounds to hear, and answers to give."""

    characters: int
    language: str
    sound_seconds: float = 0
    answers: int = 1

    @classmethod
    def of(
        cls,
        texts: Iterable[str],
        language: str,
        *,
        media: Iterable[Mapping[str, Any]] = (),
        has_advice: bool = False,
    ) -> "Effort":
        """The effort of everything on a page. A picture adds nothing."""
        heard = sum(float(medium.get("seconds") or 0) for medium in media)
        return cls(sum(map(len, texts)), language, heard, 2 if has_advice else 1)

    def seconds(self, words_per_minute: int = WORDS_PER_MINUTE) -> float:
        reading = seconds_to_read(self.characters, self.language, words_per_minute=words_per_minute)
        return reading + self.sound_seconds + JUDGING_SECONDS * self.answers
