"""Judges, their runs, their judgments, and every request that was paid for."""

from judging.models.judges import SAMPLED, Judge, SharedLimit, StudyJudge
from judging.models.judgments import Attempt, Judgment, SentParameters, last_lease_of_workers
from judging.models.runs import NANO, Campaign, JudgeRun, Jury, PromptTemplate

__all__ = [
    "NANO",
    "SAMPLED",
    "Attempt",
    "Campaign",
    "Judge",
    "JudgeRun",
    "Judgment",
    "Jury",
    "PromptTemplate",
    "SentParameters",
    "SharedLimit",
    "StudyJudge",
    "last_lease_of_workers",
]
