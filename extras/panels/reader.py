"""Which panel sent each annotator, as an array."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import MISSING, Dataset, DesignData
from analysis.data.extras import ExtraReader
from annotation.models import Annotator
from extras.panels.models import Panel
from studies.models import Study


@dataclass(frozen=True, eq=False)
class PanelsOfPeople(DesignData):
    """The panel of each rater of the study, as a place in `names`; -1 for people of a file."""

    names: tuple[str, ...]
    panel: npt.NDArray[np.int64]

    @property
    def digest(self) -> str:
        """Equal for equal contents."""
        text = "|".join(self.names) + "".join(map(str, self.panel.tolist()))
        return hashlib.sha256(text.encode()).hexdigest()


def panels_of(study: Study, data: Dataset, position: Mapping[int, int]) -> PanelsOfPeople | None:
    """The panels of a study's people; None if no panel sent anybody."""
    rows = Annotator.objects.filter(study=study, is_imported=False)
    panel_of = dict(rows.values_list("pseudonym", "panel_person__panel"))
    if not any(panel_of.values()):
        return None
    titles = dict(Panel.objects.filter(study=study).order_by("pk").values_list("pk", "title"))
    doubled = len({*titles.values()}) < len(titles)
    names = {
        pk: f"{title} ({place})" if doubled else title
        for place, (pk, title) in enumerate(titles.items(), start=1)
    }
    own = "Prolific" if study.entry == Study.Entry.PROLIFIC else "No panel"
    order = [*names.values(), own]
    places = [
        order.index(names.get(panel_of[rater], own)) if rater in panel_of else MISSING
        for rater in data.raters
    ]
    return PanelsOfPeople(tuple(order), np.array(places, dtype=np.int64))


PANELS = ExtraReader("panels", panels_of)
