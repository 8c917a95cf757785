"""The fields of one raw item, each read and checked by the rules of the item format."""

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from studies.importers.files.faults import LIMITS, ImportRow
from studies.importers.items.records import PersonaRecord
from studies.media import CAPTIONS, BadMedia, Media, is_film
from studies.models import Item, Side, Task
from studies.texts.normalisation import INVISIBLE, UNSTORABLE, fold, normalise

MOST = 4
_DESCRIPTION = 4_000  # characters; a transcript can be long
_REASON = 300
_KEYS = ("file", "description", "no_description", "captions")
# How many responses a set has of which an item is a pair, and by which rules pairs are made.
SET_SIZES = range(3, 6)
PAIRED_BY = ("all", "chosen_vs_rest", "chosen_vs_random")
_BROKEN = "option_set is not in the form that this program writes."
_REMEDY = 'Write media: [{"file": "pictures/1.png", "description": "…"}].'


def read_media(row: ImportRow, raw: Any, name: str, media: Media) -> list[dict[str, Any]]:
    """The files that a response or the question shows; `name` says which one in a fault."""
    if raw is None or raw == [] or raw == "":
        return []
    if not isinstance(raw, list) or not all(isinstance(file, dict) for file in raw):
        row.fault(name, "media is not a list", f"{name} must be a list of objects.", _REMEDY)
        return []
    if len(raw) > MOST:
        row.fault(name, "too many files", f"{name} names {len(raw)} files; the limit is {MOST}.")
        return []
    files = [_one(row, file, name, media) for file in raw]
    kept = [file for file in files if file]
    if len({file["sha256"] for file in kept}) < len(kept):
        row.fault(name, "same file twice", f"{name} names the same file twice.", "Drop one.")
    return kept


def shown_of(response: Mapping[str, Any]) -> str:
    """What people see of a response, as one text, to find identical responses.

    Capitals and punctuation count, because an item may be about them.
    """
    files = [file["sha256"] for file in response.get("media", ())]
    return "\n".join([response["text"], *files])


def _one(row: ImportRow, raw: Mapping[str, Any], name: str, media: Media) -> dict[str, Any]:
    if unknown := [key for key in raw if key not in _KEYS]:
        row.fault(
            name,
            "unknown key of media",
            f"{name} has the key “{unknown[0]}”, which is not known.",
            f"Use {', '.join(_KEYS)}.",
        )
    file = row.text(raw, "file", name=f"{name}.file", limit=500)
    words = {
        key: row.text(raw, key, name=f"{name}.{key}", limit=limit)
        for key, limit in (("description", _DESCRIPTION), ("no_description", _REASON))
    }
    if not file:
        row.fault(name, "media without a file", f"{name} names no file.", _REMEDY)
        return {}
    if not (facts := _facts(row, file, name, media)):
        return {}
    if facts["type"] == CAPTIONS:
        row.fault(
            name,
            "file cannot be used",
            f"{name}: {file} has captions.",
            "Write its name as captions of the film.",
        )
    if not any(words.values()):
        row.fault(
            name,
            "media without a description",
            f"{name}: {file} has no description, so people who cannot see or hear it get nothing.",
            "Write what a picture or film shows, or the words of a sound, as description. If that "
            "would answer the question, write the reason as no_description.",
        )
    captions = _captions(row, raw, name, facts, media)
    return {**facts, **{key: text for key, text in words.items() if text}, **captions}


def _facts(row: ImportRow, file: str, name: str, media: Media) -> Mapping[str, Any]:
    """The facts of a file; nothing if it is faulty."""
    try:
        return media.facts(file)
    except BadMedia as error:
        row.fault(name, "file cannot be used", f"{name}: {file} {error.message}", error.remedy)
        return {}


def _captions(
    row: ImportRow, raw: Mapping[str, Any], name: str, film: Mapping[str, Any], media: Media
) -> dict[str, Any]:
    """The captions of a film, under their key; nothing if there are none."""
    file = row.text(raw, "captions", name=f"{name}.captions", limit=500)
    if not file:
        if film.get("has_sound"):
            row.without_captions.append(row.text(raw, "file", limit=500))
        return {}
    facts = _facts(row, file, name, media)
    if facts and (facts["type"] != CAPTIONS or not is_film(film["type"])):
        row.fault(
            name,
            "captions cannot be used",
            f"{name}: {file} cannot be shown as captions.",
            "Name a WebVTT file (.vtt), and only with a film.",
        )
    return {"captions": dict(facts)}


KINDS = ("model", "human", "survey_option", "unknown")
SOURCES = ("self_report", "derived", "simulated", "unknown")
ADVICE_KINDS = ("advice", "debate", "consultancy")
_LABELS, _SIDES = tuple(Item.FirstPerson.values), tuple(Side.values)


def normalised(row: ImportRow, raw: dict[str, Any]) -> Any:
    """`raw` with every text normalised; a text that cannot be stored is a fault."""
    return raw if _is_normal(raw) else _normalised(row, raw, "")


def _is_normal(raw: dict[str, Any]) -> bool:
    """Whether no text in `raw` needs a change, checked once on its JSON.

    JSON escapes some harmless characters too, so the answer may be no without need.
    """
    try:
        text = _ENCODER.encode(raw)
    except ValueError:
        return False
    if "\\" in text and _ESCAPED.search(text):
        return False
    if text.isascii():
        return "\x7f" not in text
    return (
        unicodedata.is_normalized("NFC", text)
        and not UNSTORABLE.search(text)
        and not INVISIBLE.search(text)
    )


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_ESCAPED = re.compile(r"\\[ubfr]")


def _normalised(row: ImportRow, value: Any, path: str) -> Any:
    if isinstance(value, dict):
        return {
            _normalised(row, name, path): _normalised(row, part, f"{path}.{name}" if path else name)
            for name, part in value.items()
        }
    if isinstance(value, list):
        return [_normalised(row, part, path) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        row.fault(
            path, "number is too large", f"{path} is too large a number.", "Write it as text."
        )
    if not isinstance(value, str):
        return value
    text = normalise(value)
    if bad := UNSTORABLE.search(text):
        row.fault(
            path,
            "control character",
            f"{path} has the control character U+{ord(bad[0]):04X} at position {bad.start() + 1}.",
            "Remove it.",
        )
    return text


def asks_without_question(task: str, context: str, responses: list[dict[str, Any]]) -> bool:
    """Whether each response answers its own prompt, or both were written about the context."""
    return all(response["prompt"] for response in responses) or (
        task == Task.AUTHORSHIP and bool(context)
    )


def check_responses_differ(row: ImportRow, responses: list[dict[str, Any]]) -> None:
    first, second = responses
    if (first["text"] or first.get("media")) and shown_of(first) == shown_of(second):
        row.fault(
            "responses",
            "identical responses",
            f"both responses have the same {'text' if first['text'] else 'files'}.",
            "Remove the item; nobody can choose between equal texts.",
        )


# Marks items that are people's own answers. The other answers are their history, from which every
# page and prompt leaves out the item itself.
OWN_ANSWER = "own_answer"


def check_history(row: ImportRow, persona: PersonaRecord, question: str, *, metadata: Any) -> None:
    if isinstance(metadata, dict) and OWN_ANSWER in metadata:
        return
    for number, entry in enumerate(persona.history, start=1):
        if question and fold(entry["prompt"]) == fold(question):
            row.fault(
                "persona.history",
                "history repeats the item",
                f"history entry {number} repeats this item's question.",
                "Remove the entry.",
            )


def read_generated_by(row: ImportRow, key: str, raw: Any) -> dict[str, Any] | None:
    if raw is None:
        return None
    if not isinstance(raw, dict):
        row.fault(
            "generated_by", "generated_by is not an object", "generated_by must be an object."
        )
        return None
    kind = raw.get("kind") or "unknown"
    if kind not in KINDS:
        row.fault(
            "generated_by.kind",
            "unknown generator",
            f"generated_by.kind “{kind}” is not known.",
            f"Use one of: {', '.join(KINDS)}.",
            value=kind,
        )
    words = {
        name: row.text(raw, name, name=f"generated_by.{name}", limit=200) or None
        for name in ("name", "provider", "family")
    }
    if kind == "model" and not words["name"]:
        row.fault(
            "generated_by.name",
            "model without a name",
            f"{key} was generated by a model but has no model name.",
        )
    return {"kind": kind, **words}


def read_response(row: ImportRow, key: str, raw: Mapping[str, Any], media: Media) -> dict[str, Any]:
    """One response: its text, files, the question that it answers, its maker and its score."""
    text = row.text(raw, "text", name=f"response {key}", limit=LIMITS["response"])
    files = read_media(row, raw.get("media"), f"media of {key}", media)
    is_text = not isinstance(raw.get("text"), (int, float, list, dict))
    if not text and not raw.get("media") and is_text:
        row.fault("responses", "response is empty", f"response {key} is empty.")
    prompt = row.text(raw, "prompt", name=f"prompt of {key}", limit=LIMITS["question"])
    return {
        "text": text,
        "prompt": prompt or None,
        "generated_by": read_generated_by(row, key, raw.get("generated_by")),
        "score": row.number(raw, "score"),
        **({"media": files} if files else {}),
    }


def read_first_person(
    row: ImportRow, raw: dict[str, Any], responses: list[dict[str, Any]]
) -> tuple[str, str, float | None, float | None]:
    """The persona's own answer, its source, its confidence, and its margin."""
    first = raw.get("first_person")
    if first is None:
        first = {}
    if not isinstance(first, dict):
        row.fault(
            "first_person", "first_person is not an object", "first_person must be an object."
        )
        first = {}
    label = first.get("label") or ""
    if label not in _LABELS:
        row.fault(
            "first_person.label",
            "label is not allowed",
            f"label “{label}” is not allowed; use r1, r2, tie or leave empty.",
            "Sides A and B are decided when the item is shown.",
            value=label,
        )
    elif (tie := first.get("tie")) is not None and tie is not (label == "tie"):
        stated = str(tie).lower()
        row.fault(
            "first_person.tie",
            "tie and label disagree",
            f"tie is {stated} but label is {label or 'empty'}.",
        )
    source = row.one_of(first, "source", SOURCES, default="unknown", name="first_person.source")
    confidence = row.number(first, "label_confidence")
    margin = row.number(first, "margin")
    if margin is not None and margin < 0:
        row.fault("first_person.margin", "margin is negative", "margin must not be negative.")
    scores = [response["score"] for response in responses if response["score"] is not None]
    if margin is not None and len(scores) == 2 and margin >= 0:
        difference = abs(scores[0] - scores[1])
        if abs(difference - margin) > 1e-6:
            row.fault(
                "first_person.margin",
                "margin and scores disagree",
                f"margin {margin:g} does not match the scores ({difference:g}).",
            )
    return (
        str(label),
        source,
        None if confidence is None else float(confidence),
        None if margin is None else float(margin),
    )


def read_order(row: ImportRow, raw: Any) -> tuple[bool, str]:
    """Whether the sides are shuffled, and otherwise which response comes first."""
    raw = {} if raw is None else raw
    if not isinstance(raw, dict):
        row.fault("order", "order is not an object", "order must be an object.")
        return True, ""
    shuffle = raw.get("shuffle")
    shuffle = True if shuffle is None else shuffle
    if not isinstance(shuffle, bool):
        row.fault("order.shuffle", "shuffle is not true or false", "shuffle must be true or false.")
        return True, ""
    fixed_first = raw.get("fixed_first") or ""
    if fixed_first not in ("", *_SIDES):
        row.fault(
            "order.fixed_first",
            "fixed_first is not allowed",
            f"fixed_first “{fixed_first}” is not allowed.",
            "Use r1 or r2.",
            value=fixed_first,
        )
    elif fixed_first and shuffle:
        row.fault(
            "order.fixed_first",
            "fixed_first with shuffle",
            "fixed_first needs shuffle to be false.",
        )
    return shuffle, "" if shuffle else str(fixed_first or Side.R1.value)


def read_advice(row: ImportRow, raw: Any, split: str) -> dict[str, str]:
    """What is shown after the first answer: advice, a debate or a consultancy; {} for nothing."""
    if raw is None or raw == {} or raw == "":
        return {}
    if not isinstance(raw, dict):
        row.fault("advice", "advice is not an object", "advice must be an object.")
        return {}
    text = row.text(raw, "text", name="advice.text", limit=LIMITS["context"])
    if not text:
        row.fault("advice.text", "advice without text", "advice has no text.", "Give it a text.")
    if split not in (Item.Split.MAIN, Item.Split.LEFT_OUT):
        row.fault(
            "advice",
            "advice outside main items",
            f"advice is only for main items; this one is {split}.",
            "Leave advice out.",
        )
    kind = row.one_of(raw, "kind", ADVICE_KINDS, default="advice", name="advice.kind")
    title = row.text(raw, "title", name="advice.title", limit=300)
    favors = row.one_of(raw, "favors", _SIDES, name="advice.favors")
    return {"kind": kind, "title": title, "text": text, "favors": favors}


def read_attention_check(row: ImportRow, raw: Any, split: str, question: str) -> tuple[str, str]:
    """The correct answer of an attention check, and the instruction that states it."""
    if split != Item.Split.ATTENTION_CHECK:
        return "", ""
    raw = raw if isinstance(raw, dict) else {}
    correct = raw.get("correct")
    if correct not in _SIDES:
        row.fault(
            "check.correct",
            "check without answer",
            "an attention check needs the correct answer.",
            'Give check: {"correct": "r1" or "r2", "instruction": …}.',
        )
        correct = ""
    instruction = row.text(raw, "instruction", name="check.instruction", limit=LIMITS["question"])
    if not instruction or instruction not in question:
        row.fault(
            "check.instruction",
            "check without instruction",
            "the instruction of an attention check must be inside the question.",
            "Write it there word for word, so that nobody has to guess.",
        )
    return str(correct), instruction


def read_warnings(row: ImportRow, raw: Any) -> list[str]:
    raw = [] if raw is None else raw
    if not isinstance(raw, list) or not all(isinstance(flag, str) for flag in raw):
        row.fault("warnings", "warnings are not a list", "warnings must be a list of texts.")
        return []
    return [flag.strip() for flag in raw if flag.strip()]


def read_option_set(row: ImportRow, raw: Any, media: Media) -> dict[str, Any]:
    """The set of options that an item belongs to, checked; {} for an item without one."""
    if raw is None or raw == {} or raw == "":
        return {}
    faults = len(row.faults)
    option_set = _option_set(row, raw, media)
    if option_set is None or len(row.faults) > faults:
        row.fault("option_set", "broken option set", _BROKEN, "Leave it out, or export it again.")
        return {}
    return option_set


def _option_set(row: ImportRow, raw: Any, media: Media) -> dict[str, Any] | None:
    if not isinstance(raw, dict) or not isinstance(raw.get("place"), dict):
        return None
    key, rule = raw.get("id"), raw.get("rule")
    others, place = raw.get("others"), raw["place"]
    if not (isinstance(key, str) and 1 <= len(key) <= 120 and rule in PAIRED_BY):
        return None
    if not isinstance(others, list) or not all(isinstance(other, dict) for other in others):
        return None
    places = [place.get("r1"), place.get("r2"), *(other.get("place") for other in others)]
    count = len(places)
    if count not in SET_SIZES or not all(type(place) is int for place in places):
        return None
    chosen = raw.get("chosen")
    if sorted(places) != list(range(1, count + 1)) or chosen not in (None, *places):
        return None
    kept = [
        {"place": other["place"], **of_set(read_response(row, f"r{other['place']}", other, media))}
        for other in sorted(others, key=lambda other: int(other["place"]))
    ]
    if not all(other["text"] or other.get("media") for other in kept):
        return None
    return {
        "id": key,
        "rule": rule,
        "place": {"r1": place["r1"], "r2": place["r2"]},
        "chosen": chosen,
        "others": kept,
    }


def of_set(response: Mapping[str, Any]) -> dict[str, Any]:
    """What an item stores of another response of its set."""
    names = ("text", "prompt", "generated_by", "media")
    return {name: response[name] for name in names if name in response}
