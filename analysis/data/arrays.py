"""The data of a study as plain arrays, from which a report is computed.

It has no database ids or clock times, so equal answers give an equal report anywhere, any time.
Choices are content: 0 is response 1, 1 is response 2, 2 is a tie, -1 is missing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from analysis.data.frozen_plan import USUAL_FRAMING, Departure, FrozenPlan, LateChange, feed
from judging.protocols.parsing import CERTAINTY
from judging.protocols.registry import protocol

if TYPE_CHECKING:
    from analysis.data.juries import ProbedRun
    from analysis.stats.core.aggregation import TiePolicy

CHOICES = ("r1", "r2", "tie")
TIE = 2
MISSING = -1
# How much less than a person a judge may agree with people, because a person costs more: the
# advantage over crowd workers used by the authors of the alternative annotator test.
EPSILON = 0.1
# Parameters of imported judgments that state their origin.
_OF_A_FILE = ("study", "file", "sha256")
CODE = {"r1": 0, "r2": 1, "tie": TIE, "": MISSING, None: MISSING}

Codes = npt.NDArray[np.int8]
Index = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class StudyFacts:
    slug: str
    title: str
    task: str
    language: str
    is_simulated: bool
    allow_tie: bool
    ask_certainty: bool
    certainty_threshold: int
    equivalence_margin: float
    annotations_per_item: int
    items_per_annotator: int
    persona_style: str
    show_history: int
    minutes: int
    reward: int
    currency: str
    source: Mapping[str, Any]
    question: str
    item_languages: tuple[str, ...] = ()
    asks_own_answers: bool = False
    extras: tuple[str, ...] = ()
    """Names of the extras that are on, sorted."""

    def has_extra(self, name: str) -> bool:
        return name in self.extras


@dataclass(frozen=True)
class Exclusion:
    """An excluded annotator: why, when (UTC day), by whom, and with how many answers.

    `after_report` says whether the study already had a report, so that its result was known.
    """

    rater: str
    reason: str
    on: str
    by: str
    answers: int
    after_report: bool


@dataclass(frozen=True)
class LeftOutItem:
    """An item that was taken out of the analysis, as `Exclusion` says it of an annotator."""

    item: str
    reason: str
    on: str
    by: str
    answers: int
    after_report: bool


@dataclass(frozen=True)
class Recruiting:
    """A study that is open or paused: its state, and the number of answers that it wants."""

    state: str
    wanted: int


@dataclass(frozen=True)
class LateExtra:
    """An extra that was turned on (UTC day) after the first answer, or even after a report."""

    name: str
    title: str
    on: str
    after_report: bool


@dataclass(frozen=True)
class ItemData:
    key: str
    topic: str
    persona: str
    question: str
    truth: str
    lengths: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Answers:
    """Annotators' counted answers, one row each, sorted by item and rater.

    `item` and `rater` are positions in the study, `shown_first` is the response on side A,
    `seconds` the active time, and `position` the item's in the rater's own order. NaN and -1 are
    unknown.
    """

    item: Index
    rater: Index
    choice: Codes
    certainty: Floats
    shown_first: Codes
    seconds: Floats
    position: Index

    def __len__(self) -> int:
        return self.item.size


@dataclass(frozen=True, eq=False)
class Judgments:
    """A run's judgments, one row each, sorted by item, order shown and sample.

    `status` holds ``done``, ``unparseable``, ``refused``, ``skipped``, ``error`` or ``open``; only
    a ``done`` row has a choice. `probabilities`, shape (n, 3), are the model's for response 1,
    response 2 and a tie; NaN if unknown.
    """

    item: Index
    shown_first: Codes
    sample: Index
    choice: Codes
    certainty: Floats
    status: npt.NDArray[np.str_]
    replies: Index
    probabilities: Floats

    @classmethod
    def from_columns(cls, *columns: Sequence[Any] | npt.NDArray[Any]) -> Judgments:
        """Build from columns in the order of the fields, with probabilities in threes, and sort."""
        kinds = ("int64", "int8", "int64", "int8", "float64", "U12", "int64", "float64")
        fields = sorted_columns(columns, 3, *kinds)
        fields[-1] = fields[-1].reshape(-1, len(CHOICES))
        return cls(*fields)

    def __len__(self) -> int:
        return self.item.size


@dataclass(frozen=True)
class RunMoney:
    """The requests, tokens and cost of a run; None if unknown."""

    requests: int
    failed_requests: int
    tokens_in: int | None
    tokens_out: int | None
    usd: float | None


@dataclass(frozen=True)
class Prompt:
    """A run's prompt as it was sent: the template and its hash, the hash that the run stored, and
    every text around the items. The template is None if its words are gone.
    """

    template: str | None
    sha256: str | None
    stored: str
    words: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class RunData:
    """One judge with one set of parameters, whose hash is `run`."""

    run: str
    judge: str
    setting: str
    features: str
    backend: str
    snapshots: tuple[str, ...]
    orders: str
    samples: int
    seed: int
    parameters: Mapping[str, Any]
    prompt: Prompt
    state: str
    state_reason: str
    cost: RunMoney
    judgments: Judgments
    # Counts of answers by request and by reported model, largest first, and sentences that explain
    # them.
    sent: tuple[Mapping[str, Any], ...] = ()
    reported: tuple[Mapping[str, Any], ...] = ()
    conditions: tuple[str, ...] = ()
    # Judgments that were read only leniently, by how; and the rows under strict reading, if any
    # differ.
    read_leniently: Mapping[str, int] = field(default_factory=dict)
    strictly: Judgments | None = None
    is_jury: bool = False
    # The study's own wording as name@version (empty for the protocol's), and its hash.
    wording: str = ""
    wording_sha256: str = ""
    framing: str = USUAL_FRAMING
    price_remark: str = ""
    # What of its cost is the most that it can be, because the server did not report tokens.
    usd_at_most: float = 0.0

    @property
    def way(self) -> tuple[str, str]:
        """How it was asked, apart from setting, features and order."""
        return self.wording, self.framing

    @property
    def certainties_read_leniently(self) -> int:
        """Judgments of which only the certainty was read leniently."""
        return self.read_leniently.get(CERTAINTY, 0)

    @property
    def offers_tie(self) -> bool:
        return protocol(self.setting).offers_tie


class DesignData:
    """A rare design's addition to the data of a study, which a chapter gets from `Dataset.of`.

    `not_pooled` is the reason why studies with it cannot be pooled; without a reason, pooling drops
    it. With `follows_answers` it has an entry per answer, so it is dropped if only some answers are
    kept.
    """

    not_pooled: ClassVar[str] = ""
    follows_answers: ClassVar[bool] = False

    @property
    def digest(self) -> Any:
        """A JSON value that is equal for equal contents."""
        raise NotImplementedError

    def questions(self, items: Sequence[ItemData]) -> Sequence[Hashable] | None:
        """What each item asks, if that is more than its text; otherwise None."""
        return None


ADesign = TypeVar("ADesign", bound=DesignData)


@dataclass(frozen=True, eq=False)
class Dataset:
    """All data that a report of one study uses.

    `attention` has the attention checks that each rater saw and failed, in the order of `raters`;
    empty if none are known. `flagged` says which raters have signs of a program; empty if nobody.
    """

    study: StudyFacts
    items: tuple[ItemData, ...]
    personas: Mapping[str, tuple[tuple[str, str], ...]]
    raters: tuple[str, ...]
    rater_groups: tuple[Mapping[str, str], ...]
    answers: Answers
    attention: tuple[tuple[int, int], ...] = ()
    flagged: tuple[bool, ...] = ()
    people: Mapping[str, int] = field(default_factory=dict)
    # Whether a view leaves out items or people: the money is that of the whole study.
    is_part: bool = False
    # Those whose answers came from a file, by pseudonym.
    imported: frozenset[str] = frozenset()
    recruiting: Recruiting | None = None
    # People who finished, by the currency, reward (minor units) and minutes promised to them.
    promised: Mapping[tuple[str, int, int], int] = field(default_factory=dict)
    not_counted: Mapping[str, int] = field(default_factory=dict)
    exclusions: tuple[Exclusion, ...] = ()
    left_out: tuple[LeftOutItem, ...] = ()
    # A hash of the platform id by pseudonym, which identifies people across pooled studies. Not an
    # input of a report.
    identities: Mapping[str, str] = field(default_factory=dict)
    # Each quota group: name, places, completed.
    quotas: tuple[tuple[str, int, int], ...] = ()
    runs: tuple[RunData, ...] = ()
    runs_left_out: int = 0  # those that are marked as not for the report
    # Runs that change prompts to measure a bias, and their baselines; never judges of the study.
    probes: tuple[ProbedRun, ...] = ()
    plan: FrozenPlan | None = None
    no_plan: str = "No analysis plan was frozen."  # the reason if there is no plan
    late_changes: tuple[LateChange, ...] = ()
    late_extras: tuple[LateExtra, ...] = ()
    # Day and starter of each run, if a plan seals the words of runs.
    begun: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    # Departures from the plan's seals, and the sealed items: None if all or none are.
    departures: tuple[Departure, ...] = ()
    is_sealed: npt.NDArray[np.bool_] | None = None
    # Answers of excluded annotators. Their raters are numbered after `raters`.
    set_aside_raters: tuple[str, ...] = ()
    set_aside: Answers | None = None
    # Keys of items with the persona, question and responses of an earlier one, and its key.
    repeats: Mapping[str, str] = field(default_factory=dict)
    # The language of each item by its key, if they have several.
    languages: Mapping[str, str] = field(default_factory=dict)
    # Additions of rare designs, by their name in `inputs_hash`.
    extras: Mapping[str, DesignData] = field(default_factory=dict)
    answers_are_sets: bool = False  # whether a tie says that either response could be right
    # The language of the pages and of prompts to judges, if nobody reviewed its texts.
    unreviewed: str = ""
    people_are_fixed: bool = False  # whether the verdict is about these annotators only, as a panel
    ties: TiePolicy = "exclude"  # what a tied vote is, as `majority_vote` takes it
    epsilon: float = EPSILON  # how much less than a person a judge may agree with people

    @cached_property
    def truth(self) -> Codes:
        """The persona's own answer to each item, shape (items,); -1 if unknown."""
        return np.array([CODE[item.truth] for item in self.items], dtype=np.int8)

    @property
    def features(self) -> Iterator[tuple[str, list[str]]]:
        """Each feature of the personas, with its value for every item; empty if unknown."""
        for label in dict.fromkeys(label for pairs in self.personas.values() for label, _ in pairs):
            value_of = {key: dict(pairs).get(label, "") for key, pairs in self.personas.items()}
            yield label, [value_of[item.persona] for item in self.items]

    def scored_truth(self, *, offers_tie: bool) -> Codes:
        """The truth used for scoring: a true tie counts only if a tie was offered."""
        truth = self.truth
        return truth if offers_tie else np.where(truth == TIE, MISSING, truth).astype(np.int8)

    def on_sealed_items(self, runs: Iterable[RunData]) -> Dataset:
        """The answers and the judgments of some runs on the items that the plan sealed.

        Items keep their positions; the others have no answers.
        """
        kept = (
            np.ones(len(self.items), dtype=np.bool_) if self.is_sealed is None else self.is_sealed
        )
        return replace(
            self,
            answers=_on(kept, self.answers),
            runs=tuple(
                replace(run, judgments=_on(kept, run.judgments), strictly=None) for run in runs
            ),
            set_aside=None,
            extras={n: extra for n, extra in self.extras.items() if not extra.follows_answers},
        )

    def of(self, kind: type[ADesign]) -> ADesign | None:
        """The study's data of a rare design; None without it."""
        return next((extra for extra in self.extras.values() if isinstance(extra, kind)), None)

    @cached_property
    def inputs_hash(self) -> str:
        """A hash of everything that results depend on, equal for equal data on every machine.

        It is the same for a study whose answers were exported and imported elsewhere: it excludes
        names of people and whatever is only in `record_hash`.
        """
        digest = hashlib.sha256()
        feed(digest, "study", asdict(self.study))
        # Items are many and flat: a shallow copy is enough and faster.
        feed(digest, "items", [vars(item) for item in self.items])
        if self.repeats:
            feed(digest, "repeats", dict(self.repeats))
        if self.languages:
            feed(digest, "languages", dict(self.languages))
        feed(digest, "personas", {key: list(pairs) for key, pairs in self.personas.items()})
        feed(digest, "raters", [len(self.raters), self.rater_groups])
        if self.plan is not None:
            feed(digest, "plan", self.plan.seal)
        if self.late_changes:
            feed(digest, "late changes", [asdict(change) for change in self.late_changes])
        if self.departures:
            feed(digest, "departures", [asdict(departure) for departure in self.departures])
        _feed_arrays(digest, self.answers, but="position")
        for name, extra in sorted(self.extras.items()):
            feed(digest, name, extra.digest)
        if self.answers_are_sets:
            feed(digest, "answers are sets", True)
        if self.people_are_fixed:
            feed(digest, "people are fixed", True)
        if self.ties != "exclude":
            feed(digest, "ties", self.ties)
        if self.epsilon != EPSILON:
            feed(digest, "epsilon", self.epsilon)
        for run in self.runs:
            key, parameters = run.run, dict(run.parameters)
            if parameters.get("imported"):
                # Judgments count as equal whichever file or study they come from.
                key = ""
                parameters = {k: v for k, v in parameters.items() if k not in _OF_A_FILE}
            conditions = [run.state, run.snapshots, parameters, asdict(run.cost)]
            conditions += [run.price_remark] if run.price_remark else []
            feed(digest, "run", [key, run.judge, run.setting, run.features, *conditions])
            feed(digest, "conditions", [run.sent, run.reported])
            feed(digest, "prompt", asdict(run.prompt))
            _feed_arrays(digest, run.judgments)
            if run.strictly is not None:
                feed(digest, "read leniently", dict(run.read_leniently))
                _feed_arrays(digest, run.strictly)
        for probe in self.probes:
            feed(digest, "probe", probe.fed())
            feed(digest, "prompt", asdict(probe.run.prompt))
            _feed_arrays(digest, probe.run.judgments)
        return digest.hexdigest()

    @cached_property
    def record_hash(self) -> str:
        """A hash of participation: who came, who was left out, and the order of items.

        An answer file does not contain this. Names of people are not included.
        """
        digest = hashlib.sha256()
        feed(digest, "people", [dict(self.people), dict(self.not_counted), self.quotas])
        feed(digest, "attention", self.attention)
        if self.unreviewed:
            feed(digest, "unreviewed translation", self.unreviewed)
        if self.recruiting:
            feed(digest, "recruiting", asdict(self.recruiting))
        if self.flagged:
            feed(digest, "flagged", self.flagged)
        excluded = [
            sorted(asdict(replace(exclusion, rater="")).items()) for exclusion in self.exclusions
        ]
        feed(digest, "exclusions", sorted(excluded))
        if self.left_out:
            feed(digest, "left out", [asdict(item) for item in self.left_out])
        digest.update(self.answers.position.astype("<i8").tobytes())
        if self.set_aside is not None:
            feed(digest, "set aside", len(self.set_aside_raters))
            _feed_arrays(digest, self.set_aside)
        return digest.hexdigest()


def sorted_columns(
    columns: Iterable[Sequence[Any] | npt.NDArray[Any]], n_keys: int, *kinds: str
) -> list[npt.NDArray[Any]]:
    """Turn columns into arrays of the given kinds, sorted by the first `n_keys`."""
    arrays = [np.array(column, dtype=kind) for column, kind in zip(columns, kinds, strict=True)]
    order = np.lexsort(arrays[n_keys - 1 :: -1])
    return [array[order] for array in arrays]


def _on(kept: npt.NDArray[np.bool_], rows: Any) -> Any:
    """The rows about the items that are `kept`."""
    chosen = kept[rows.item]
    return type(rows)(**{name: column[chosen] for name, column in vars(rows).items()})


def _feed_arrays(digest: Any, table: Answers | Judgments, *, but: str = "") -> None:
    for name, array in vars(table).items():
        if name == but:
            continue
        if array.dtype.kind == "U":
            feed(digest, name, array.tolist())
        else:
            # Little-endian and with one NaN pattern, so that the bytes are the same everywhere.
            data = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<")))
            digest.update(f"{name}:{data.dtype.str}:{data.size}:".encode())
            digest.update(data.tobytes())
