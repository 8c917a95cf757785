"""Data sets in the shapes in which they were released, by the name of their format.

Readers here are pure: files in, raw items in the shape of the neutral format out.
"""

from studies.importers.sets.base import DataSet
from studies.importers.sets.ec import EC
from studies.importers.sets.opinionqa import OPINIONQA
from studies.importers.sets.personal_reddit import PERSONAL_REDDIT
from studies.importers.sets.prism import PRISM

SETS: dict[str, DataSet] = {s.name: s for s in (PRISM, OPINIONQA, EC, PERSONAL_REDDIT)}
