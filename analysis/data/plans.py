"""The frozen analysis plan of a study, and what was changed after it."""

from datetime import datetime

from analysis.data.frozen_plan import FrozenPlan, LateChange
from analysis.errors import AnalysisError
from analysis.models import AnalysisPlan
from annotation.models import Annotation
from judging.models import Judgment, PromptTemplate
from judging.protocols.framings import framings as all_framings
from judging.protocols.registry import names as protocol_names
from studies.models import Item as ItemRow
from studies.models import Study, StudyLog
from studies.services.settings import READ_OTHERWISE


def read_plan(study: Study) -> FrozenPlan | None:
    """The plan that was frozen for the study. Raises `AnalysisError` if it was altered."""
    row = AnalysisPlan.objects.filter(study=study).first()
    if row is None:
        return None
    plan = FrozenPlan(row.content, row.answers, row.judgments, row.frozen_at.isoformat(), row.seal)
    if plan.sealed() != plan.seal:
        raise AnalysisError(
            f"The analysis plan of “{study.slug}” is not the one that was frozen: its hash is "
            f"{plan.sealed()[:12]}… and its seal says {plan.seal[:12]}…. It was changed in the "
            "database; restore the row from a backup."
        )
    return plan


def run_settings() -> list[str]:
    """Name the judging protocols that a planned run can use."""
    return protocol_names()


def framings() -> list[str]:
    """Name the framings that a planned run can use."""
    return [*all_framings()]


def wording_of(study: Study, name: str) -> tuple[str, str] | None:
    """Reference and hash of a wording of the study, named as name or name@version."""
    stem, _, version = name.partition("@")
    found = PromptTemplate.objects.filter(study=study, name=stem)
    if version:
        found = found.filter(version=int(version) if version.isdecimal() else 0)
    newest = found.order_by("version").last()
    return None if newest is None else (newest.reference, newest.sha256)


def late_changes(study: Study, plan: FrozenPlan | None) -> tuple[LateChange, ...]:
    """Changes to threshold and margin after the first answer.

    A plan overrides settings that are changed after it. A plan made after the first answer is
    itself such a change if its values differ from the settings.
    """
    if plan is not None and plan.is_before_data:
        return ()
    names = {"certainty_threshold": "threshold", "equivalence_margin": "margin"}
    rows = StudyLog.objects.filter(study=study, event=READ_OTHERWISE).order_by("created_at", "pk")
    read_by = {field: getattr(study, field) for field in names}
    changes = []
    for row in reversed(rows):
        if plan is not None and row.created_at > datetime.fromisoformat(plan.frozen_at):
            read_by[row.detail["field"]] = row.detail["before"]
        else:
            setting, day = names[row.detail["field"]], f"{row.created_at:%Y-%m-%d}"
            changes.append(LateChange(setting, row.detail["before"], row.detail["after"], day))
    changes.reverse()
    if plan is not None:
        changes += [
            LateChange(name, read_by[field], plan.content[name], plan.frozen_at[:10])
            for field, name in names.items()
            if plan.content[name] != read_by[field]
        ]
    return tuple(changes)


def data_so_far(study: Study) -> tuple[int, int]:
    """The number of answers and of judgments, including those that do not count."""
    answers = Annotation.objects.filter(
        assignment__annotator__study=study, assignment__item__split=ItemRow.Split.MAIN
    ).count()
    judged = Judgment.objects.filter(run__study=study).exclude(state__in=Judgment.OPEN)
    return answers, judged.count()
