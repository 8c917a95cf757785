"""Personas and questions of an arena: from a file, from another study, and as a file."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from extras.arena.asking import raw_persona
from extras.arena.models import Arena, ArenaQuestion
from studies.errors import StudyError
from studies.importers.files.answer_rows import read_answer_rows
from studies.importers.files.bundle import File
from studies.importers.files.faults import LIMITS, ImportRow, Refused
from studies.importers.files.lines import BadLine
from studies.importers.items.records import PersonaRecord, read_persona
from studies.models import Item, Persona, Study
from studies.services.studies import forbids_providers, lock_study, record
from studies.texts.normalisation import digest, normalise

MAX_QUESTIONS = 20_000


def read_questions(file: File) -> list[Mapping[str, Any]]:
    """Rows of a CSV file, or of one with a JSON object in each line. Raises `Refused`."""
    rows, faults = [], []
    for entry in read_answer_rows(file, required=("persona", "question")):
        if isinstance(entry, BadLine):
            faults.append(entry.fault)
        else:
            rows.append(entry[1])
    if faults:
        raise Refused(faults)
    if not rows:
        raise StudyError(f"{file.name} has no rows. Give it the columns persona and question.")
    return [row | {"persona": _persona_of(row.get("persona"))} for row in rows]


def _persona_of(raw: Any) -> Any:
    """A persona; a text without an id is its own, so that the same text is the same persona."""
    if isinstance(raw, dict):
        return raw
    text = str(raw or "").strip()
    return {"id": f"persona-{digest(normalise(text))[:16]}", "text": text}


def rows_of_study(study: Study) -> list[Mapping[str, Any]]:
    """The personas and questions of a study's items, each once. Raises `StudyError`."""
    if forbids_providers(study):
        raise StudyError(
            f"The items of “{study.slug}” must not be sent to a provider, so their questions "
            "cannot be asked elsewhere."
        )
    items = Item.objects.filter(study=study).exclude(question="").select_related("persona")
    if not items.exists():
        raise StudyError(f"“{study.slug}” has no items with a question.")
    rows = {
        (item.persona_id, item.question): {
            "persona": raw_persona(item.persona),
            "question": item.question,
            "topic": item.topic,
        }
        for item in items.order_by("key")
    }
    return [*rows.values()]


def rows_of_arena(arena: Arena) -> Iterator[Mapping[str, Any]]:
    """Its questions, in the order of their keys, so that a file of them is always the same."""
    for question in arena.questions.select_related("persona").order_by("key"):
        persona = {key: value for key, value in raw_persona(question.persona).items() if value}
        topic = {"topic": question.topic} if question.topic else {}
        yield {"id": question.key, "persona": persona, "question": question.question, **topic}


@transaction.atomic
def add_questions(
    *, arena: Arena, rows: Iterable[Mapping[str, Any]], user: User | None = None
) -> int:
    """Add the questions that the arena lacks, all or none, and return their number.

    Raises `Refused` with every fault, and `StudyError` if there are too many.
    """
    study = lock_study(arena.study_id)
    known = set(arena.questions.values_list("key", flat=True))
    personas = {persona.key: persona for persona in study.personas.all()}
    faults, new = [], []
    for line, raw in enumerate(rows, start=1):
        row = ImportRow(line)
        persona = read_persona(row, raw.get("persona"))
        question = row.text(raw, "question", limit=LIMITS["question"])
        topic = row.text(raw, "topic", limit=120)
        if not question:
            row.fault("question", "question is missing", f"line {line} has no question.")
        if persona is not None and not row.faults:
            key = digest([persona.key, question])
            stored = personas.get(persona.key)
            if stored is None:
                stored = personas[persona.key] = _unsaved(study, persona)
            elif _fingerprint(stored) != persona.fingerprint:
                row.fault(
                    "persona",
                    "persona has other content",
                    f"persona “{persona.key}” is in the study with other features or text.",
                    "Give a changed persona its own id.",
                )
            if key not in known and not row.faults:
                known.add(key)
                new.append((stored, key, question, topic))
        faults += row.faults
    if faults:
        raise Refused(faults)
    if len(known) > MAX_QUESTIONS:
        raise StudyError(f"An arena has at most {MAX_QUESTIONS:,} questions. Use fewer.")
    for persona_row, *_rest in new:
        if persona_row.pk is None:
            persona_row.save()
    ArenaQuestion.objects.bulk_create(
        ArenaQuestion(arena=arena, persona=owner, key=key, question=question, topic=topic)
        for owner, key, question, topic in new
    )
    if new:
        record(study, "arena questions added", user=user, questions=len(new))
    return len(new)


def _unsaved(study: Study, persona: PersonaRecord) -> Persona:
    return Persona(
        study=study,
        key=persona.key,
        features=persona.features,
        text=persona.text,
        history=persona.history,
    )


def _fingerprint(persona: Persona) -> str:
    return PersonaRecord(persona.key, persona.features, persona.text, persona.history).fingerprint
