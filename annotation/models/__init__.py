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
from annotation.models.linked_studies import LinkedStudy
from annotation.models.own_profiles import OwnProfile
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
from annotation.models.retests import RetestAnswer, RetestVisit

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
    "LinkedStudy",
    "OwnProfile",
    "ProlificEvent",
    "ProlificIdentity",
    "ProlificReservation",
    "ProlificStudy",
    "ProlificSubmission",
    "QuotaGroup",
    "Recruitment",
    "RelatedStudy",
    "RetestAnswer",
    "RetestVisit",
    "random_code",
]
