"""Importing judgments that were made elsewhere."""

from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from judging.backends.replay import IMPORTED, ReplayKind
from judging.errors import ConflictingValue, Reason
from judging.models import Judge, JudgeRun, Judgment
from judging.protocols.registry import protocol
from judging.runs.extension import parameters_key
from judging.runs.judges import check_name
from judging.runs.judgment_files import ImportedJudgment, JudgmentFile, read_judgments
from studies.importers.files.bundle import File
from studies.importers.files.faults import Fault, Refused
from studies.models import Item, Study
from studies.personas import features as feature_sets
from studies.services.studies import freeze, lock_study, record
from studies.text import plain

_TIES = Reason(
    "ties", "{file} holds ties, which the setting “{setting}” does not offer. Use {field} tie."
)


@dataclass(frozen=True)
class Imported:
    run: JudgeRun
    new: int
    known: int

    def __str__(self) -> str:
        known = f"; {self.known:,} were there already" if self.known else ""
        return (
            f"Imported {self.new:,} judgments of “{self.run.judge.name}” "
            f"({self.run.setting}, features {self.run.features}){known}."
        )


@transaction.atomic
def import_judgments(
    *, study_id: int, file: File, judge_name: str, setting: str = "", features: str = ""
) -> Imported:
    """Store all judgments of a file or none; a second import of the same file changes nothing.

    An unknown judge is created, for recorded answers. Setting and features are read from the file
    unless they are given. Raises `Refused` with every fault of the file, or
    `ConflictingValue`.
    """
    check_name("judge", judge_name)
    study = lock_study(study_id)
    items = {i.key: i for i in Item.objects.filter(study=study).select_related("persona")}
    content = read_judgments(file, items=items)
    judge, _ = Judge.objects.get_or_create(
        name=judge_name, defaults={"backend": ReplayKind.name, "model": IMPORTED}
    )
    run = _run(study, judge, content, setting=setting, features=features, file=file)
    new, known = _new_rows(run, content.rows, file)
    now = timezone.now()
    Judgment.objects.bulk_create(
        [
            Judgment(
                run=run,
                item=items[row.item_key],
                shown_first=row.shown_first,
                sample=row.sample,
                state=row.state,
                choice=row.choice,
                certainty=row.certainty,
                raw_text=row.raw_text,
                replies=row.replies,
                answered_at=now,
            )
            for row in new
        ],
        batch_size=1000,
    )
    if new:
        freeze(study.pk)
        record(study, "judgments imported", run=run.public_id, judge=judge.name, new=len(new))
    samples = max(row.sample for row in content.rows)
    if samples > run.samples:
        JudgeRun.objects.filter(pk=run.pk).update(samples=samples)
    return Imported(run, len(new), known)


def _run(
    study: Study, judge: Judge, content: JudgmentFile, *, setting: str, features: str, file: File
) -> JudgeRun:
    setting = setting or content.setting
    if not protocol(setting).offers_tie and any(row.choice == "tie" for row in content.rows):
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
            "ended_at": timezone.now(),
        },
    )
    return run


def _new_rows(
    run: JudgeRun, rows: list[ImportedJudgment], file: File
) -> tuple[list[ImportedJudgment], int]:
    """The rows that are not stored yet, and how many are. Raises `Refused` if they differ."""
    stored = {
        (key, first, sample): (*rest, plain(raw_text))
        for key, first, sample, *rest, raw_text in run.judgments.values_list(
            "item__key", "shown_first", "sample", "state", "choice", "certainty", "raw_text"
        )
    }
    new, faults = [], []
    for row in rows:
        known = stored.get(row.key)
        if known is None:
            new.append(row)
        elif known != (row.state, row.choice, row.certainty, row.raw_text):
            faults.append(
                Fault(
                    row.line,
                    "item_id",
                    "judged otherwise before",
                    f"item “{row.item_key}” has another judgment of “{run.judge.name}” already.",
                    "Import other judgments under another name of the judge.",
                    row.item_key,
                    file.name,
                )
            )
    if faults:
        raise Refused(faults)
    return new, len(rows) - len(new)
