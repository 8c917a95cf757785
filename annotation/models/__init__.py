"""People and their answers. Only `flow` changes states; only `assignment` changes counters."""

from annotation.models.answers import (
    Annotation,
    AnnotationRevision,
    Assignment,
)
from annotation.models.checks import ComprehensionAnswer, ComprehensionQuestion
from annotation.models.people import (
    Annotator,
    AnnotatorEvent,
    CompletionCode,
    DemographicQuestion,
    Ending,
    QuotaCell,
    random_code,
)
from annotation.models.platform import (
    Invitation,
    ProlificIdentity,
    ProlificStudy,
    ProlificSubmission,
)

__all__ = [
    "Annotation",
    "AnnotationRevision",
    "Annotator",
    "AnnotatorEvent",
    "Assignment",
    "CompletionCode",
    "ComprehensionAnswer",
    "ComprehensionQuestion",
    "DemographicQuestion",
    "Ending",
    "Invitation",
    "ProlificIdentity",
    "ProlificStudy",
    "ProlificSubmission",
    "QuotaCell",
    "random_code",
]
