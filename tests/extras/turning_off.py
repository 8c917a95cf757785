"""Turning an extra off, and why that is refused."""

import pytest

from studies.errors import ExtraNeeded
from studies.models import Study
from studies.services.extras import extras_in, set_extras


def turn_off(study: Study, name: str) -> None:
    now = Study.objects.get(pk=study.pk)
    set_extras(now, {*now.extras} - {name})
    assert not Study.objects.get(pk=study.pk).has_extra(name)


def refusal(study: Study, name: str) -> str:
    """The sentence of the refusal, which the card of the extra has too; the extra stays on."""
    with pytest.raises(ExtraNeeded) as refused:
        turn_off(study, name)
    now = Study.objects.get(pk=study.pk)
    assert now.has_extra(name)
    [card] = [card for card in extras_in(now) if card.extra.name == name]
    assert " ".join(card.needed) == str(refused.value)
    return str(refused.value)
