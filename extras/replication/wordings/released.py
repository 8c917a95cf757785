"""Prompts of a released result file with the texts that they show, as the file spells them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from extras.replication.wordings.recovery import PromptRow
from studies.importers.files.bundle import File
from studies.importers.files.faults import Fault, Refused
from studies.importers.files.readers import BadLine, json_lines, read_json_lines
from studies.importers.items.personalized_judge import (
    ReleasedRow,
    looks_released,
    parse_released,
)

# The importer reads profile and pairs at the same places, but trims them.
_PROFILE = re.compile(r"\[User Profile\]\n([^\n]*)")
_PAIRS = re.compile(
    r"\[Question-Answer Pair A\]\n(?P<a>Question:.*?\nAnswer:.*?)"
    r"\[Question-Answer Pair B\]\n(?P<b>Question:.*?\nAnswer:.*)\[Answer\]",
    re.DOTALL,
)
_BLANKS = {" ", "\n", "\t", "\r"}


@dataclass(frozen=True)
class ReleasedPrompt:
    """A row of the file: what the importer reads from it, and its prompt with the exact texts."""

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
            "the rows of this file carry no prompts with the texts that they show.",
            "Use a result file as it was released, with prompt, user_info, ground_truth and "
            "answer in every row.",
            file=file.name,
        )
        raise Refused([fault])
    released = parse_released(file)
    raw = [found for found in read_json_lines(file) if not isinstance(found, BadLine)]
    texts = [_texts(row) for _, row in raw]
    if any("pair_a" in each for each in texts):
        _end_pairs(texts)
    return [
        ReleasedPrompt(row, PromptRow(line, str(fields["prompt"]), found))
        for row, (line, fields), found in zip(released, raw, texts, strict=True)
    ]


def _texts(raw: dict[str, Any]) -> dict[str, str]:
    """The texts of a row, by slot."""
    prompt, found = str(raw["prompt"]), {}
    if (profile := raw["user_info"]) and profile in prompt:
        found["persona"] = profile
    elif match := _PROFILE.search(prompt):
        found["persona"] = match[1]
    if "asst_A" in raw:
        found |= {"response_a": raw["asst_A"], "response_b": raw["asst_B"]}
        for slot, field in (("question_text", "question"), ("context_text", "article")):
            if isinstance(raw.get(field), str):
                found[slot] = raw[field]
    elif pairs := _PAIRS.search(prompt):
        found |= {"pair_a": pairs["a"], "pair_b": pairs["b"]}
    return found


def _end_pairs(texts: Sequence[dict[str, str]]) -> None:
    """Name the pairs as responses, without the white space that ends all pairs of a side.

    What more a row has at that end is part of its text.
    """
    for side in "ab":
        ends = [each[f"pair_{side}"][::-1] for each in texts]
        shared = 0
        while (last := {end[shared : shared + 1] for end in ends}) <= _BLANKS and len(last) == 1:
            shared += 1
        for each in texts:
            pair = each.pop(f"pair_{side}")
            each[f"response_{side}"] = pair[: len(pair) - shared]
