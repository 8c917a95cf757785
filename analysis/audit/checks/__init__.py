"""The checks of the audit, in the order of the page."""

from analysis.audit.check import ItemCheck
from analysis.audit.checks.judges import PersonaUnused, SidePreferred
from analysis.audit.checks.labels import (
    AnswersMissing,
    LengthTells,
    SideTells,
    SourceTells,
)
from analysis.audit.checks.personas import AnswerInPersona, DominantPersona, SparsePersonas
from analysis.audit.checks.precision import TooFewItems
from analysis.audit.checks.provenance import LicenceMissing, SharingLimited
from analysis.audit.checks.repeats import RepeatedItems, ReusedDistractor, SamePair
from analysis.audit.checks.scales import WrongScale
from analysis.audit.checks.texts import BrokenLetters, LongTexts, Refusals, SpeaksToJudge
from analysis.audit.checks.time import TooLittleTime

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
