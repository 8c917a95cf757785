"""Probes for the datasheet of a judge: changes that it should follow, or that leave no reason."""

from dataclasses import replace

from judging.bias.probes import Asked, BiasProbe
from studies.texts.slots import Profile, Slots


class Identical(BiasProbe):
    """Both responses are the same, so that nothing but the side can decide."""

    name = "identical"
    description = "The same response twice (datasheet)"
    has_target = False
    is_control = True

    def change(self, slots: Slots, asked: Asked) -> Slots:
        shows_a = asked.target == asked.shown_first
        text = slots.response_a if shows_a else slots.response_b
        return replace(slots, response_a=text, response_b=text)


class Empty(BiasProbe):
    """One response is empty; a judge that reads prefers the other."""

    name = "empty"
    description = "One response left empty (datasheet)"
    has_target = False
    is_control = True

    def change(self, slots: Slots, asked: Asked) -> Slots:
        side = "response_a" if asked.target == asked.shown_first else "response_b"
        return replace(slots, **{side: ""})


class OtherPersona(BiasProbe):
    """The profile of another persona of the study; a judge that reads it changes some answers."""

    name = "other-persona"
    description = "The profile of another persona (datasheet)"
    has_target = False
    is_control = True
    uses_profiles = True

    def why_not(self, profile: Profile, asked: Asked) -> str:
        return "" if asked.other is not None else "The study has no other persona."

    def show(self, profile: Profile, asked: Asked) -> Profile:
        return asked.other or profile


IDENTICAL, EMPTY, OTHER_PERSONA = Identical(), Empty(), OtherPersona()
