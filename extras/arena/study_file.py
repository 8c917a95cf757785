"""The arena of a study as files: `arena.toml` with its limits, `arena.jsonl` with its questions."""

import json
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from extras.arena.questions import add_questions, read_questions, rows_of_arena
from extras.arena.seats import arena_of
from extras.arena.setup import LIMITS, set_up, settings_of
from judging.worker.job_requests import judges_named
from studies.errors import StudyError
from studies.models import Study
from studies.study_folder import Content, Folder, to_toml, value_of

_KINDS = {"stock": int, "per_hour": int, "longest": int, "forbidden": str, "show_persona": bool}
_QUESTIONS = "arena.jsonl"


class ArenaFile:
    """The design of an arena. Whether it is open, and what it has written, is no part of it."""

    name, file = "arena", "arena.toml"

    def write(self, study: Study) -> Mapping[str, Content]:
        arena = arena_of(study)
        if arena is None:
            return {}
        lines = (f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows_of_arena(arena))
        return {self.file: to_toml(settings_of(arena)), _QUESTIONS: lines}

    def apply(self, study: Study, folder: Folder, file: str, *, user: User | None) -> list[str]:
        content = folder.toml(file, known=("systems", "budget", *LIMITS))
        limits: dict[str, Any] = {
            name: value_of(content, name, kind, where=file)
            for name, kind in _KINDS.items()
            if name in content
        }
        budget = value_of(content, "budget", str, where=file, default="")
        names = value_of(content, "systems", list, where=file, default=[])
        try:
            limits["budget"] = Decimal(budget) if budget else None
            arena = set_up(
                study_id=study.pk,
                systems=judges_named([*map(str, names)]) if names else None,
                user=user,
                **limits,
            )
        except InvalidOperation:
            raise StudyError(
                f"{file}: budget is “{budget}”. Use dollars, such as “5.00”."
            ) from None
        except ValidationError as error:
            raise StudyError(f"{file}: {' '.join(error.messages)}") from error
        if (folder.path / _QUESTIONS).exists():
            rows = read_questions(folder.file(_QUESTIONS))
            add_questions(arena=arena, rows=rows, user=user)
        return []


FILE = ArenaFile()
