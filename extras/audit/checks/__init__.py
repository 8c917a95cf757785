"""The checks of the audit, in the order of the page."""

from extras.audit.checks.shortcuts import (
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
from extras.audit.checks.study import LicenceMissing, SharingLimited, TooFewItems, TooLittleTime
from extras.audit.checks.texts import (
    BrokenLetters,
    LongTexts,
    Refusals,
    RepeatedItems,
    ReusedDistractor,
    SamePair,
    SpeaksToJudge,
    WrongScale,
)
from extras.audit.findings import ItemCheck

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
