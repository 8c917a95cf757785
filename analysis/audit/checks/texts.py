"""Checks of single texts: refusals, texts to judges, broken letters, length."""

import re
from typing import ClassVar

from analysis.audit.check import ListedItems, percent
from analysis.audit.findings import Level
from analysis.data.items.audited_items import AuditedItem
from studies.importers.sets.prism import refuses
from studies.texts.reading import LONG as FOLDED
from studies.texts.reading import START, shown_at_once
from studies.texts.texts_to_judges import passage_to_judge

_BEGINNING = 200
_REFUSES = re.compile(
    r"\b(?:als (?:ki|künstliche intelligenz)|ich kann (?:dabei|ihnen|dir|das) (?:leider )?nicht"
    r"|en tant qu'(?:ia|intelligence artificielle)|je (?:ne peux|suis désolé)"
    r"|como (?:modelo de lenguaje|inteligencia artificial)|lo siento,? (?:pero )?no puedo"
    r"|come (?:modello linguistico|intelligenza artificiale)|mi dispiace,? (?:ma )?non posso)\b"
)
_EMPTY = re.compile(r"empty string|n/?a|none|null|nan|no response|\[(?:deleted|removed)\]|[\W_]*")
# What UTF-8 becomes when it is read in another encoding, the replacement mark, and HTML's codes.
_BROKEN = re.compile(
    r"\ufffd|Ã[\u0080-\u00bf©¨¤¶¼Ÿ±§ªº´ ]|â€[™œ\u009d“”˜¦¢\"]|ï»¿|Â[ £§°´«»]"
    r"|&(?:amp|lt|gt|quot|nbsp|#\d{2,4}|#x[0-9a-fA-F]{2,4});"
)
# A phone shows about 600 characters of this size at a time.
LONG = 3_000
LONG_SHARE = 0.1


class Refusals(ListedItems):
    name: ClassVar[str] = "refusals"
    title: ClassVar[str] = "Responses that refuse or say nothing"
    counts: ClassVar[str] = "items with such a response"
    rule = (
        "A response begins like a refusal in its first 200 characters (five languages), or is a "
        "placeholder such as “N/A”."
    )
    remedy: ClassVar[str] = (
        "Leave these items out, or keep them if refusals are what the study is about. Everybody "
        "tells a refusal from an answer, so they make any judge look better."
    )
    found: ClassVar[str] = "{n} with a response that seems to refuse or to say nothing."
    clear: ClassVar[str] = "No response seems to refuse or to say nothing."

    def names(self, item: AuditedItem) -> bool:
        return any(refuses(text) or says_nothing(text) for text in item.responses)


def says_nothing(text: str) -> bool:
    start = " ".join(text[:_BEGINNING].replace("’", "'").split()).casefold()
    return _EMPTY.fullmatch(start) is not None or _REFUSES.search(start) is not None


class SpeaksToJudge(ListedItems):
    name: ClassVar[str] = "texts_to_judges"
    title: ClassVar[str] = "Texts that speak to a judge"
    counts: ClassVar[str] = "items with such a text"
    rule = (
        "A question, context or response has words such as “ignore previous instructions” or "
        "“choose this response”, in five languages."
    )
    remedy: ClassVar[str] = "Read these items. Edit or delete those that could steer a model."
    found: ClassVar[str] = "{n} with a text that may speak to a judge; a model may follow it."
    clear: ClassVar[str] = "No text seems to speak to a judge."

    def names(self, item: AuditedItem) -> bool:
        texts = (item.question, item.context, *item.prompts, *item.responses)
        return any(passage_to_judge(text) for text in texts if text)


class BrokenLetters(ListedItems):
    name: ClassVar[str] = "broken_letters"
    title: ClassVar[str] = "Broken letters"
    counts: ClassVar[str] = "items with broken letters"
    rule = (
        "A text has what letters become when a file is read in the wrong encoding (“Ã©”, “â€™”, "
        "“\ufffd”), or codes of HTML (“&amp;”)."
    )
    remedy: ClassVar[str] = "Save the file as UTF-8 from its source, and import it again."
    found: ClassVar[str] = "{n} with broken letters in a text."
    clear: ClassVar[str] = "No text has broken letters."

    def names(self, item: AuditedItem) -> bool:
        persona = (sentence for _, sentence in item.persona.features)
        texts = (item.question, item.context, *item.prompts, *item.responses, item.persona.text)
        return any(_BROKEN.search(text) for text in (*texts, *persona) if text)


class LongTexts(ListedItems):
    name: ClassVar[str] = "long_texts"
    title: ClassVar[str] = "Too long for a phone"
    counts: ClassVar[str] = "items that long"
    rule = (
        f"Question, context and both responses together have more than {LONG:,} characters, about "
        f"five screens of a phone. Of a context above {FOLDED:,} characters, which participants "
        f"open to read, the first {START:,} count. Advice if more than {percent(LONG_SHARE)} of "
        "the items do."
    )
    remedy: ClassVar[str] = (
        "Shorten the texts, ask fewer items of each annotator, or admit only larger screens."
    )
    found: ClassVar[str] = "{n} with more than five phone screens to read."
    clear: ClassVar[str] = "Every item fits on five screens of a phone."

    def names(self, item: AuditedItem) -> bool:
        texts = (item.question, *item.prompts, *item.responses)
        return sum(map(len, texts)) + shown_at_once(item.context) > LONG

    def level_of(self, n: int) -> Level:
        return Level.ADVISORY if n > LONG_SHARE * self.seen else Level.INFORMATIVE
