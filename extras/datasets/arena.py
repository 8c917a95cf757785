"""Chatbot Arena and files like it: which of two models a person preferred in a conversation."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from extras.datasets.pairs import (
    REMEDY,
    has_other_media,
    is_usable,
    language_code,
    messages_of,
    pair,
    text_of,
    transcript,
)
from studies.importers.files.faults import ImportRow
from studies.importers.files.lines import has_too_many_values
from studies.importers.sets.data_set import (
    ALL,
    DataSet,
    Files,
    Option,
    Raw,
    Role,
    Tally,
    chosen,
    csv_rows,
    for_id,
    json_rows,
)
from studies.importers.sets.prism import family
from studies.texts.normalisation import digest, storable

_WINNERS = {
    "model_a": "r1",
    "model_b": "r2",
    "tie": "tie",
    "tie (bothbad)": "tie",
    "both_bad": "tie",
}
_BOTH_BAD = ("tie (bothbad)", "both_bad")
_FLAGS = {"winner_model_a": "model_a", "winner_model_b": "model_b", "winner_tie": "tie"}
_PERSON = {
    "id": "asker",
    "features": [],
    "text": "The person wrote the message and compared the answers of two models to it.",
}
Conversations = tuple[list[tuple[str, str]], list[tuple[str, str]]]


def _read(files: Files, options: Mapping[str, Any], seed: int, tally: Tally) -> Iterator[Raw]:
    battles, arrays = files.all("battles"), files.all("arrays")
    if not battles and not arrays:
        raise files.missing("battles")
    for part in battles:
        for line, raw in json_rows(part, tally):
            row = ImportRow(line, part.name)
            if any(has_other_media(raw, name) for name in ("conversation_a", "conversation_b")):
                tally.drop("conversations with pictures")
                continue
            both = [messages_of(row, raw, name) for name in ("conversation_a", "conversation_b")]
            conversations = None if None in both else (both[0] or [], both[1] or [])
            yield from _made(row, raw, conversations, options, tally)
    for part in arrays:
        for line, cells in csv_rows(part, tally):
            row = ImportRow(line, part.name)
            named = [winner for flag, winner in _FLAGS.items() if cells.get(flag) == "1"]
            if len(named) != 1:
                row.fault("winner", "no winner", "one of the winner columns must be 1.", REMEDY)
            raw = {**cells, "winner": named[0] if named else None}
            yield from _made(row, raw, _conversations(row, cells), options, tally)


def _conversations(row: ImportRow, cells: Mapping[str, str]) -> Conversations | None:
    """The conversations of a row that stores them as three lists of texts."""
    lists = []
    for name in ("prompt", "response_a", "response_b"):
        cell = cells.get(name) or ""
        try:
            texts = None if has_too_many_values(cell) else json.loads(cell)
        except (ValueError, RecursionError):
            texts = None
        if not isinstance(texts, list):
            row.fault(name, "not a list", f"{name} is not a list of texts.", REMEDY)
            return None
        lists.append([storable(text) if isinstance(text, str) else "" for text in texts])
    asked, *answers = lists
    if any(len(texts_of_model) != len(asked) for texts_of_model in answers):
        row.fault("prompt", "not a conversation", "the lists have different lengths.", REMEDY)
        return None
    first, second = (
        [
            message
            for question, answer in zip(asked, texts_of_model, strict=True)
            for message in (("user", question), ("assistant", answer))
        ]
        for texts_of_model in answers
    )
    return first, second


def _made(
    row: ImportRow,
    raw: Mapping[str, Any],
    conversations: Conversations | None,
    options: Mapping[str, Any],
    tally: Tally,
) -> Iterator[Raw]:
    winner = row.one_of(raw, "winner", tuple(_WINNERS))
    models = [text_of(row, raw, name) for name in ("model_a", "model_b")]
    if not winner and not row.faults:
        row.fault("winner", "no winner", "winner is missing.", REMEDY)
    tally.faults += row.faults
    if row.faults or conversations is None:
        return
    label = _WINNERS[winner]
    tally.ties += label == "tie"
    first, second = conversations
    if label == "tie" and not options["include_ties"]:
        tally.drop("ties")
    elif not chosen(options["languages"], str(raw.get("language") or "")):
        tally.drop("conversations in another language")
    elif len(first) < 2 or first[0][0] != "user" or first[0] != second[:1][0]:
        tally.drop("conversations that do not begin with the same message")
    elif options["turns"] == "single" and (len(first), len(second)) != (2, 2):
        tally.drop("conversations with several turns")
    else:
        texts = [_response(side) for side in (first, second)]
        if is_usable(first[0][1], "", texts, tally):
            item = pair(
                key=_key(raw, first, second),
                first={"text": texts[0], "generated_by": _maker(models[0])},
                second={"text": texts[1], "generated_by": _maker(models[1])},
                label=label,
                source="self_report",
                persona=_PERSON,
                question=first[0][1],
                language=language_code(raw.get("language")),
                metadata={"both_bad": winner in _BOTH_BAD, "turns": len(first) // 2},
            )
            yield row.file, row.line, item


def _response(messages: list[tuple[str, str]]) -> str:
    """A model's answer; with several turns, everything after the first message."""
    return messages[1][1] if len(messages) == 2 else transcript(messages[1:])


def _key(raw: Mapping[str, Any], *sides: list[tuple[str, str]]) -> str:
    name = raw.get("question_id") or raw.get("id") or digest([list(side) for side in sides])[:16]
    return f"arena-{for_id(str(name))}"[:120]


def _maker(model: str) -> dict[str, Any]:
    return {"kind": "model", "name": model, "family": family(model)}


ARENA = DataSet(
    name="arena",
    title="Chatbot Arena",
    about="Messages of people, the answers of two models, and which one the person preferred.",
    task="preference",
    files="JSON Lines, Parquet or CSV with model_a, model_b, the conversations and the winner",
    source={
        "name": "Chatbot Arena",
        "url": "https://huggingface.co/datasets/lmsys/chatbot_arena_conversations",
        "licence": "messages of people CC BY 4.0; outputs of models CC BY-NC 4.0, and each "
        "model's own terms; other files in this format have their own licences",
        "licence_url": "https://creativecommons.org/licenses/by-nc/4.0/",
        "citation": "Zheng et al. 2023, Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena",
        "redistribution": "non-commercial",
    },
    roles=(
        Role(
            "battles",
            ("model_a", "model_b", "winner", "conversation_a", "conversation_b"),
            "a row for each comparison, with its conversations",
            is_mark=True,
        ),
        Role(
            "arrays",
            ("model_a", "model_b", "prompt", "response_a", "response_b", *_FLAGS),
            "a row for each comparison, with lists of messages (train.csv)",
            is_mark=True,
        ),
    ),
    options=(
        Option("turns", "single", "Conversations that become items.", ("single", "all")),
        Option("include_ties", False, "Keep ties as items with the own answer “tie”."),
        Option("languages", ALL, "Languages, named as in the file."),
    ),
    read=_read,
)
