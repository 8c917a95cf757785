"""What people and judges gave next to their choices, aligned with their answers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.data.arrays import CODE, MISSING, Codes, Dataset, DesignData, Floats
from analysis.data.extras import ExtraReader
from analysis.data.judgment_details import details_of_runs
from extras.graded.asking import asked_in
from extras.graded.shown import counted_grades
from studies.models import Study


@dataclass(frozen=True, eq=False)
class GradeRows:
    """Grades of answers, or of the judgments of a run, one row each.

    Attributes
    ----------
    strength : ndarray of float, shape (n,)
        1 slightly, 2 clearly, 3 strongly; NaN without one, as at a tie.
    scores : ndarray of float, shape (n, 2)
        Of response 1 and response 2; NaN without one.
    criteria : ndarray of int8, shape (n, criteria)
        0, 1 or 2 for response 1, response 2 or no difference; -1 without a verdict.
    has_reason : ndarray of bool, shape (n,)
    """

    strength: Floats
    scores: Floats
    criteria: Codes
    has_reason: Any

    @classmethod
    def empty(cls, n: int, criteria: int) -> GradeRows:
        return cls(
            np.full(n, np.nan),
            np.full((n, 2), np.nan),
            np.full((n, criteria), MISSING, dtype=np.int8),
            np.zeros(n, dtype=np.bool_),
        )

    def put(
        self, row: int, keys: Mapping[str, int], *, strength: Any, scores: Any, criteria: Any
    ) -> None:
        """Enter the grades of a row; a criterion that the study lacks is left out."""
        self.strength[row] = np.nan if strength is None else strength
        self.scores[row] = [np.nan if score is None else score for score in scores]
        for key, choice in criteria.items():
            if key in keys:
                self.criteria[row, keys[key]] = CODE.get(choice, MISSING)


@dataclass(frozen=True, eq=False)
class GradedAnswers(DesignData):
    """The grades of a study.

    Attributes
    ----------
    asked_strength : bool
    scale : int
        The highest score of people; 0 if they were asked for none.
    criteria : tuple of str
        Their names; empty if people were not asked about them.
    asked_reason : bool
    people : GradeRows
        One row for each of the study's answers.
    runs : mapping of str to GradeRows
        For each run that graded, one row for each of its judgments.
    """

    follows_answers = True

    asked_strength: bool
    scale: int
    criteria: tuple[str, ...]
    asked_reason: bool
    people: GradeRows
    runs: Mapping[str, GradeRows]

    @property
    def digest(self) -> str:
        """Equal for equal contents."""
        facts = self.asked_strength, self.scale, self.criteria, self.asked_reason, [*self.runs]
        digest = hashlib.sha256(repr(facts).encode())
        for rows in (self.people, *self.runs.values()):
            for values in (rows.strength, rows.scores, rows.criteria, rows.has_reason):
                digest.update(np.ascontiguousarray(values).tobytes())
        return digest.hexdigest()


def graded_of(study: Study, data: Dataset, position: Mapping[int, int]) -> GradedAnswers | None:
    """The grades of a study; None if its people were not asked for any."""
    asked = asked_in(study)
    if not asked:
        return None
    keys = {key: n for n, (key, _name, _description) in enumerate(asked.criteria)}
    return GradedAnswers(
        asked_strength=asked.strength,
        scale=asked.scale,
        criteria=tuple(name for _key, name, _description in asked.criteria),
        asked_reason=asked.asks_reason,
        people=_of_people(study, data, position, keys),
        runs=_of_runs(study, data, position, keys),
    )


def _of_people(
    study: Study, data: Dataset, position: Mapping[int, int], keys: Mapping[str, int]
) -> GradeRows:
    rater = {pseudonym: index for index, pseudonym in enumerate(data.raters)}
    place = {
        key: row for row, key in enumerate(zip(data.answers.item, data.answers.rater, strict=True))
    }
    counted = counted_grades(answer__assignment__annotator__study=study).values_list(
        "answer__assignment__item_id",
        "answer__assignment__annotator__pseudonym",
        "strength",
        "score_1",
        "score_2",
        "criteria",
        "reason",
    )
    rows = GradeRows.empty(len(data.answers), len(keys))
    for item, name, strength, one, two, criteria, reason in counted.iterator():
        row = place.get((position.get(item, MISSING), rater.get(name, MISSING)))
        if row is not None:
            rows.put(row, keys, strength=strength, scores=(one, two), criteria=criteria)
            rows.has_reason[row] = bool(reason)
    return rows


def _of_runs(
    study: Study, data: Dataset, position: Mapping[int, int], keys: Mapping[str, int]
) -> dict[str, GradeRows]:
    graded: dict[str, GradeRows] = {}
    asked = ("strength", "scores", "criteria")
    for run, row, details in details_of_runs(study, data, position, asked):
        rows = graded.setdefault(run.run, GradeRows.empty(len(run.judgments), len(keys)))
        scores = details.get("scores", {})
        rows.put(
            row,
            keys,
            strength=details.get("strength"),
            scores=(scores.get("r1"), scores.get("r2")),
            criteria=details.get("criteria", {}),
        )
    return {run.run: graded[run.run] for run in data.runs if run.run in graded}


GRADED = ExtraReader("graded answers", graded_of)
