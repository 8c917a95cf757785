"""Importing judgments that were made elsewhere."""

from dataclasses import dataclass
from typing import Any

from django.db import transaction

from judging.backends.replay import IMPORTED, ReplayKind
from judging.errors import ConflictingValue, Reason
from judging.models import Judge, JudgeRun, Judgment
from judging.protocols.registry import protocol
from judging.runs.judges import check_name
from judging.runs.judgment_files import ImportedJudgment, JudgmentFile, read_judgments
from judging.runs.rows.extension import parameters_key
from studies.importers.files.answer_rows import Scale
from studies.importers.files.bundle import File
from studies.importers.files.faults import Fault, Faults, Refused, skipped_rows
from studies.models import Item, Study
from studies.personas import features as feature_sets
from studies.services.studies import freeze, lock_study, record
from studies.statements import clock
from studies.statements.bulk import insert_rows
from studies.texts.normalisation import plain

_TIES = Reason(
    "ties", "{file} holds ties, which the setting “{setting}” does not offer. Use {field} tie."
)


@dataclass(frozen=True)
class Imported:
    run: JudgeRun
    new: int
    known: int
    skipped: tuple[Fault, ...] = ()

    def __str__(self) -> str:
        known = f"; {self.known:,} were there already" if self.known else ""
        return (
            f"Imported {self.new:,} judgments of “{self.run.judge.name}” "
            f"({self.run.setting}, features {self.run.features}){known}."
            f"{skipped_rows(self.skipped)}"
        )


@transaction.atomic
def import_judgments(
    *,
    study_id: int,
    file: File,
    judge_name: str,
    setting: str = "",
    features: str = "",
    skip_faulty: bool = False,
    scale: Scale | None = None,
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
    items = dict(Item.objects.filter(study=study).values_list("key", "pk"))
    content = read_judgments(
        file, study=study, item_keys=items, skip_faulty=skip_faulty, scale=scale
    )
    judge, _ = Judge.objects.get_or_create(
        name=judge_name, defaults={"backend": ReplayKind.name, "model": IMPORTED}
    )
    run = _run(study, judge, content, setting=setting, features=features, file=file)
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
    skipped = (*content.skipped, *storage.faults.skipped)
    known = len(content) - storage.new - len(storage.faults.skipped)
    return Imported(run, storage.new, known, skipped)


class _JudgmentStorage:
    """Stores judgments in portions. After the first fault, it only checks the rest."""

    def __init__(self, run: JudgeRun, items: dict[str, int], file: str, *, skip: bool) -> None:
        self._run, self._items, self._file = run, items, file
        self._had_judgments = run.judgments.exists()
        self._now = clock.now()
        self.faults = Faults(skip=skip)
        self.new = 0

    def store(self, rows: list[ImportedJudgment]) -> None:
        """Store the judgments that the run lacks; one that it has otherwise is a fault."""
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
        """The content of the run's judgments of the items of these rows."""
        found = self._run.judgments.filter(item__in={self._items[row.item_key] for row in rows})
        return {
            (key, first, sample): (*rest, plain(raw_text))
            for key, first, sample, *rest, raw_text in found.values_list(
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
        "judged otherwise before",
        f"item “{row.item_key}” has another judgment of “{judge.name}” already.",
        "Import other judgments under another name of the judge.",
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
