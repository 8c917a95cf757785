"""Label the items that a certificate allows, and leave the rest to people."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from analysis.data.arrays import Dataset, RunData
from analysis.data.dataset import load_dataset
from analysis.data.domain import moved
from analysis.data.verdicts import FAILURES, run_verdicts
from analysis.passports import BadPassport, Passport, PassportError
from extras.certificates import asking
from extras.certificates.certifying import percent
from extras.certificates.labels import Division, LabelRow
from extras.certificates.signals import certifiable
from judging.runs.records import new_versions
from studies.models.studies import Study

_SIDES = ("r1", "r2", "tie")


class HasMoved(PassportError):
    """The judge, its prompt or the items differ from the certified ones."""

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__("The certificate does not hold here. " + " ".join(reasons))
        self.reasons = list(reasons)


def check_judge(passport: Passport, judge: str) -> None:
    """Raise `BadPassport` if the passport belongs to another judge."""
    if passport.judge != judge:
        raise BadPassport(f"This passport is about “{passport.judge}”, not “{judge}”.")


def check_unmoved(study: Study, passport: Passport, *, data: Dataset) -> list[str]:
    """The keys of the judge's runs in a study, stored or not.

    Raises `HasMoved` if the prompt, the model or the items differ from the certified ones.
    """
    runs = asking.runs_in(study, passport)
    reasons = [
        reason
        for run, described in zip(runs, passport["judges"], strict=True)
        for reason in (
            *asking.differences(run, described, passport),
            *new_versions(described, asking.versions_in(run)),
        )
    ]
    if data.study.slug != passport["study"]["slug"] or not _same_items(study, passport):
        reasons += moved(passport["domain"], data)
    if reasons:
        raise HasMoved(list(dict.fromkeys(reasons)))
    return [run.key for run in runs]


def _same_items(study: Study, passport: Passport) -> bool:
    return bool(study.content_hash) and study.content_hash == passport["study"]["content_hash"]


def still_to_ask(study: Study, passport: Passport) -> list[asking.Missing]:
    """The questions that the judge must answer before it can label; raises as `label` does."""
    data = load_dataset(study.slug)
    check_unmoved(study, passport, data=data)
    return asking.missing_in(study, passport, len(data.items))


def label(study: Study, passport: Passport) -> Division:
    """Divide a study's items by a passport, using the stored answers.

    Raises `HasMoved`, or `PassportError` if the judge cannot be asked the way the passport says,
    or if the certificate does not say how many of all labels can be wrong.
    """
    data = load_dataset(study.slug)
    keys = check_unmoved(study, passport, data=data)
    _check_counting(passport, data)
    members = [run for key in keys for run in data.runs if run.run == key]
    if len(members) < len(keys):
        lines = [LabelRow(item.key, "", "", None, "not_asked") for item in data.items]
        return Division(study.slug, passport, lines)
    run = asking.together(data, passport, members)
    return Division(study.slug, passport, _lines(data, run, passport))


def _check_counting(passport: Passport, data: Dataset) -> None:
    """Refuse labels of which more can be wrong than somebody agreed to who chose no count."""
    numbers = Counter(item.persona for item in data.items).values()
    is_by_design = passport["by"] == "persona" and passport.content.get("by_design", False)
    if is_by_design and max(numbers) > min(numbers):
        raise PassportError(
            f"The certificate counts every persona equally, and personas have {min(numbers):,} to "
            f"{max(numbers):,} items here, so more than {percent(passport['error'])} of all labels "
            "can be wrong. Certify again and say what counts: every item (--by item), or every "
            "persona (--by persona) if that is what you need."
        )


def _lines(data: Dataset, run: RunData, passport: Passport) -> list[LabelRow]:
    verdicts = run_verdicts(data, run)
    answer, values = certifiable(passport["signal"]).read(data, run, verdicts)
    failures = _failures(data, run)
    lines = []
    for row, item in enumerate(data.items):
        judged = _SIDES[answer[row]] if answer[row] >= 0 else ""
        signal = None if np.isnan(values[row]) else round(float(values[row]), 6)
        if not judged:
            reason = failures.get(row, "not_asked")
        elif signal is None:
            reason = "no_signal"
        else:
            reason = "" if values[row] >= passport["threshold"] else "below_threshold"
        lines.append(LabelRow(item.key, "" if reason else judged, judged, signal, reason))
    return lines


def _failures(data: Dataset, run: RunData) -> dict[int, str]:
    """Why items have no verdict, by position."""
    rows = run.judgments
    why: dict[int, str] = dict.fromkeys(map(int, rows.item[rows.choice >= 0]), "undecided")
    for status in reversed(FAILURES):
        for item in rows.item[rows.status == status]:
            if why.get(int(item)) != "undecided":
                why[int(item)] = status
    return why
