"""Checks of what judges did with the items, once there are runs."""

from typing import ClassVar

from analysis.audit.check import (
    FEWEST,
    ItemCheck,
    counted,
    distance_from_half,
    estimated_share,
    percent,
)
from analysis.audit.findings import AuditFinding, State
from analysis.data.items.audited_items import AuditedItem, AuditedStudy

UNUSED = 0.7
MARGIN = 0.05


class SidePreferred(ItemCheck):
    """Looks for judges that choose what they are shown first, or last, more often than the other.

    Sides are balanced, so a judge that only reads chooses each about equally often.
    """

    name: ClassVar[str] = "side_preferred"
    title = "Judges that prefer a side"
    rule = (
        f"A run chooses the response shown first in more than {percent(0.5 + MARGIN)} or less than "
        f"{percent(0.5 - MARGIN)} of its answers, at the near end of the 95 % interval."
    )
    remedy = "Ask in both orders (orders: both), and read the report's chapter on position."

    def finding(self, study: AuditedStudy) -> AuditFinding:
        known = [
            (
                one.judge,
                estimated_share("answers for the side shown first", one.first, one.personas),
            )
            for one in study.sides
            if len(one.first) >= FEWEST
        ]
        strongest = max(known, key=lambda pair: distance_from_half(pair[1]), default=None)
        if strongest is None or strongest[1].low is None:
            words = f"No run has {FEWEST} answers and enough personas for an interval."
            return self.outcome(State.UNKNOWN, words)
        judge, effect = strongest
        words = f"{judge} chooses the response shown first in {percent(effect.value or 0.0)} of "
        words += f"{counted(effect.n, 'answer')} "
        words += f"({percent(effect.low or 0.0)} to {percent(effect.high or 0.0)})"
        words += ", the most one-sided of the runs." if len(known) > 1 else "."
        state = State.FOUND if distance_from_half(effect) > MARGIN else State.CLEAR
        return self.outcome(state, words, effect=effect)


class PersonaUnused(ItemCheck):
    name: ClassVar[str] = "persona_unused"
    title = "Items that need no persona"
    rule = (
        f"A judge chooses the same with and without the persona in more than {percent(UNUSED)} of "
        "the items (lower end of the interval). Needs a run with all features and one with none."
    )
    remedy = (
        "Choose items on which people differ, or personas that say more: where nobody needs the "
        "persona, the study measures general preferences."
    )

    def __init__(self) -> None:
        self._personas: dict[str, int] = {}

    def look(self, item: AuditedItem) -> None:
        self._personas[item.key] = item.persona.number

    def finding(self, study: AuditedStudy) -> AuditFinding:
        pair = study.without_persona
        same = pair.same if pair else {}
        keys = [key for key in sorted(same) if key in self._personas]
        if pair is None or len(keys) < FEWEST:
            words = f"No judge has judged {FEWEST} items both with and without the persona."
            return self.outcome(State.UNKNOWN, words)
        effect = estimated_share(
            "items with the same choice without the persona",
            [same[key] for key in keys],
            [self._personas[key] for key in keys],
        )
        value = percent(effect.value or 0.0)
        words = f"{pair.judge} chooses the same without the persona in {value} of "
        words += f"{counted(len(keys))}"
        if effect.low is None or effect.high is None:
            return self.outcome(
                State.UNKNOWN, f"{words}; too few personas for an interval.", effect=effect
            )
        words += f" ({percent(effect.low)} to {percent(effect.high)})."
        is_found = effect.low > UNUSED
        alike = [key for key in keys if same[key]]
        return self.outcome(
            State.FOUND if is_found else State.CLEAR,
            words,
            effect=effect,
            keys=alike if is_found else [],
        )
