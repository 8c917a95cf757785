"""What extras offer at a jury on the page of a campaign."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from studies.additions import Additions

if TYPE_CHECKING:
    from judging.models import Campaign, Jury


@dataclass(frozen=True)
class JuryAction:
    """A button for editors: its `template` is shown with `campaign` and `jury` where `is_open`."""

    name: str
    template: str
    is_open: Callable[[Campaign, Jury], bool]


MORE: Additions[JuryAction] = Additions()
