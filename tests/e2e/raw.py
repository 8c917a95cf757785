"""Answers, judgments and truth as they lie in the tables, by plain SQL."""

from demo.reference import ReferenceAnswer
from tests.e2e.stack import Stack


def truth(stack: Stack, study: str) -> dict[str, str]:
    return dict(
        stack.query(
            f"""
            SELECT item.key, item.first_person
            FROM studies_item item JOIN studies_study study ON study.id = item.study_id
            WHERE study.slug = '{study}' AND item.split = 'main' AND item.first_person <> ''
            """
        )
    )


def answers(stack: Stack, study: str) -> list[ReferenceAnswer]:
    rows = stack.query(
        f"""
        SELECT item.key, annotator.pseudonym, answer.choice, answer.certainty
        FROM annotation_annotation answer
        JOIN annotation_assignment seat ON seat.id = answer.assignment_id
        JOIN annotation_annotator annotator ON annotator.id = seat.annotator_id
        JOIN studies_item item ON item.id = seat.item_id
        JOIN studies_study study ON study.id = item.study_id
        WHERE study.slug = '{study}' AND answer.standing = 'counted'
        """
    )
    return [ReferenceAnswer(*row) for row in rows]


def stored_by_person(stack: Stack, study: str) -> set[tuple[str, str, str, int | None]]:
    """(platform id, item, choice, certainty) of every answer."""
    return set(
        stack.query(
            f"""
            SELECT identity.pid, item.key, answer.choice, answer.certainty
            FROM annotation_annotation answer
            JOIN annotation_assignment seat ON seat.id = answer.assignment_id
            JOIN annotation_prolificidentity identity ON identity.annotator_id = seat.annotator_id
            JOIN studies_item item ON item.id = seat.item_id
            JOIN studies_study study ON study.id = item.study_id
            WHERE study.slug = '{study}'
            """
        )
    )


def judgments(stack: Stack, study: str) -> dict[tuple[str, str, str], list[tuple]]:
    """(judge, setting, features) -> rows of (item, state, choice, certainty, shown first)."""
    rows = stack.query(
        f"""
        SELECT judge.name, run.setting, run.features,
               item.key, judgment.state, judgment.choice, judgment.certainty, judgment.shown_first
        FROM judging_judgment judgment
        JOIN judging_judgerun run ON run.id = judgment.run_id
        JOIN judging_judge judge ON judge.id = run.judge_id
        JOIN studies_item item ON item.id = judgment.item_id
        JOIN studies_study study ON study.id = run.study_id
        WHERE study.slug = '{study}'
        """
    )
    runs: dict[tuple[str, str, str], list[tuple]] = {}
    for name, setting, features, *judgment in rows:
        runs.setdefault((name, setting, features), []).append(tuple(judgment))
    return runs
