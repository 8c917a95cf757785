"""Whether the columns of an uploaded file have to be mapped to the fields of an item."""

from collections.abc import Mapping

from studies.importers.columns.guesses import guess
from studies.importers.columns.table_file import Head, read_head
from studies.importers.files.bundle import File
from studies.importers.files.packed import ZIPPED
from studies.importers.files.readers import REQUIRED
from studies.importers.items.import_source import is_of_a_set
from studies.importers.items.personalized_judge import looks_released

# Values of the own answer that are read without a mapping, under its usual names.
_READ = {"", "1", "2", "r1", "r2", "tie"}


def needs_mapping(file: File) -> bool:
    """Whether a file has rows, but not those of the item format or of a known data set."""
    start = file.head()
    if start.startswith(ZIPPED) or is_of_a_set(file):
        return False
    head = read_head(file)
    if not head.rows:
        return False
    cells = head.rows[0][1]
    if start[:1] in (b"{", b"["):
        is_item = any(path.startswith(("persona.", "responses.0.")) for path in cells)
        return not is_item and not looks_released(cells) and len(head.columns) > 1
    if not set(REQUIRED) <= set(head.columns):
        return len(head.columns) > 1
    return _hides_own_answers(head)


def _hides_own_answers(head: Head) -> bool:
    """Whether a file in the item format has an own answer that it does not name as the format."""
    if "first_person" in head.columns:
        return False
    column = guess(head).column_of("own_answer")
    return column is not None and any(not _is_read(cells, column) for _, cells in head.rows)


def _is_read(cells: Mapping[str, str], column: str) -> bool:
    return cells.get(column, "") in _READ
