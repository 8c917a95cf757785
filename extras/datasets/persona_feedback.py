"""PersonaFeedback (Tao et al. 2025): which of two responses fits a described person better."""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from extras.datasets.pairs import REMEDY, is_usable, text_of
from studies.importers.files.faults import ImportRow
from studies.importers.sets.data_set import (
    DataSet,
    Files,
    Option,
    Raw,
    Role,
    Sides,
    Tally,
    for_id,
    item,
    json_rows,
)
from studies.texts.normalisation import digest, storable

_MOST_LETTERS = 4_000
_CASE = ("user_id", "question", "chosen", "reject")
_PERSON = ("Name", "Demographics", "Personality", "Preference")
# The folder of the specific questions is misspelt in the release.
_KINDS = {"general": "general", "specific": "specific", "spedific": "specific"}


def _read(files: Files, options: Mapping[str, Any], seed: int, tally: Tally) -> Iterator[Raw]:
    parts = files.all("cases")
    if not parts:
        raise files.missing("cases")
    # A case names its person by the line in the file of personas.
    personas = {
        str(line): _text_of_person(raw) for line, raw in json_rows(files.need("personas"), tally)
    }
    sides = Sides(seed, "personafeedback")
    for part in parts:
        for line, raw in json_rows(part, tally):
            row = ImportRow(line, part.name)
            question, chosen, rejected = (text_of(row, raw, name) for name in _CASE[1:])
            user = str(raw.get("user_id") or "").strip()
            if user not in personas:
                problem = f"user_id “{user[:40]}” is no line of the file of personas."
                row.fault("user_id", "unknown persona", problem, REMEDY)
            tally.faults += row.faults
            if row.faults:
                continue
            persona = personas[user]
            if len(persona) > _MOST_LETTERS:
                if not options["cut_persona"]:
                    tally.drop("cases with a persona longer than 4,000 characters")
                    continue
                persona = persona[: _MOST_LETTERS - 1].rstrip() + "…"
                tally.notes["personas cut to 4,000 characters"] += 1
            if is_usable(question, "", [chosen, rejected], tally):
                key = f"pf-{digest([user, question, *sorted([chosen, rejected])])[:16]}"
                raw_item = item(
                    key=key,
                    task="preference",
                    persona={"id": f"pf-{for_id(user)}"[:120], "features": [], "text": persona},
                    own={"text": chosen},
                    other={"text": rejected},
                    own_is_first=sides.own_is_first(key),
                    source="derived",
                    question=question,
                    topic=_topic(part.name),
                )
                yield part.name, line, raw_item


def _text_of_person(person: Mapping[str, Any]) -> str:
    """A persona as lines: its name, and each fact with its path."""
    return storable("\n".join(f"{path}: {fact}" for path, fact in _facts(person)))


def _facts(value: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    for name, part in value.items():
        where = f"{path}, {name}" if path else str(name)
        if isinstance(part, Mapping):
            yield from _facts(part, where)
        else:
            facts = part if isinstance(part, list) else [part]
            if joined := ", ".join(text for one in facts if (text := str(one or "").strip())):
                yield where, joined


def _topic(file: str) -> str:
    """The kind of questions and their difficulty, from the path of a file."""
    path = PurePosixPath(file)
    kind = _KINDS.get(path.parent.name, "")
    return ", ".join(filter(None, [kind, path.stem]))[:120]


PERSONA_FEEDBACK = DataSet(
    name="personafeedback",
    title="PersonaFeedback",
    about="Invented people, their questions, and the response that annotators thought fits better.",
    task="preference",
    files="persona/all_personas.jsonl, and files of data/, such as data/general/easy.jsonl",
    source={
        "name": "PersonaFeedback",
        "url": "https://huggingface.co/datasets/PersonalAILab/PersonaFeedback",
        "licence": "Apache-2.0",
        "citation": "Tao et al. 2025, PersonaFeedback",
        "redistribution": "allowed",
    },
    roles=(
        Role("cases", _CASE, "a row for each case (data/general/easy.jsonl and others)"),
        Role("personas", _PERSON, "a row for each person (all_personas.jsonl)", is_mark=True),
    ),
    options=(
        Option("cut_persona", False, "Cut long personas instead of leaving their cases out."),
    ),
    read=_read,
)
