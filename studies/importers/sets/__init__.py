"""Importers of data sets, by the name of their format.

An importer is pure: it turns files into raw items in the item format. An importer that is named
here has its format in `import_items`, its form on the import page and its place in the report of an
import; docs/extending/importer.md adds one as an example.
"""

from studies.extra import Kind
from studies.importers.sets.data_set import DataSet
from studies.importers.sets.prism import PRISM

OWN: tuple[DataSet, ...] = (PRISM,)
SETS: Kind[DataSet] = Kind("importers", "sets")


def data_sets() -> dict[str, DataSet]:
    """The data sets of the core and of extras, by name, as commands and pages list them."""
    return {dataset.name: dataset for dataset in SETS}
