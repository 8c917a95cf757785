"""PersonaFeedback (Tao et al. 2025): which of two responses fits a described person better."""

from collections.abc import Iterator, Mapping
from typing import Any

from extras.datasets.pairs import is_usable, text_of
from studies.importers.files.faults import ImportRow
from studies.importers.sets.data_set import (
    DataSet,
    Files,
    Option,
    Raw,
    Role,
    Sides,
    Tally,
    item,
    json_rows,
)
from studies.texts.normalisation import digest

_MOST_LETTERS = 4_000
_TEXTS = ("persona", "query", "chosen", "rejected")


def _read(files: Files, options: Mapping[str, Any], seed: int, tally: Tally) -> Iterator[Raw]:
    found = files.all("cases")
    if not found:
        raise files.missing("cases")
    sides = Sides(seed, "personafeedback")
    for part in found:
        for line, raw in json_rows(part, tally):
            row = ImportRow(line, part.name)
            persona, query, chosen, rejected = (text_of(row, raw, name) for name in _TEXTS)
            tally.faults += row.faults
            if row.faults:
                continue
            if len(persona) > _MOST_LETTERS:
                if not options["cut_persona"]:
                    tally.drop("cases with a persona longer than 4,000 characters")
                    continue
                persona = persona[: _MOST_LETTERS - 1].rstrip() + "…"
                tally.notes["personas cut to 4,000 characters"] += 1
            if is_usable(query, "", [chosen, rejected], tally):
                key = f"pf-{digest([persona, query, *sorted([chosen, rejected])])[:16]}"
                raw_item = item(
                    key=key,
                    task="preference",
                    persona={"id": f"pf-{digest(persona)[:12]}", "features": [], "text": persona},
                    own={"text": chosen},
                    other={"text": rejected},
                    own_is_first=sides.own_is_first(key),
                    source="derived",
                    question=query,
                    topic=str(raw.get("difficulty") or raw.get("level") or "")[:120] or None,
                )
                yield part.name, line, raw_item


PERSONA_FEEDBACK = DataSet(
    name="personafeedback",
    title="PersonaFeedback",
    about="Invented people, their questions, and the response that annotators thought fits better.",
    task="preference",
    files="JSON Lines with persona, query, chosen and rejected",
    source={
        "name": "PersonaFeedback",
        "url": "https://huggingface.co/datasets/PersonalAILab/PersonaFeedback",
        "licence": "Apache-2.0",
        "citation": "Tao et al. 2025, PersonaFeedback",
        "redistribution": "allowed",
    },
    roles=(Role("cases", _TEXTS, "a row for each case, with persona, query, chosen and rejected"),),
    options=(
        Option("cut_persona", False, "Cut long personas instead of leaving their cases out."),
    ),
    read=_read,
)
