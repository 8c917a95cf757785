"""Ask a passport's anchors again, to see whether its judge is still as good as certified."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Min

from analysis.data.dataset import load_dataset
from analysis.data.domain import moved
from analysis.errors import BadParameters
from analysis.passports import BadPassport, NoSuchJudge, Passport, PassportError
from analysis.stats import Trust
from extras.watching.asking import Round, ask_again, cost_words, rounds_of, wait_for
from extras.watching.stats.means import mean_sequence
from judging.errors import JudgingError
from judging.models import JudgeRun
from judging.runs.records import (
    changes,
    new_versions,
    reading,
    readings_of,
    reported_versions,
    run_described,
)
from studies.models import Item
from studies.models.studies import Study

TOLERATED = 0.05
_MOST_ROUNDS = 100
_HASHES_PER_READ = 500
Readings = Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True)
class LossOfAccuracy:
    """How much less often anchors are right than when the judge was certified.

    `value` and `interval` are the mean over all rounds and its interval at 95 %, which holds
    however often the anchors are asked; `lost` and `gained` are of the last round.
    """

    value: float | None
    interval: tuple[float, float] | None
    n: int
    rounds: int
    lost: int
    gained: int


@dataclass(frozen=True)
class Rechecked:
    """The result of a recheck.

    `moved`: sentences on what differs from the certified state. `needed`: further rechecks that
    would settle an inconclusive result.
    """

    passport: Passport
    study: str
    tolerated: float
    trust: Trust
    loss: LossOfAccuracy
    moved: list[str]
    needed: int | None
    unanswered: int

    @property
    def sentences(self) -> list[str]:
        """The result, for readers."""
        words = [_VERDICTS[self.trust].format(tolerated=_points(self.tolerated)), *self.moved]
        words.append(_of_loss(self.loss))
        if self.unanswered:
            words.append(f"{self.unanswered} anchors have no new answer.")
        if self.trust == Trust.INCONCLUSIVE and self.needed:
            more = "1 more recheck" if self.needed == 1 else f"{self.needed} more rechecks"
            words.append(f"About {more} would settle this if the anchors changed as often.")
        return words

    def record(self) -> dict[str, Any]:
        """The result as JSON."""
        loss = self.loss
        return {
            "verdict": self.trust.value,
            "study": self.study,
            "passport": self.passport.checksum,
            "tolerated": self.tolerated,
            "judge": {
                "value": None if loss.value is None else -loss.value,
                "interval": None
                if loss.interval is None
                else [-loss.interval[1], -loss.interval[0]],
                "n": loss.n,
                "rounds": loss.rounds,
                "lost": loss.lost,
                "gained": loss.gained,
            },
            "moved": self.moved,
            "anchors": len(self.passport["anchors"]),
            "anchors_unanswered": self.unanswered,
            "rechecks_needed": self.needed,
            "sentences": self.sentences,
        }


_VERDICTS = {
    Trust.TRUSTED: "TRUSTED: the passport holds. A loss of accuracy of {tolerated} is ruled out.",
    Trust.NOT_TRUSTED: "NOT TRUSTED: the passport no longer holds.",
    Trust.INCONCLUSIVE: "INCONCLUSIVE: a loss of {tolerated} is neither shown nor ruled out.",
}


@dataclass(frozen=True)
class PassportAnchors:
    """The anchors of a passport in the study that has them, and the runs that answer them."""

    study: Study
    passport: Passport
    items: Mapping[str, tuple[str, int]]  # keys and ids by content
    runs: Sequence[JudgeRun]

    @property
    def questions(self) -> list[list[tuple[int, str, int]]]:
        """The questions of each run: item, the response shown first, and the sample."""
        return [
            [
                (self.items[anchor["content_hash"]][1], asked["shown_first"], asked["sample"])
                for anchor in self.passport["anchors"]
                if anchor["content_hash"] in self.items
                for asked in anchor["readings"][number]
            ]
            for number in range(len(self.runs))
        ]


def anchors_of(study: Study, passport: Passport) -> PassportAnchors:
    """Find the anchors in `study` or in the passport's own study. Raises `PassportError`."""
    hashes = [anchor["content_hash"] for anchor in passport["anchors"]]
    own = Study.objects.filter(slug=passport["study"]["slug"]).first()
    for candidate in filter(None, (study, own)):
        if items := _items_by_content(candidate, hashes):
            try:
                runs = [
                    run_described(candidate, described, passport["protocol"])
                    for described in passport["judges"]
                ]
            except JudgingError as error:
                raise PassportError(str(error)) from error
            return PassportAnchors(candidate, passport, items, runs)
    raise BadPassport(
        "None of the passport's anchors is an item of this study, or of the study that it was "
        f"made in (“{passport['study']['slug']}”). Import those items first."
    )


def _items_by_content(study: Study, hashes: Sequence[str]) -> dict[str, tuple[str, int]]:
    """The key and the id of the first item with each content, by content hash."""
    items: dict[str, tuple[str, int]] = {}
    for start in range(0, len(hashes), _HASHES_PER_READ):
        some = hashes[start : start + _HASHES_PER_READ]
        rows = Item.objects.filter(study=study, content_hash__in=some).order_by("key")
        for content, key, pk in rows.values_list("content_hash", "key", "pk"):
            items.setdefault(content, (key, pk))
    return items


def cost_of_recheck(study: Study, passport: Passport) -> str:
    """What a recheck asks, in words. Raises `PassportError`."""
    anchors = anchors_of(study, passport)
    return " ".join(
        cost_words(run, len(questions))
        for run, questions in zip(anchors.runs, anchors.questions, strict=True)
    )


def recheck(
    study: Study,
    passport: Passport,
    *,
    answers_of: str = "",
    tolerated: float = TOLERATED,
    inline: bool = True,
) -> Rechecked:
    """Ask the anchors again and compare the answers of all rounds with the earlier ones.

    `answers_of` compares the stored judgments of that judge instead of asking. Raises
    `BadParameters` or `PassportError`.
    """
    if not 0 < tolerated < 1:
        raise BadParameters(f"The tolerance is {tolerated:g}. Use a number between 0 and 1.")
    anchors = anchors_of(study, passport)
    rounds: list[list[Readings]]
    reasons: list[str] = []
    if answers_of:
        keys = [key for key, _ in anchors.items.values()]
        rounds = [[readings_of(_stored(anchors, answers_of), keys)]]
    else:
        rounds, reasons = _ask(anchors, inline=inline)
    looks = [list(_losses(anchors, members)) for members in rounds]
    loss, unanswered = _loss(looks), len(passport["anchors"]) - len(looks[-1])
    if study.slug != passport["study"]["slug"]:
        reasons += moved(passport["domain"], load_dataset(study.slug))
    trust = Trust.NOT_TRUSTED if reasons else _trust(loss.interval, tolerated)
    needed = _needed(looks, tolerated) if trust == Trust.INCONCLUSIVE else None
    return Rechecked(passport, study.slug, tolerated, trust, loss, reasons, needed, unanswered)


def _ask(anchors: PassportAnchors, *, inline: bool) -> tuple[list[list[Readings]], list[str]]:
    """The answers of all rounds since the passport was made, and what differs from then."""
    passport = anchors.passport
    reasons: list[str] = []
    of_runs: list[list[Readings]] = []
    try:
        for run, described, questions in zip(
            anchors.runs, passport["judges"], anchors.questions, strict=True
        ):
            asked = ask_again(run, questions, enqueue=not inline)
            wait_for(asked, inline=inline)
            reasons += changes(asked.run, described, passport["protocol"])
            reasons += new_versions(described, reported_versions([], asked.judgments))
            of_runs.append(list(_rounds(asked.run, passport["made_on"])))
    except JudgingError as error:
        raise PassportError(str(error)) from error
    # Rounds of a jury are those that all of its judges have.
    last = min(map(len, of_runs))
    rounds = [list(members) for members in zip(*(own[-last:] for own in of_runs), strict=True)]
    return rounds, list(dict.fromkeys(reasons))


def _rounds(run: JudgeRun, since: str) -> Iterator[Readings]:
    for asked in rounds_of(run):
        begun = asked.judgments.aggregate(first=Min("answered_at"))["first"]
        if begun is not None and begun.date().isoformat() >= since:
            yield _readings(asked)


def _readings(asked: Round) -> Readings:
    readings: dict[str, list[dict[str, Any]]] = {}
    for judgment in asked.judgments.select_related("item").order_by("shown_first", "sample"):
        own = readings.setdefault(judgment.item.key, [])
        own.append(reading(judgment, asked.sample_of(judgment)))
    return readings


def _stored(anchors: PassportAnchors, judge: str) -> JudgeRun:
    """The stored run of one other judge."""
    study, passport = anchors.study, anchors.passport
    if passport["jury"]:
        raise BadParameters("Stored answers of one judge cannot be compared with those of a jury.")
    wanted = passport["protocol"]
    every = list(study.judge_runs.filter(judge__name=judge, bias_probe="", probe_first=False))
    alike = (wanted["setting"], wanted["features"])
    runs = [run for run in every if (run.setting, run.features) == alike] or every
    if len(runs) != 1:
        raise NoSuchJudge(
            f"Study “{study.slug}” has {len(runs)} matching runs of “{judge}”. Exactly one is "
            f"needed, with the setting {wanted['setting']} and the features {wanted['features']}."
        )
    return runs[0]


def _losses(anchors: PassportAnchors, members: Sequence[Readings]) -> Iterator[int]:
    """1 for each anchor that is no longer right, -1 for one that now is, 0 for others."""
    by_probability = anchors.passport["signal"] == "entropy"
    for anchor in anchors.passport["anchors"]:
        key, _ = anchors.items.get(anchor["content_hash"], ("", 0))
        answers = [own[key] for own in members if key in own]
        if any(one["state"] != "error" for own in answers for one in own):
            now = _answer(answers, by_probability=by_probability)
            yield int(anchor["answer"] == anchor["right"]) - int(now == anchor["right"])


def _answer(members: Sequence[Sequence[Mapping[str, Any]]], *, by_probability: bool) -> str:
    """The majority of the members' answers; empty without one."""
    votes = [_more_probable(own) if by_probability else _most(_choices(own)) for own in members]
    return _most(filter(None, votes))


def _choices(readings: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    return (one["choice"] for one in readings if one["choice"])


def _most(choices: Iterator[str]) -> str:
    ranked = Counter(choices).most_common(2)
    is_tied = len(ranked) == 2 and ranked[0][1] == ranked[1][1]
    return "" if is_tied or not ranked else ranked[0][0]


def _more_probable(readings: Sequence[Mapping[str, Any]]) -> str:
    """The side with more probability, by the mean of the means of both orders."""
    orders: dict[str, list[float]] = {}
    for one in readings:
        sides = one["probabilities"] or {}
        if total := sides.get("r1", 0) + sides.get("r2", 0):
            orders.setdefault(one["shown_first"], []).append(sides.get("r1", 0) / total)
    means = [sum(shares) / len(shares) for shares in orders.values()]
    if not means or (share := sum(means) / len(means)) == 0.5:
        return ""
    return "r1" if share > 0.5 else "r2"


def _loss(looks: Sequence[Sequence[int]]) -> LossOfAccuracy:
    every, last = [loss for look in looks for loss in look], looks[-1]
    if not every:
        return LossOfAccuracy(None, None, 0, len(looks), 0, 0)
    return LossOfAccuracy(
        value=sum(every) / len(every),
        interval=_interval(looks),
        n=len(last),
        rounds=len(looks),
        lost=last.count(1),
        gained=last.count(-1),
    )


def _interval(looks: Sequence[Sequence[int]]) -> tuple[float, float]:
    low, high = mean_sequence([[(loss + 1) / 2 for loss in look] for look in looks])[-1]
    return 2 * low - 1, 2 * high - 1


def _trust(interval: tuple[float, float] | None, tolerated: float) -> Trust:
    """Whether a larger loss than tolerated is ruled out, or any loss shown."""
    if interval is None:
        return Trust.INCONCLUSIVE
    if interval[1] <= tolerated:
        return Trust.TRUSTED
    return Trust.NOT_TRUSTED if interval[0] > 0 else Trust.INCONCLUSIVE


def _needed(looks: Sequence[Sequence[int]], tolerated: float) -> int | None:
    """Further rounds like these that would decide; None if many would not."""
    every = [loss for look in looks for loss in look]
    if not every:
        return None
    more: list[Sequence[int]] = list(looks)
    for number in range(1, _MOST_ROUNDS + 1):
        more.append(looks[(number - 1) % len(looks)])
        if _trust(_interval(more), tolerated) != Trust.INCONCLUSIVE:
            return number
    return None


def _of_loss(loss: LossOfAccuracy) -> str:
    if loss.value is None or loss.interval is None:
        return "Change in accuracy: unknown, without answers."
    rounds = "1 round" if loss.rounds == 1 else f"{loss.rounds} rounds"
    return (
        f"Change in accuracy: {_points(-loss.value)} (95 % interval {-100 * loss.interval[1]:.1f} "
        f"to {-100 * loss.interval[0]:.1f}, {loss.n:,} anchors, {rounds}). In the last round "
        f"{loss.lost} were wrong instead of right, and {loss.gained} right instead of wrong."
    )


def _points(share: float) -> str:
    return f"{100 * share + 0.0:.1f} percentage points"
