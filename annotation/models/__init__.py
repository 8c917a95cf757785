"""Annotators and their answers. Only `flow` changes states; only `assignment` changes counters."""

from annotation.models.annotators import (
    Annotator,
    AnnotatorEvent,
    CompletionCode,
    ConsentVersion,
    DemographicQuestion,
    Ending,
    LinkStart,
    QuotaGroup,
    RelatedStudy,
    random_code,
)
from annotation.models.answers import (
    Annotation,
    AnnotationRevision,
    Assignment,
    Draft,
    InitialAnswer,
)
from annotation.models.comprehension import ComprehensionAnswer, ComprehensionQuestion
from annotation.models.platform import (
    Bonus,
    BonusPayment,
    Invitation,
    ProlificEvent,
    ProlificIdentity,
    ProlificReservation,
    ProlificStudy,
    ProlificSubmission,
    Recruitment,
)

__all__ = [
    "Annotation",
    "AnnotationRevision",
    "Annotator",
    "AnnotatorEvent",
    "Assignment",
    "Bonus",
    "BonusPayment",
    "CompletionCode",
    "ComprehensionAnswer",
    "ComprehensionQuestion",
    "ConsentVersion",
    "DemographicQuestion",
    "Draft",
    "Ending",
    "InitialAnswer",
    "Invitation",
    "LinkStart",
    "ProlificEvent",
    "ProlificIdentity",
    "ProlificReservation",
    "ProlificStudy",
    "ProlificSubmission",
    "QuotaGroup",
    "Recruitment",
    "RelatedStudy",
    "random_code",
]
