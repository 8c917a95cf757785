"""The checks of the audit, in the order of the page."""

from analysis.audit.checks.shortcuts import (
    AnswerInPersona,
    AnswersMissing,
    DominantPersona,
    LengthTells,
    PersonaUnused,
    SidePreferred,
    SideTells,
    SourceTells,
    SparsePersonas,
)
from analysis.audit.checks.study import LicenceMissing, SharingLimited, TooFewItems, TooLittleTime
from analysis.audit.checks.texts import (
    BrokenLetters,
    LongTexts,
    Refusals,
    RepeatedItems,
    ReusedDistractor,
    SamePair,
    SpeaksToJudge,
    WrongScale,
)
from analysis.audit.findings import ItemCheck

CHECKS: tuple[type[ItemCheck], ...] = (
    SamePair,
    ReusedDistractor,
    AnswerInPersona,
    SideTells,
    LengthTells,
    SourceTells,
    RepeatedItems,
    Refusals,
    SpeaksToJudge,
    BrokenLetters,
    WrongScale,
    LongTexts,
    TooLittleTime,
    SparsePersonas,
    DominantPersona,
    PersonaUnused,
    SidePreferred,
    AnswersMissing,
    TooFewItems,
    LicenceMissing,
    SharingLimited,
)
