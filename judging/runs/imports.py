"""Import judgments made elsewhere: report all faults of a file, or store all its rows.

CSV or JSON Lines with item_id and choice; extras add formats of their own.
"""

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from judging.backends.backend import IMPORTED, ReplayKind
from judging.errors import ConflictingValue, FailureReason
from judging.models import Judge, JudgeRun, Judgment
from judging.protocols import registry
from judging.protocols.registry import PROTOCOLS, protocol
from judging.runs.judges import check_name
from judging.runs.start import parameters_key
from studies import personas as feature_sets
from studies.extra import Kind
from studies.importers.files.answer_rows import (
    UNKNOWN_ITEM,
    AnswerRow,
    KeptRows,
    ScaleRange,
    read_answer_rows,
    unclear_scale,
)
from studies.importers.files.bundle import File
from studies.importers.files.faults import LISTED, Fault, Faults, Refused, skipped_rows
from studies.importers.files.lines import BadLine
from studies.models import Choice, Item, Study
from studies.services.extras import turn_on
from studies.services.studies import freeze, lock_study, record
from studies.statements import clock
from studies.statements.bulk import insert_rows
from studies.texts.cells import as_sentence
from studies.texts.normalisation import normalise, plain

REQUIRED = ("item_id", "choice")
_NO_VERDICT = ("unparseable", "refused", "skipped", "error")
_STATUSES = ("ok", "regenerated", *_NO_VERDICT)
MOST_SAMPLES = 100
# The key of a run's parameters with the right answers of its own file, where the study has others.
OWN_TRUTHS = "own_truths"


@dataclass(frozen=True)
class ImportedJudgment:
    """One judgment of a file, by content."""

    line: int
    item_key: str
    shown_first: str  # empty if the file does not state it
    sample: int
    state: str
    choice: str
    certainty: int | None
    raw_text: str
    replies: int

    @property
    def key(self) -> tuple[str, str, int]:
        return self.item_key, self.shown_first, self.sample


class JudgmentFile:
    """The judgments of a file, on disk; setting and features as stated in it or visible from it.

    `without_item` counts judgments about items that the study lacks, `truths` has the right answers
    of the file where they are not those of the study, by item.
    """

    def __init__(self) -> None:
        self._rows = KeptRows()
        self.setting = ""
        self.feature_keys: list[str] | None = None  # None: all features
        self.samples = 1
        self.skipped: list[Fault] = []
        self.without_item = 0
        self.truths: dict[str, str] = {}
        self.has_ties = self.has_certainties = False

    def keep(self, row: ImportedJudgment) -> ImportedJudgment | None:
        """Keep a judgment, or return the earlier one of the same question."""
        _, *values = vars(row).values()
        if earlier := self._rows.keep(row.line, row.key, values):
            return ImportedJudgment(earlier.line, *earlier.values)
        self.samples = max(self.samples, row.sample)
        self.has_ties |= row.choice == Choice.TIE
        self.has_certainties |= row.certainty is not None
        return None

    def __len__(self) -> int:
        return len(self._rows)

    def portions(self) -> Iterator[list[ImportedJudgment]]:
        """The judgments in the order of the file, a thousand at a time."""
        for rows in self._rows.portions():
            yield [ImportedJudgment(row.line, *row.values) for row in rows]


@dataclass(frozen=True)
class JudgmentFormat:
    """A format of files of judgments that an extra reads.

    `read` gets the file, the study, and whether faulty rows are left out. It raises `Refused`.
    """

    name: str
    matches: Callable[[File], bool]
    read: Callable[[File, Study, bool], JudgmentFile]


MORE: Kind[JudgmentFormat] = Kind("importers", "judgments")


def read_judgments(
    file: File,
    *,
    study: Study,
    item_keys: Container[str],
    skip_faulty: bool = False,
    scale: ScaleRange | None = None,
) -> JudgmentFile:
    """Read a whole file. Raises `Refused` with every fault, each with its line and remedy.

    With `skip_faulty`, faulty rows are left out; `skipped` of the result has their faults. Many
    rows about items that the study lacks are only counted. `scale` is that of the certainties;
    without it, a file with only low ones is refused.
    """
    for known in MORE:
        if known.matches(file):
            return known.read(file, study, skip_faulty)
    reader = _JudgmentReader(file.name, item_keys, skip=skip_faulty, scale=scale)
    for entry in read_answer_rows(file, required=REQUIRED):
        if isinstance(entry, BadLine):
            reader.faults.append(entry.fault)
        else:
            reader.read(*entry)
    if reader.unknown and not reader.judgments and not reader.faults:
        reader.faults.append(without_items(reader.unknown, reader.unknown, file.name))
    elif not reader.judgments and not reader.faults:
        message = "the file has no judgments."
        reader.faults.append(
            Fault(None, "", "no judgments", message, "Write one a line.", file=file.name)
        )
    if scale is None and (unclear := unclear_scale(reader.certainties, file.name)):
        reader.faults.append(unclear)
    if reader.faults:
        raise Refused(reader.faults)
    reader.judgments.setting = reader.setting()
    reader.judgments.skipped = reader.faults.skipped
    return reader.judgments


def without_items(count: int, of: int, file: str, *, first: int | None = None) -> Fault:
    """The fault of a file of which `count` rows are about items that the study does not have.

    `first` is the line of the first one.
    """
    remedy = "Import the items of the same files first"
    if count < of:
        message = f"{count:,} of {of:,} judgments are about items that the study does not have."
        remedy += ", or leave these rows out"
    else:
        message = f"none of {of:,} judgments is about an item of the study."
    line = None if count == of else first
    return Fault(line, "item", UNKNOWN_ITEM, message, f"{remedy}.", file=file)


class _JudgmentReader:
    """Turns the rows of one file into judgments and collects their faults."""

    def __init__(
        self, file: str, item_keys: Container[str], *, skip: bool, scale: ScaleRange | None
    ) -> None:
        self._scale = scale
        self.certainties: list[int] = []
        self._file, self._item_keys = file, item_keys
        self._raters: set[str] = set()
        self._settings: set[str] = set()
        self.unknown = 0  # rows about items that the study lacks
        self.faults = Faults(skip=skip)
        self.judgments = JudgmentFile()

    def setting(self) -> str:
        """The setting that the rows name, or the one that follows from them."""
        if self._settings:
            return self._settings.pop()
        if self.judgments.has_certainties:
            return "certainty"
        return "tie" if self.judgments.has_ties else "standard"

    def read(self, line: int, raw: Any) -> None:
        """Read one row as a judgment, or collect its faults."""
        row = AnswerRow(line, self._file, self._scale)
        is_unknown = isinstance(raw, Mapping) and row.is_unknown(raw, self._item_keys)
        self.unknown += is_unknown
        if is_unknown and len(self.faults.skipped) >= LISTED:
            self.judgments.without_item += 1
        elif isinstance(raw, Mapping):
            judgment = self._judgment(row, raw)
            if not row.faults:
                self._keep(row, judgment)
                self.certainties += [] if judgment.certainty is None else [judgment.certainty]
        else:
            row.fault("", "not an object", "the line is not a JSON object.", "Write one judgment.")
        self.faults += row.faults

    def _judgment(self, row: AnswerRow, raw: Mapping[str, Any]) -> ImportedJudgment:
        item = row.item(raw, self._item_keys)
        choice = row.choice(raw)
        status = row.one_of(raw, "parse_status", _STATUSES)
        judgment = ImportedJudgment(
            line=row.line,
            item_key=item,
            shown_first=row.shown_first(raw),
            sample=row.whole_number(raw, "sample", low=1, high=MOST_SAMPLES) or 1,
            state=status if status in _NO_VERDICT else "done" if choice else "unparseable",
            choice=choice,
            certainty=row.certainty(raw, choice=choice),
            raw_text=_text(row, raw.get("raw_text")),
            replies=row.whole_number(raw, "attempts", low=0, high=5) or 0,
        )
        _check_consistency(row, judgment, status)
        row.rater_kind(raw, "model", command="import_annotations")
        self._check_file(row, raw)
        return judgment

    def _keep(self, row: AnswerRow, judgment: ImportedJudgment) -> None:
        known = self.judgments.keep(judgment)
        if known is not None and _content(known) != _content(judgment):
            row.fault(
                "item_id",
                "judged twice",
                f"item “{judgment.item_key}” was judged differently {row.on(known.line)}.",
                "Number repeated judgments of an item in a column “sample”.",
                value=judgment.item_key,
            )

    def _check_file(self, row: AnswerRow, raw: Mapping[str, Any]) -> None:
        """Check that one file holds one judge in one setting, asked without a bias probe."""
        if raw.get("bias_probe"):
            row.fault(
                "bias_probe",
                "changed prompts",
                "the prompt was changed to measure a bias, so this is not a judgment of the item.",
                "Remove rows with a bias_probe.",
                value=raw["bias_probe"],
            )
        named = row.one(raw, "rater_id")
        rater = "" if named is None else str(named)
        setting = row.one_of(raw, "setting", registry.names())
        for field, seen, value in (
            ("rater_id", self._raters, rater),
            ("setting", self._settings, setting),
        ):
            if value and seen and value not in seen:
                row.fault(
                    field,
                    f"several of {field}",
                    f"earlier rows have the {field} “{next(iter(seen))}”, this one has “{value}”.",
                    "Import one file for each.",
                    value=value,
                )
            elif value:
                seen.add(value)


def _check_consistency(row: AnswerRow, judgment: ImportedJudgment, status: str) -> None:
    if judgment.choice and status in _NO_VERDICT:
        row.fault(
            "choice",
            "choice without verdict",
            f"parse_status is {status}, but there is a choice.",
            "Leave choice empty, or set parse_status to ok.",
            value=judgment.choice,
        )
    if not judgment.choice and status in ("ok", "regenerated"):
        row.fault(
            "choice",
            "verdict without choice",
            f"parse_status is {status}, but there is no choice.",
            f"Enter the choice, or use one of: {', '.join(_NO_VERDICT)}.",
        )
    elif not judgment.choice and judgment.certainty is not None:
        row.fault(
            "certainty",
            "certainty without choice",
            "there is a certainty without a choice of r1 or r2.",
            "Leave certainty empty.",
            value=judgment.certainty,
        )


def _text(row: AnswerRow, value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        row.fault("raw_text", "raw_text is not text", "raw_text must be text.", value=value)
        return ""
    return plain(value)


def _content(judgment: ImportedJudgment) -> tuple[Any, ...]:
    return judgment.state, judgment.choice, judgment.certainty, judgment.raw_text


_TIES = FailureReason(
    "ties", "{file} holds ties, which the setting “{setting}” does not offer. Use {field} tie."
)


@dataclass(frozen=True)
class Imported:
    run: JudgeRun
    new: int
    known: int
    skipped: tuple[Fault, ...] = ()
    without_item: int = 0
    other_truths: tuple[str, ...] = ()
    changed: str = ""

    def __str__(self) -> str:
        known = f"; {self.known:,} already existed" if self.known else ""
        unknown = (
            f" Left out, because the study does not have their items: {self.without_item:,}."
            if self.without_item
            else ""
        )
        return "\n".join(
            [
                f"Imported {self.new:,} judgments of “{self.run.judge.name}” "
                f"({self.run.setting}, features {self.run.features}){known}.{unknown}{self.changed}"
                f"{skipped_rows(self.skipped)}",
                *self._other_truths(),
            ]
        )

    def _other_truths(self) -> Iterator[str]:
        """What the file says otherwise than the study, where they differ in right answers."""
        if not self.other_truths:
            return
        yield (
            f"Right answers that differ from the study's: {len(self.other_truths):,}. The "
            "article's tables count this run by its own file, reports by the study."
        )
        yield from (f"  {line}" for line in self.other_truths[:LISTED])
        if (left := len(self.other_truths) - LISTED) > 0:
            yield f"  and {left:,} more"


@transaction.atomic
def import_judgments(
    *,
    study_id: int,
    file: File,
    judge_name: str,
    setting: str = "",
    features: str = "",
    skip_faulty: bool = False,
    scale: ScaleRange | None = None,
) -> Imported:
    """Store all judgments of a file or none; a second import of the same file changes nothing.

    An unknown judge is created, for recorded answers. Setting and features are read from the file
    unless they are given. Raises `Refused` with every fault of the file, or
    `ConflictingValue`. With `skip_faulty`, faulty rows are left out instead; `scale` is that of
    the certainties.
    """
    check_name("judge", judge_name)
    file = file.once()
    study = lock_study(study_id)
    there = list(Item.objects.filter(study=study).values_list("key", "pk", "first_person"))
    items = {key: pk for key, pk, _ in there}
    content = read_judgments(
        file, study=study, item_keys=items, skip_faulty=skip_faulty, scale=scale
    )
    judge, _ = Judge.objects.get_or_create(
        name=judge_name, defaults={"backend": ReplayKind.name, "model": IMPORTED}
    )
    run = _run(study, judge, content, setting=setting, features=features, file=file)
    turn_on(study, PROTOCOLS.extra_of(run.setting))
    storage = _JudgmentStorage(run, items, file.name, skip=skip_faulty)
    for rows in content.portions():
        storage.store(rows)
    if storage.faults:
        raise Refused(storage.faults)
    if storage.new:
        freeze(study.pk)
        record(study, "judgments imported", run=run.public_id, judge=judge.name, new=storage.new)
    if content.samples > run.samples:
        JudgeRun.objects.filter(pk=run.pk).update(samples=content.samples)
    if content.truths:
        truths = {**run.parameters.get(OWN_TRUTHS, {}), **content.truths}
        run.parameters = {**run.parameters, OWN_TRUTHS: truths}
        run.save(update_fields=["parameters"])
    return Imported(
        run,
        new=storage.new,
        known=len(content) - storage.new - len(storage.faults.skipped),
        skipped=(*content.skipped, *storage.faults.skipped),
        without_item=content.without_item,
        other_truths=tuple(_differing(content.truths, {key: truth for key, _, truth in there})),
        changed=as_sentence(file.changes),
    )


def _differing(own: Mapping[str, str], known: Mapping[str, str]) -> Iterator[str]:
    words = dict(Item.FirstPerson.choices)
    for key, truth in sorted(own.items()):
        yield f"item “{key}”: {words[truth]} in the file, {words[known[key]]} in the study"


class _JudgmentStorage:
    """Stores judgments in portions. After the first fault, it only checks the rest."""

    def __init__(self, run: JudgeRun, items: dict[str, int], file: str, *, skip: bool) -> None:
        self._run, self._items, self._file = run, items, file
        self._had_judgments = run.judgments.exists()
        self._now = clock.now()
        self.faults = Faults(skip=skip)
        self.new = 0

    def store(self, rows: list[ImportedJudgment]) -> None:
        """Store the judgments that the run lacks; a differing existing one is a fault."""
        stored = self._stored(rows) if self._had_judgments else {}
        new = []
        for row in rows:
            known = stored.get(row.key)
            if known is None:
                new.append(row)
            elif known != (row.state, row.choice, row.certainty, row.raw_text):
                self.faults.append(_judged_otherwise(row, self._run.judge, self._file))
        self.new += len(new)
        if new and not self.faults:
            self._insert(new)

    def _stored(self, rows: list[ImportedJudgment]) -> dict[tuple[str, str, int], tuple[Any, ...]]:
        stored = self._run.judgments.filter(item__in={self._items[row.item_key] for row in rows})
        return {
            (key, first, sample): (*rest, normalise(plain(raw_text)))
            for key, first, sample, *rest, raw_text in stored.values_list(
                "item__key", "shown_first", "sample", "state", "choice", "certainty", "raw_text"
            )
        }

    def _insert(self, rows: list[ImportedJudgment]) -> None:
        insert_rows(
            Judgment,
            (
                "run",
                "item",
                "shown_first",
                "sample",
                "state",
                "choice",
                "certainty",
                "raw_text",
                "replies",
                "answered_at",
            ),
            [
                (
                    self._run.pk,
                    self._items[row.item_key],
                    row.shown_first,
                    row.sample,
                    row.state,
                    row.choice,
                    row.certainty,
                    row.raw_text,
                    row.replies,
                    self._now,
                )
                for row in rows
            ],
        )


def _judged_otherwise(row: ImportedJudgment, judge: Judge, file: str) -> Fault:
    return Fault(
        row.line,
        "item_id",
        "judged differently before",
        f"item “{row.item_key}” already has a different judgment by “{judge.name}”.",
        "Import these judgments under another judge name.",
        row.item_key,
        file,
    )


def _run(
    study: Study, judge: Judge, content: JudgmentFile, *, setting: str, features: str, file: File
) -> JudgeRun:
    setting = setting or content.setting
    if not protocol(setting).offers_tie and content.has_ties:
        raise ConflictingValue("setting", _TIES, file=file.name, setting=setting)
    keys = feature_sets.resolve(study, features) if features else content.feature_keys
    label = features or ("all" if keys is None else ",".join(keys) or "none")
    parameters = {
        "study": study.slug,
        "judge": judge.name,
        "setting": setting,
        "features": label,
        "feature_keys": keys,
        "imported": True,
    }
    run, _ = JudgeRun.objects.get_or_create(
        key=parameters_key(parameters),
        defaults={
            "study": study,
            "judge": judge,
            "setting": setting,
            "features": label,
            "feature_keys": keys,
            "seed": study.seed,
            "is_imported": True,
            "parameters": {
                **parameters,
                "file": file.name,
                "sha256": file.sha256(),
            },
            "state": JudgeRun.State.DONE,
            "sentence": f"Imported from {file.name}.",
            "ended_at": clock.now(),
        },
    )
    return run
