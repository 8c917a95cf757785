"""Checks of where items come from, and who may have them."""

from typing import ClassVar

from analysis.audit.check import ItemCheck
from analysis.audit.findings import AuditFinding, Level, State
from analysis.data.items.audited_items import AuditedStudy


class LicenceMissing(ItemCheck):
    name: ClassVar[str] = "licence"
    title = "Licence"
    rule = "Advice if the study's source names no licence."
    remedy = "Name the licence in the study's settings: a report cannot be published without it."

    def finding(self, study: AuditedStudy) -> AuditFinding:
        words = (
            f"The items’ licence is {study.licence}." if study.licence else "No licence is named."
        )
        return self.outcome(
            state=State.CLEAR if study.licence else State.FOUND,
            sentence=words,
        )


_LIMITS = {
    "allowed": "The items may be passed on.",
    "non-commercial": "The items may be passed on for purposes that are not commercial.",
    "forbidden": "The items may not be passed on: exports leave their texts out.",
    "unknown": "It is not known whether the items may be passed on.",
}


class SharingLimited(ItemCheck):
    name: ClassVar[str] = "redistribution"
    title = "Passing items on"
    rule = "For your information, if the source does not allow every use."
    remedy = (
        "Ask the source before you send items to a provider of models abroad or publish them; the "
        "study's settings say what is allowed."
    )

    def finding(self, study: AuditedStudy) -> AuditFinding:
        return self.outcome(
            level=Level.INFORMATIVE,
            state=State.CLEAR if study.redistribution == "allowed" else State.FOUND,
            sentence=_LIMITS.get(study.redistribution, _LIMITS["unknown"]),
        )
