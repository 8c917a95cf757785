"""The form that maps columns to fields, and what the first rows of the file become by it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from studies.importers.columns.fields import FEATURE, FIELDS, NOT_IMPORTED, field_choices
from studies.importers.columns.guesses import label_of, with_doubts
from studies.importers.columns.mapped_items import MappedRows
from studies.importers.columns.mapping import ANSWERS, UNREAD, ColumnMapping
from studies.importers.columns.own_answers import ValueCount, counted, meaning_of
from studies.importers.columns.table_file import Head
from studies.importers.files.faults import Fault, Faults
from studies.importers.files.import_row import LIMITS
from studies.importers.items.personas import MAX_TEXT
from studies.importers.items.records import ItemRecord
from studies.importers.items.validation import Validator
from studies.models import Item, Persona, Study
from studies.texts.normalisation import storable

PREVIEWED = 3
# A page has at most this many columns, the guessed ones first; the others are not imported.
MAX_SHOWN = 150
_SAMPLES = 3
_VALUES = 30
_LONGEST_VALUE = 80


@dataclass(frozen=True)
class ColumnRow:
    """One column on the page. `number` names its controls, whatever characters its name has."""

    number: int
    column: str
    samples: Sequence[str]
    field: str
    label: str

    @property
    def is_imported(self) -> bool:
        return self.field != NOT_IMPORTED


@dataclass(frozen=True)
class HeadItems:
    """What the first rows become: items, and the faults that an import would refuse them for."""

    items: Sequence[ItemRecord]
    faults: Sequence[Fault]


class MappingForm:
    """The mapping of one file, from the stored one or from what was sent."""

    choices = field_choices()

    def __init__(self, head: Head, mapping: ColumnMapping, *, task: str) -> None:
        self.head, self.mapping, self._task = head, mapping, task

    @cached_property
    def rows(self) -> list[ColumnRow]:
        fields, labels = self.mapping.fields, self.mapping.labels
        columns = sorted(
            self.head.columns, key=lambda column: fields.get(column, "") == NOT_IMPORTED
        )
        shown = set(columns[:MAX_SHOWN])
        return [
            ColumnRow(
                number,
                column,
                [cells.get(column, "") for _, cells in self.head.rows[:_SAMPLES]],
                fields.get(column, NOT_IMPORTED),
                labels.get(column) or label_of(column),
            )
            for number, column in enumerate(self.head.columns)
            if column in shown
        ]

    @property
    def hidden(self) -> int:
        """The number of columns that are not on the page."""
        return len(self.head.columns) - len(self.rows)

    @property
    def left_out(self) -> list[str]:
        return [row.column for row in self.rows if not row.is_imported]

    @cached_property
    def values(self) -> list[ValueCount]:
        """The values of the own answer in the first rows, the unread ones first."""
        if self.mapping.is_pair or self.mapping.column_of("own_answer") is None:
            return []
        mapped = MappedRows(self.mapping)
        found = counted(mapped.answers(cells) for _, cells in self.head.rows)
        return [one for one in found if one.value]

    @property
    def asked_values(self) -> list[ValueCount]:
        """The values whose meaning the page asks; texts of responses need no question."""
        found = {
            one.value: one
            for one in reversed(self.values)
            if one.answer is None
            or one.answer == self.mapping.answers.get(one.value, meaning_of(one.value))
        }
        return [one for one in reversed(found.values()) if len(one.value) <= _LONGEST_VALUE][
            :_VALUES
        ]

    @property
    def equal_texts(self) -> int:
        """The number of the first rows whose own answer is a response's text or model."""
        asked = {(one.value, one.answer) for one in self.asked_values}
        return sum(o.count for o in self.values if o.answer and (o.value, o.answer) not in asked)

    @property
    def unread(self) -> int:
        """The number of the first rows whose own answer cannot be read."""
        return sum(one.count for one in self.values if one.answer is None)

    @property
    def read(self) -> int:
        return sum(one.count for one in self.values if one.answer)

    @cached_property
    def first(self) -> HeadItems:
        """The items of the first rows, checked by the rules of the item format."""
        faults = Faults(self.head.faults)
        if self.mapping.faults():
            return HeadItems([], faults)
        mapped = MappedRows(self.mapping)
        validator = Validator(file=self.head.name, task=self._task, faults=faults)
        raw = ((line, mapped.item(cells)) for line, cells in self.head.rows)
        checked = [validator.item(line, item) for line, item in raw if item is not None]
        return HeadItems([item for item in checked if item][:PREVIEWED], faults)


def sent_mapping(head: Head, stored: ColumnMapping, data: Mapping[str, str]) -> ColumnMapping:
    """The mapping that a page sent. What was not on it is not imported."""
    fields, labels = {}, {}
    for number, column in enumerate(head.columns):
        field = data.get(f"field-{number}", NOT_IMPORTED)
        fields[column] = field if field in FIELDS else NOT_IMPORTED
        label = storable(data.get(f"label-{number}", ""))[:120]
        if fields[column] == FEATURE and label and label != label_of(column):
            labels[column] = label
    answers = dict(stored.answers)
    for number in range(_VALUES):
        value, answer = data.get(f"value-{number}"), data.get(f"answer-{number}")
        if value is None:
            continue
        answers.pop(value, None)
        if answer in (*ANSWERS, "none"):
            answers[value] = "" if answer == "none" else str(answer)
        if not answer:
            answers[value] = UNREAD
    mapping = ColumnMapping(
        fields,
        labels,
        {value: answer for value, answer in answers.items() if value},
        storable(data.get("question", ""))[: LIMITS["question"]],
        storable(data.get("persona_text", ""))[:MAX_TEXT],
    )
    return with_doubts(head, mapping)


def unsaved(study: Study, record: ItemRecord) -> Item:
    """The item of a record, without storing it."""
    persona = record.persona
    return Item(
        study=study,
        persona=Persona(
            study=study,
            key=persona.key,
            features=persona.features,
            text=persona.text,
            history=persona.history,
        ),
        **record.values,
    )
