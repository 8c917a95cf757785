"""Find the runs of a passport's judge in a study, and what they have not answered."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from analysis.data.arrays import Dataset, RunData
from analysis.data.juries import jury_run
from analysis.passports import Passport, PassportError
from judging.errors import JudgingError
from judging.models import JudgeRun, Judgment
from judging.runs.records import changes, reported_versions, run_described
from studies.models.studies import Study


@contextmanager
def in_words() -> Iterator[None]:
    """Re-raise judging errors as passport errors with the same message."""
    try:
        yield
    except JudgingError as error:
        raise PassportError(str(error)) from error


@in_words()
def runs_in(study: Study, passport: Passport) -> list[JudgeRun]:
    """The runs of the passport's judges in a study; missing ones are created, but not stored.

    Raises `PassportError` if a judge is missing, its judgments would have to be imported, or it
    cannot be asked the way the passport says.
    """
    return [run_described(study, judge, passport["protocol"]) for judge in passport["judges"]]


def differences(run: JudgeRun, described: Mapping[str, Any], passport: Passport) -> list[str]:
    """Sentences on how a judge or its prompt differ from the certified ones."""
    return changes(run, described, passport["protocol"])


def versions_in(run: JudgeRun) -> Any:
    return reported_versions([run]) if run.pk else []


def together(data: Dataset, passport: Passport, members: Sequence[RunData]) -> RunData:
    """The combined runs of a jury, or the one run of a single judge."""
    return jury_run(data, passport["jury"], members) if passport["jury"] else members[0]


@dataclass(frozen=True)
class Missing:
    """Questions that a judge has not answered, and the options of `judge` that ask them."""

    judge: str
    items: int
    options: Mapping[str, Any]


def missing_in(study: Study, passport: Passport, items: int) -> list[Missing]:
    """What a passport's judges have not answered in a study, except imported judges."""
    missing = []
    for run in runs_in(study, passport):
        count = 0 if run.is_imported else _unanswered(run, items)
        if count:
            missing.append(Missing(run.judge.name, count, _options(run)))
    return missing


def _options(run: JudgeRun) -> dict[str, Any]:
    return {
        "judge": run.judge.name,
        "setting": run.setting,
        "features": run.features,
        "orders": run.orders,
        "samples": run.samples,
        "seed": run.seed,
        "framing": run.framing,
        "reading": run.reading,
        "language": run.prompt_language,
        "wording": f"{run.wording.name}@{run.wording.version}" if run.wording else "",
    }


def _unanswered(run: JudgeRun, items: int) -> int:
    if run.pk is None:
        return items
    rows = Judgment.objects.filter(run=run)
    waiting = rows.filter(state__in=(*Judgment.OPEN, Judgment.State.ERROR))
    asked = rows.order_by().values("item").distinct().count()
    return items - asked + waiting.order_by().values("item").distinct().count()
