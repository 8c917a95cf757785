"""Whether the study gives annotators enough time to read."""

from typing import ClassVar

from analysis.audit.check import ItemCheck, counted
from analysis.audit.findings import AuditFinding, Effect, Level, State
from analysis.data.items.audited_items import AuditedStudy
from studies.texts.reading import FAST_WORDS_PER_MINUTE, JUDGING_SECONDS, WORDS_PER_MINUTE


class TooLittleTime(ItemCheck):
    name: ClassVar[str] = "too_little_time"
    title: ClassVar[str] = "Time to read the items"
    rule = (
        f"The duration in the settings is shorter than the items of one annotator take: reading "
        f"{WORDS_PER_MINUTE} words a minute, hearing every sound, and {JUDGING_SECONDS} seconds to "
        f"judge. Advice if {FAST_WORDS_PER_MINUTE} words a minute, faster than most adults read, "
        "are too slow as well. Consent, instructions and other pages are not counted."
    )
    remedy: ClassVar[str] = (
        "Ask fewer items of each annotator, shorten the texts, or set a longer duration and raise "
        "the pay."
    )

    def finding(self, study: AuditedStudy) -> AuditFinding:
        expected = study.expected
        if expected is None:
            return self.outcome(State.UNKNOWN, "No item is for annotators.")
        words = (
            f"{expected.words}, {expected.fast_minutes:.0f} if read fast. The study states "
            f"{counted(study.minutes, 'minute')}."
        )
        state = State.FOUND if expected.minutes > study.minutes else State.CLEAR
        too_fast = expected.fast_minutes > study.minutes
        share = study.minutes / expected.minutes
        return self.outcome(
            state,
            words,
            effect=Effect("the stated duration as a share of the expected", share, expected.items),
            level=Level.ADVISORY if too_fast else Level.INFORMATIVE,
        )
