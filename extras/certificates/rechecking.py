"""Repeat a passport's anchors to see whether the judge is still the certified one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.data.arrays import CODE, Dataset
from analysis.data.dataset import load_dataset
from analysis.data.domain import moved
from analysis.data.item_texts import items_by_content
from analysis.data.verdicts import run_verdicts
from analysis.errors import BadParameters
from analysis.passports import BadPassport, NoSuchJudge, Passport, PassportError
from analysis.stats.core.results import Interval
from extras.certificates import asking
from extras.certificates.certifying import draw
from extras.certificates.facts import (
    answers_of_rounds,
    backend_of,
    run_of_readings,
)
from extras.certificates.signals import certifiable
from extras.certificates.statistics import (
    CalibrationCurve,
    ChangePart,
    Trust,
    anchors_needed,
    calibration_curve,
    items_part,
    judges_part,
    trust_in,
)
from judging.models import JudgeRun
from judging.runs.records import new_versions, readings_of
from studies.models.studies import Study

TOLERATED = 0.05


@dataclass(frozen=True)
class Rechecked:
    """The result of a recheck.

    Attributes
    ----------
    trust : Trust
        Whether the passport holds.
    judge, items : ChangePart
        Their parts of the change in accuracy; the items' part is undefined without other answered
        items.
    moved : list of str
        Sentences on what differs from the certified state.
    needed : int or None
        Anchors that would settle an inconclusive result.
    """

    passport: Passport
    study: str
    tolerated: float
    trust: Trust
    judge: ChangePart
    items: ChangePart
    items_reason: str
    moved: list[str]
    needed: int | None
    unanswered: int

    @property
    def sentences(self) -> list[str]:
        """The result, for readers."""
        found = [_VERDICTS[self.trust].format(tolerated=_points(self.tolerated))]
        found += self.moved
        found.append(_sentence("Judge's part", self.judge, "anchors"))
        if self.judge.n:
            found[-1] += (
                f" {self.judge.lost} changed from right to wrong, {self.judge.gained} from wrong "
                "to right."
            )
        if self.items.value is None:
            found.append(f"Items' part: {self.items_reason}")
        else:
            found.append(_sentence("Items' part", self.items, "items"))
        if self.unanswered:
            found.append(f"{self.unanswered} anchors have no new answer.")
        if self.trust == Trust.INCONCLUSIVE and self.needed:
            found.append(
                f"About {self.needed:,} labelled anchors would settle this if they changed as "
                f"often; this passport has {len(self.passport['anchors']):,}."
            )
        return found

    def record(self) -> dict[str, Any]:
        """The result as JSON."""
        return {
            "verdict": self.trust.value,
            "study": self.study,
            "passport": self.passport.checksum,
            "tolerated": self.tolerated,
            "judge": _record(self.judge),
            "items": _record(self.items) | {"why_none": self.items_reason or None},
            "moved": self.moved,
            "anchors": len(self.passport["anchors"]),
            "anchors_unanswered": self.unanswered,
            "labels_needed": self.needed,
            "sentences": self.sentences,
        }


_VERDICTS = {
    Trust.TRUSTED: "TRUSTED: the passport holds. A loss of accuracy of {tolerated} is ruled out.",
    Trust.NOT_TRUSTED: "NOT TRUSTED: the passport no longer holds.",
    Trust.INCONCLUSIVE: "INCONCLUSIVE: a loss of {tolerated} is neither shown nor ruled out.",
}


def recheck(
    study: Study,
    passport: Passport,
    *,
    answers_of: str = "",
    tolerated: float = TOLERATED,
    inline: bool = True,
    wait: Callable[[Any], None] = lambda run: None,
) -> Rechecked:
    """Repeat the frozen anchors and compare the answers with the earlier ones.

    The anchors come from `study` or from the passport's own study. `answers_of` compares the stored
    judgments of that judge instead of asking. Raises `BadParameters` or `PassportError`.
    """
    if not 0 < tolerated < 1:
        raise BadParameters(f"The tolerance is {tolerated:g}. Use a number between 0 and 1.")
    certifiable(passport["signal"])
    home, items = _home(study, passport)
    data = load_dataset(home.slug)
    if answers_of:
        stored = _stored(home, data, passport, answers_of)
        members = [readings_of(stored, [key for key, _ in items.values()])]
        backends, reasons = [backend_of(stored)], []
    else:
        rounds = asking.answers_again(home, passport, items, inline=inline, wait=wait)
        members = [answers_of_rounds(each.judgments, each.sample_of) for each in rounds]
        backends = [backend_of(each.run) for each in rounds]
        reasons = [
            reason
            for each, described in zip(rounds, passport["judges"], strict=True)
            for reason in (
                *asking.differences(each.run, described, passport),
                *new_versions(described, asking.versions_of_rounds(each)),
            )
        ]
    reasons = list(dict.fromkeys(reasons))
    position = {item.key: index for index, item in enumerate(data.items)}
    now, certainty = _now(data, passport, members, backends, position)
    then, before, after, right = [], [], [], []
    for anchor in passport["anchors"]:
        place = position.get(items.get(anchor["content_hash"], ("", 0))[0])
        then.append(int(anchor["answer"] == anchor["right"]))
        before.append(anchor["certainty"])
        known = place is not None and now[place] is not None
        right.append(
            int(now[place] == CODE[anchor["right"]]) if known and place is not None else -1
        )
        after.append(certainty[place] if place is not None else np.nan)
    of_judge = judges_part(then, right)
    of_items, why = _items_part(study, passport, before, after)
    if study.slug != passport["study"]["slug"]:
        reasons += moved(passport["domain"], load_dataset(study.slug))
    trust = Trust.NOT_TRUSTED if reasons else trust_in(of_judge, tolerated)
    needed = anchors_needed(of_judge, tolerated) if trust == Trust.INCONCLUSIVE else None
    return Rechecked(
        passport=passport,
        study=study.slug,
        tolerated=tolerated,
        trust=trust,
        judge=of_judge,
        items=of_items,
        items_reason=why,
        moved=reasons,
        needed=needed,
        unanswered=right.count(-1),
    )


Home = dict[str, tuple[str, int]]


def _home(study: Study, passport: Passport) -> tuple[Study, Home]:
    """The study that has the anchors, and their keys and ids there by content."""
    hashes = [anchor["content_hash"] for anchor in passport["anchors"]]
    own = Study.objects.filter(slug=passport["study"]["slug"]).first()
    for candidate in filter(None, (study, own)):
        found = items_by_content(candidate, hashes)
        if found:
            return candidate, {key: (facts.key, facts.pk) for key, facts in found.items()}
    raise BadPassport(
        "None of the passport's anchors is an item of this study, or of the study that it was "
        f"made in (“{passport['study']['slug']}”). Import those items first."
    )


def _stored(study: Study, data: Dataset, passport: Passport, judge: str) -> JudgeRun:
    """The stored run of one other judge."""
    if passport["jury"]:
        raise BadParameters("Stored answers of one judge cannot be compared with those of a jury.")
    keys = [run.run for run in data.runs if run.judge == judge]
    wanted = passport["protocol"]
    every = asking.runs_of(study, keys)
    alike = (wanted["setting"], wanted["features"])
    runs = [run for run in every if (run.setting, run.features) == alike] or every
    if len(runs) != 1:
        raise NoSuchJudge(
            f"Study “{study.slug}” has {len(runs)} matching runs of “{judge}”. Exactly one is "
            f"needed, with the setting {wanted['setting']} and the features {wanted['features']}."
        )
    return runs[0]


def _now(
    data: Dataset,
    passport: Passport,
    members: Sequence[Mapping[str, Sequence[Any]]],
    backends: Sequence[str],
    position: Mapping[str, int],
) -> tuple[list[int | None], Any]:
    """Current answers (-1 without a verdict, None without a reply) and signals."""
    placed = [{position[key]: found for key, found in each.items()} for each in members]
    run = run_of_readings(data, passport["jury"], passport["protocol"]["setting"], placed, backends)
    answer, certainty = certifiable(passport["signal"]).read(data, run, run_verdicts(data, run))
    replied = {
        place
        for each in placed
        for place, readings in each.items()
        if any(reading["state"] != "error" for reading in readings)
    }
    answers = [int(found) if row in replied else None for row, found in enumerate(answer)]
    return answers, certainty


def _items_part(
    study: Study, passport: Passport, before: Sequence[float], after: Sequence[float]
) -> tuple[ChangePart, str]:
    nothing = ChangePart(None, None, "empty_group", 0)
    if study.content_hash and study.content_hash == passport["study"]["content_hash"]:
        return ChangePart(0.0, Interval(0.0, 0.0, 0.95, "same items", len(before)), None, 0), ""
    data = load_dataset(study.slug)
    try:
        keys = [run.key for run in asking.runs_in(study, passport)]
    except PassportError as error:
        return nothing, str(error)
    members = [run for key in keys for run in data.runs if run.run == key]
    if len(members) < len(keys):
        return nothing, "the judge has not answered the items of this study yet."
    run = asking.together(data, passport, members)
    _, values = certifiable(passport["signal"]).read(data, run, run_verdicts(data, run))
    rows = draw(data, np.flatnonzero(~np.isnan(values)), passport["seed"], passport["by"])
    curve, old = _curve(passport)
    found = items_part(curve, old, values[rows], anchors_then=before, anchors_now=after)
    return found, "" if found.value is not None else "too few items of this study have the signal."


def _curve(passport: Passport) -> tuple[CalibrationCurve, Any]:
    """The calibration curve and the certainties of the certified items."""
    held = passport["calibration"]
    certainty = np.repeat(held["certainty"], held["n"])
    correct = [
        int(place < right)
        for n, right in zip(held["n"], held["right"], strict=True)
        for place in range(n)
    ]
    curve = calibration_curve(certainty, correct)
    if curve is None:
        raise BadPassport("This passport has no calibration. Certify the judge again.")
    return curve, certainty


def _sentence(name: str, part: ChangePart, unit: str) -> str:
    if part.value is None or part.interval is None:
        return f"{name}: unknown, without answers."
    if part.interval.method == "same items":
        return f"{name}: none, because these are the certified items."
    change = "a change" if part.is_change else "no change shown"
    return (
        f"{name}: {_points(part.value)} (95 % interval {100 * part.interval.low:.1f} to "
        f"{100 * part.interval.high:.1f}, {part.n:,} {unit}): {change}."
    )


def _points(share: float) -> str:
    return f"{100 * share:.1f} percentage points"


def _record(part: ChangePart) -> dict[str, Any]:
    interval = part.interval
    return {
        "value": part.value,
        "reason": part.reason,
        "interval": None if interval is None else [interval.low, interval.high],
        "n": part.n,
        "lost": part.lost,
        "gained": part.gained,
        "is_change": part.is_change,
    }
