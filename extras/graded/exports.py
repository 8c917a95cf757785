"""Grades in exports, under the names of people and answers in the other tables."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any

from django.db.models import F

from analysis.errors import ExportError
from analysis.exports.catalogue import Disclosure, ExportTable
from analysis.exports.columns import Column, in_columns
from analysis.exports.rows import exported_id
from analysis.exports.table_files import ExportTableFile
from annotation.models import Annotation
from extras.graded.asking import GradesAsked, asked_in
from extras.graded.models import Grades, ScoreScale, Strength
from extras.graded.shown import counted_grades
from judging.models import JudgeRun, Judgment
from judging.protocols.registry import protocols
from studies.models import Item, Study

_CHUNK = 2_000
_FORMATS = ("jsonl", "csv", "xlsx")
_SIGN = {"r1": 1, "r2": -1}


def _asked(study: Study) -> GradesAsked:
    asked = asked_in(study)
    if not asked:
        raise ExportError(
            f"People give only a choice in “{study.slug}”, so there are no grades. Under Settings, "
            "“Graded answers”, you choose what they are asked before the first answer."
        )
    return asked


def _columns(asked: GradesAsked, *, free_text: bool) -> tuple[Column, ...]:
    return (
        Column("answer_id", "text", "The same as in annotations."),
        Column("study", "text", "Short name of the study."),
        Column("item_id", "text", "The item's id."),
        Column("rater_id", "text", "The person's exported name."),
        Column("choice", "text", "r1, r2 or tie: the answer in content terms."),
        Column("certainty", "integer", "1 to 100; empty on a tie or where not asked."),
        Column("standing", "text", "counted, surplus, released or imported."),
        Column("revision", "integer", "1 = never changed."),
        Column("strength", "integer", "1 slightly, 2 clearly, 3 strongly; empty on a tie.", True),
        Column("strength_word", "text", "The same as a word."),
        Column("score_1", "integer", f"Score of response r1, 1 to {asked.scale or 'most'}.", True),
        Column("score_2", "integer", f"Score of response r2, 1 to {asked.scale or 'most'}.", True),
        *(
            Column(f"criterion_{key}", "text", f"r1, r2 or tie by “{name}”.", True)
            for key, name, _description in asked.criteria
        ),
        Column("excluded", "boolean", "Whether the person is excluded from analysis."),
        Column("has_reason", "boolean", "Whether the person gave a reason."),
        *((Column("reason", "text", "What the person wrote."),) if free_text else ()),
    )


def grade_rows(study: Study) -> Iterator[dict[str, Any]]:
    """One row for each graded answer that is not withdrawn, by item and exported name."""
    counted = (
        Grades.objects.filter(
            answer__assignment__annotator__study=study,
            answer__assignment__item__split=Item.Split.MAIN,
            revision=F("answer__revision"),
        )
        .exclude(answer__standing=Annotation.Standing.WITHDRAWN)
        .select_related("answer__assignment__item", "answer__assignment__annotator")
        .order_by("answer__assignment__item__key", "answer__assignment__annotator__pseudonym")
    )
    for grades in counted.iterator(chunk_size=_CHUNK):
        answer = grades.answer
        assignment = answer.assignment
        rater = exported_id(study.export_key, assignment.annotator.pseudonym)
        key = assignment.item.key
        row = {
            "answer_id": f"{rater}:{key}",
            "study": study.slug,
            "item_id": key,
            "rater_id": rater,
            "choice": answer.choice,
            "certainty": answer.certainty,
            "standing": answer.standing,
            "revision": grades.revision,
            "strength": grades.strength,
            "strength_word": Strength(grades.strength).label if grades.strength else None,
            "score_1": grades.score_1,
            "score_2": grades.score_2,
            "excluded": assignment.annotator.excluded_at is not None,
            "has_reason": bool(grades.reason),
            "reason": grades.reason or None,
        }
        yield row | {f"criterion_{name}": choice for name, choice in grades.criteria.items()}


def _table(study: Study, disclosure: Disclosure) -> ExportTableFile:
    shape = _columns(_asked(study), free_text=disclosure.free_text)
    return ExportTableFile("grades", shape, lambda: in_columns(grade_rows(study), shape))


GRADES = ExportTable(
    "grades",
    _FORMATS,
    "Graded answers: strength, scores, criteria and reason of each answer",
    _table,
)


def _item_columns(asked: GradesAsked) -> tuple[Column, ...]:
    return (
        Column("item_id", "text", "The item's id."),
        Column("answers", "integer", "Graded answers that count."),
        Column(
            "strength", "number", "Mean preference: 3 strongly r1, 0 a tie, -3 strongly r2.", True
        ),
        Column("score_1", "number", "Mean score of response r1.", True),
        Column("score_2", "number", "Mean score of response r2.", True),
        *(
            Column(f"criterion_{key}", "text", f"Majority by “{name}”; empty if shared.", True)
            for key, name, _description in asked.criteria
        ),
        Column("reasons", "integer", "Answers with a reason."),
    )


def item_rows(study: Study) -> Iterator[dict[str, Any]]:
    """One row for each item with graded answers that count, by key."""
    of_item: defaultdict[str, list[Grades]] = defaultdict(list)
    rows = counted_grades(answer__assignment__annotator__study=study).select_related(
        "answer__assignment__item"
    )
    for grades in rows.iterator(chunk_size=_CHUNK):
        of_item[grades.answer.assignment.item.key].append(grades)
    for key, group in sorted(of_item.items()):
        signed = [
            _SIGN.get(one.answer.choice, 0) * (one.strength or 0)
            for one in group
            if one.strength or one.answer.choice == "tie"
        ]
        keys = {name for one in group for name in one.criteria}
        yield {
            "item_id": key,
            "answers": len(group),
            "strength": fmean(signed) if signed else None,
            "score_1": _mean([one.score_1 for one in group]),
            "score_2": _mean([one.score_2 for one in group]),
            "reasons": sum(bool(one.reason) for one in group),
        } | {
            f"criterion_{name}": _majority([one.criteria.get(name) for one in group])
            for name in keys
        }


def _mean(values: list[int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _majority(choices: list[str | None]) -> str | None:
    (first, *others) = Counter(choice for choice in choices if choice).most_common(2) or [("", 0)]
    return None if others and others[0][1] == first[1] else first[0] or None


def _item_table(study: Study, disclosure: Disclosure) -> ExportTableFile:
    shape = _item_columns(_asked(study))
    return ExportTableFile("graded-items", shape, lambda: in_columns(item_rows(study), shape))


GRADED_ITEMS = ExportTable(
    "graded-items", _FORMATS, "Graded items: means and majorities of each item", _item_table
)


_SCORES = (
    Column("item", "text", "The item's id and its response, as KEY:r1: what `check` compares."),
    Column("item_id", "text", "The item's id."),
    Column("response", "text", "r1 or r2."),
    Column("persona", "text", "The persona's id."),
    Column("question", "text", "The item's question.", True),
    Column("annotator", "text", "The person's exported name, or the judge with its setting."),
    Column("kind", "text", "human or judge."),
    Column("label", "text", "The score; wrong or right in a study that asks for these."),
)
_RIGHT = {1: "wrong", 2: "right"}


def score_rows(study: Study) -> Iterator[dict[str, Any]]:
    """One row for each score of a response: first those of people, then those of judges."""
    scale = asked_in(study).scale

    def rows(item: Item, who: str, kind: str, scores: Mapping[str, Any]) -> Iterator[Any]:
        for response, score in scores.items():
            if score is not None:
                yield {
                    "item": f"{item.key}:{response}",
                    "item_id": item.key,
                    "response": response,
                    "persona": item.persona.key,
                    "question": item.question,
                    "annotator": who,
                    "kind": kind,
                    "label": _RIGHT[score] if scale == ScoreScale.RIGHT else f"{score:g}",
                }

    counted = (
        counted_grades(answer__assignment__annotator__study=study)
        .exclude(score_1=None)
        .select_related("answer__assignment__item__persona", "answer__assignment__annotator")
        .order_by("answer__assignment__item__key", "answer__assignment__annotator__pseudonym")
    )
    for grades in counted.iterator(chunk_size=_CHUNK):
        assignment = grades.answer.assignment
        who = exported_id(study.export_key, assignment.annotator.pseudonym)
        scores = {"r1": grades.score_1, "r2": grades.score_2}
        yield from rows(assignment.item, who, "human", scores)
    alike = [known.name for known in protocols() if known.highest == scale]
    runs = JudgeRun.objects.filter(study=study, setting__in=alike, bias_probe="")
    for run in runs.select_related("judge"):
        readings: defaultdict[Item, list[Mapping[str, float]]] = defaultdict(list)
        judged = Judgment.objects.filter(
            run=run, details__has_key="scores", item__split=Item.Split.MAIN
        ).select_related("item__persona")
        for judgment in judged.order_by("item__key", "pk"):
            readings[judgment.item].append((judgment.details or {})["scores"])
        for item, scores_of_item in readings.items():
            own: dict[str, float | None] = {}
            for side in ("r1", "r2"):
                own[side] = mean = fmean(scores[side] for scores in scores_of_item)
                if scale == ScoreScale.RIGHT:
                    # Readings that are evenly split have no verdict.
                    own[side] = None if mean == 1.5 else round(mean)
            yield from rows(item, f"{run.judge.name} {run.setting} {run.key[:8]}", "judge", own)


def _score_table(study: Study, disclosure: Disclosure) -> ExportTableFile:
    if not _asked(study).scale:
        raise ExportError(f"People give no scores in “{study.slug}”.")
    return ExportTableFile("scores", _SCORES, lambda: in_columns(score_rows(study), _SCORES))


SCORES = ExportTable(
    "scores",
    _FORMATS,
    "Scores of single responses by people and judges, in the form that `check` reads",
    _score_table,
)
