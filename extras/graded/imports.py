"""Import of grades that were given elsewhere, for answers that were imported before."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from annotation.files.imports import AddedAnswers
from annotation.models import Annotation
from extras.graded.asking import GradesAsked, asked_in
from extras.graded.models import LONGEST_REASON, Grades
from studies.errors import StudyError
from studies.importers.files.answer_rows import AnswerRow, read_answer_rows
from studies.importers.files.bundle import File
from studies.importers.files.faults import Faults, Refused
from studies.importers.files.lines import BadLine
from studies.models import Choice, Study
from studies.services.studies import lock_study, record

_REQUIRED = ("rater_id", "item_id")
_AT_ONCE = 1_000
_VALUES = ("strength", "score_1", "score_2", "criteria", "reason")


@dataclass(frozen=True)
class ImportedGrades:
    """The result of an import."""

    added: int
    unchanged: int

    def __str__(self) -> str:
        return f"Graded answers imported: {self.added:,}; there already: {self.unchanged:,}."


@transaction.atomic
def import_grades(
    *, study_id: int, file: File, dry_run: bool = False, on_row: Callable[[], None] = lambda: None
) -> ImportedGrades:
    """Import what a file has next to the choices of imported answers; again changes nothing.

    Raises `StudyError` if the study asks for no grades, and `Refused` with every fault of the file;
    then nothing is stored.
    """
    study = lock_study(study_id)
    asked = asked_in(study)
    if not asked:
        raise StudyError(
            f"“{study.slug}” does not say which grades people gave. Choose them under Settings, "
            "“Graded answers”, before you import answers."
        )
    answers = _answers(study)
    stored = _stored(study)
    faults, new, unchanged = Faults(), list[Grades](), 0
    for row in read_answer_rows(file, required=_REQUIRED):
        on_row()
        if isinstance(row, BadLine):
            faults.append(row.fault)
            continue
        answer_row = AnswerRow(row[0], file.name)
        answer, values = _read(answer_row, row[1], answers, asked)
        if not answer_row.faults and answer is not None:
            before = stored.setdefault(answer.pk, values)
            if before is values:
                new.append(Grades(answer=answer, revision=answer.revision, **values))
            elif before == values:
                unchanged += 1
            else:
                answer_row.fault(
                    "",
                    "other grades than before",
                    "the answer already has other grades.",
                    "Imported grades do not change. Correct the file.",
                )
        faults += answer_row.faults
    if faults:
        raise Refused(faults)
    if new and not dry_run:
        Grades.objects.bulk_create(new, batch_size=_AT_ONCE)
        record(study, "grades imported", answers=len(new), file=file.name)
    return ImportedGrades(len(new), unchanged)


def _answers(study: Study) -> dict[tuple[str, str], Annotation]:
    """The imported answers of a study by rater and item."""
    annotations = Annotation.objects.filter(
        assignment__annotator__study=study, standing=Annotation.Standing.IMPORTED
    )
    rows = annotations.select_related("assignment__annotator", "assignment__item").only(
        "choice", "revision", "assignment__annotator__pseudonym", "assignment__item__key"
    )
    return {
        (row.assignment.annotator.pseudonym, row.assignment.item.key): row
        for row in rows.iterator(chunk_size=_AT_ONCE)
    }


def _stored(study: Study) -> dict[int, dict[str, Any]]:
    """The grades of imported answers, by the answer's id."""
    rows = Grades.objects.filter(
        answer__assignment__annotator__study=study, answer__standing=Annotation.Standing.IMPORTED
    )
    return {row.pop("answer"): row for row in rows.values("answer", *_VALUES)}


def _read(
    row: AnswerRow,
    raw: Any,
    answers: Mapping[tuple[str, str], Annotation],
    asked: GradesAsked,
) -> tuple[Annotation | None, dict[str, Any]]:
    """The answer of a row and its grades; faults are kept in the row."""
    if not isinstance(raw, Mapping):
        row.fault("", "not an object", "the line is not a JSON object.", "Write one answer.")
        return None, {}
    rater, item = (str(raw.get(name) or "").strip() for name in _REQUIRED)
    answer = answers.get((rater, item))
    if answer is None:
        row.fault(
            "item_id",
            "no imported answer",
            f"rater “{rater[:80]}” has no imported answer to item “{item[:80]}”.",
            "Import the answers first with import_annotations, or correct the ids.",
        )
    values: dict[str, Any] = {
        "strength": row.whole_number(raw, "strength", low=1, high=3),
        "score_1": row.whole_number(raw, "score_1", low=1, high=asked.scale or 10),
        "score_2": row.whole_number(raw, "score_2", low=1, high=asked.scale or 10),
        "criteria": {},
        "reason": " ".join(row.text(raw, "reason", limit=LONGEST_REASON).split()),
    }
    for key, _name, _description in asked.criteria:
        if verdict := row.one_of(raw, f"criterion_{key}", Choice.values):
            values["criteria"][key] = verdict
    not_asked = [
        *(["strength"] if values["strength"] and not asked.strength else []),
        *(["score_1"] if values["score_1"] and not asked.scale else []),
        *(["reason"] if values["reason"] and not asked.asks_reason else []),
    ]
    for name in not_asked:
        words = f"{name} is filled, but the study does not ask for it."
        row.fault(name, "not asked", words, "Leave the column out.")
    if (values["score_1"] is None) != (values["score_2"] is None):
        words = "one of score_1 and score_2 is missing."
        row.fault("score_1", "one score is missing", words, "Give both, or neither.")
    if answer is not None and answer.choice == Choice.TIE and values["strength"]:
        words = "the answer is a tie, which has no strength."
        row.fault("strength", "tie with a strength", words, "Leave strength empty.")
    return answer, values


GRADES = AddedAnswers(
    "grades",
    "FILE has grades of answers that were imported, in columns that the study asks for: strength "
    "(1 to 3), score_1, score_2, criterion_KEY (r1, r2 or tie) and reason",
    import_grades,
)
