"""The chapter on position, length and ties, for annotators and judges."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import MISSING, TIE, Dataset, RunData
from analysis.data.verdicts import (
    Ints,
    Verdicts,
    repeated_readings,
)
from analysis.report.figures import (
    PEOPLE,
    REFERENCE,
    Figure,
    rows_of_shares,
    scatter_trace,
    share_axis,
    styled_runs,
    vertical,
)
from analysis.report.quantities import (
    Name,
    Population,
    Quantity,
    QuantityInterval,
    Slot,
    Text,
    Words,
    capitalised,
    clause,
    joined,
    say,
)
from analysis.report.rater_tests import (
    LengthErrors,
    RaterTest,
    held,
    is_lean_of_errors,
    is_one,
    lean_of_errors,
    of_names,
    position_of,
    rater_tests,
    scored_sides,
    sided,
)
from analysis.report.report_json import (
    Json,
    estimate,
    pick,
    put,
    put_estimate,
    undefined,
)
from analysis.report.results import NOTHING, Finding, TestResult, by_chance, cannot_tell, items
from analysis.report.rules import SMALL
from analysis.report.section import (
    RUN,
    Analysis,
    NumberSource,
    ReportJson,
    ReportPage,
    Section,
    Sentence,
)
from analysis.report.sentences import LENGTH, MAJORITY, SIDES, SINGLE, at, members, single_words
from analysis.report.study import ReportedStudy, on_side
from analysis.report.tables import Table, table_of_entries
from analysis.report.words import named_entries
from analysis.stats.accuracy.bias import (
    length_pull,
    position_bias,
    position_bias_single_order,
    verbosity_bias,
)
from analysis.stats.accuracy.general_accuracy import general_proportion
from analysis.stats.comparison.noise import run_noise
from analysis.stats.core.shared_variance import Sharing

SideCodes = npt.NDArray[np.integer]


def single_order(
    choice: SideCodes, shown_first: SideCodes, truth: SideCodes, sharing: Sharing
) -> Json:
    """How often side A was chosen and right, and accuracy by the right side.

    Arrays have one entry per answer, by content; `truth` belongs to the answer's item, `sharing` is
    what the answers share.
    """
    side, right = on_side(choice, shown_first), on_side(truth, shown_first)
    bias = position_bias_single_order(side, right)
    out = pick(bias, {"n": "n", "n_truth": "n_truth", "share_a": "share_first"})
    # Answers with a known right side, and how often that was A.
    known = np.flatnonzero((side >= 0) & (right >= 0))
    share = general_proportion(side[known] == 0, sharing.take(known))
    put_estimate(out, "share_a_scored", share)
    out |= pick(bias, {"truth_share_a": "truth_share_first"})
    out |= pick(bias, "p", bias.p_reason or bias.reason)
    out["right_when_a"] = _share(bias.correct_when_first, bias.n_when_first)
    out["right_when_b"] = _share(bias.correct_when_second, bias.n_when_second)
    return out


def both_orders(choice: Ints, shown_first: Ints, item: Ints, n_items: int) -> Json:
    """How often items got the same answer in both orders; one answer per item and order."""
    # Whether the response shown first was chosen (1, 0, or -1 if missing); one row per order.
    first_chosen = np.full((2, n_items), MISSING, dtype=np.int64)
    side = on_side(choice, shown_first)
    for order in (0, 1):
        rows = shown_first == order
        first_chosen[order, item[rows]] = np.where(side[rows] < 0, MISSING, 1 - side[rows])
    bias = position_bias(first_chosen[0], first_chosen[1])
    out = pick(bias, "n consistent")
    out |= pick(bias, {"first_both_times": "primacy", "second_both_times": "recency"})
    return out | pick(bias, "consistency index") | pick(bias, "p", bias.p_reason or bias.reason)


def _share(correct: int, n: int) -> Json:
    out: Json = {"n": n, "correct": correct}
    put(out, "accuracy", correct / n if n else None)
    return out


def _position(study: ReportedStudy, run: RunData) -> Json:
    """Measure the first sample of each item and order; later ones repeat the question."""
    data, rows = study.data, run.judgments
    first = rows.sample == (rows.sample.min() if len(rows) else 0)
    item, choice, shown_first = rows.item[first], rows.choice[first], rows.shown_first[first]
    sharing = study.shared.of_judgments(item)
    out = single_order(choice, shown_first, data.truth[item], sharing)
    out["both_orders"] = both_orders(choice, shown_first, item, len(data.items))
    return out


def position(report: ReportJson) -> Table:
    people = report["human"]["position"]
    entries = [(name, judge["position"]) for name, judge in named_entries(report, "judges")]
    tests = {test["who"]: test for _, test in members(report, SIDES)}
    # Runs that saw less of the persona are not tested.
    nothing = {"value": None, "ci": None, "p_max": None}
    people = people | {"test": tests.get(SINGLE, nothing)}
    entries = [
        (name, entry | {"test": tests.get(f"judges.{place}", nothing)})
        for place, (name, entry) in enumerate(entries)
    ]
    return table_of_entries(
        "position",
        "Does the side decide?",
        [(who, entry) for who, entry in [("People", people), *entries] if entry["n"]],
        [
            ("Answers", "count", "n"),
            ("Share A", "percent", "share_a"),
            ("Scored", "count", "n_truth", "Where the right side is known"),
            ("share A", "percent", "share_a_scored", "Where the right side is known"),
            ("A is right", "percent", "truth_share_a", "Where the right side is known"),
            ("when A is right", "percent", "right_when_a.accuracy", "Accuracy"),
            ("when B is right", "percent", "right_when_b.accuracy", "Accuracy"),
            ("Difference", "points", "test.value", "A chosen minus A right"),
            ("95 % interval", "points_range", "test.ci", "A chosen minus A right"),
            ("Adjusted p", "p", "test.p_max", "A chosen minus A right"),
            ("McNemar p", "p", "p"),
            ("Same choice in both orders", "percent", "both_orders.consistency"),
        ],
        "With one order, a preference for a side cannot be separated from one for the response "
        "shown there. With both orders it can.",
        first="Who",
    )


@dataclass(frozen=True)
class SideChosen:
    """How often people or a run chose side A, and how often it was right in the same answers.

    `chosen` and `right` are of the answers with a known right side, if there are any. `result` is
    the test that both differ; runs that saw less of the persona have none. `by_errors` is the
    difference that errors alone would give, if it is half of it or more.
    """

    who: Name | Words
    chosen: Quantity
    right: Quantity | None
    result: TestResult | None
    by_errors: Quantity | None = None

    @classmethod
    def of(cls, report: ReportJson, who: str, name: Name | Words) -> "SideChosen | None":
        """None if no answer has a known order of sides."""
        entry, path = position_of(report, who)
        if entry["share_a"] is None:
            return None
        result = next((t.result for t in rater_tests(report, SIDES) if t.who == who), None)
        if entry["truth_share_a"] is None or not entry["n_truth"]:
            of = Population(sided(report, who), n=entry["n"], path=f"{path}.n")
            share = Quantity("share", of, entry["share_a"], f"{path}.share_a")
            return cls(name, share, None, result)
        of = scored_sides(report, who)
        interval = QuantityInterval.at(entry, "share_a_scored_ci", path)
        place = f"{path}.share_a_scored"
        share = Quantity("share", of, entry["share_a_scored"], place, interval)
        right = Quantity("share", of, entry["truth_share_a"], f"{path}.truth_share_a")
        by_errors = None
        if result is not None and is_lean_of_errors(entry, result.value.value):
            by_errors = Quantity("points", of, lean_of_errors(entry))
        return cls(name, share, right, result, by_errors)

    @property
    def n(self) -> int:
        """All answers, also those without a known right side."""
        of = self.chosen.of
        return 0 if of is None else of.among or of.n

    @property
    def light(self) -> "Light":
        """Whether the side mattered, in a sentence with its colour."""
        words: dict[str, Slot] = {"who": self.who, "x": self.chosen}
        if self.n < SMALL:
            form = "{who} chose side A in {x} of {x.of}: too few to say whether the side mattered."
            return Light("unknown", say(form, **words))
        if self.right is None:
            form = "{who} chose side A in {x} of {x.of}; how often A was right is unknown."
            return Light("unknown", say(form, **words))
        words["right"] = self.right
        if self.result is None:
            form = "{who} chose side A in {x} of {x.of}, and side A was right in {right}."
            return Light("unknown", say(form, **words))
        gap = self.result.value
        words["gap"] = clause("a difference of {x} points, {x.interval}", x=gap)
        chosen = "side A was chosen in {x} of {x.of} and right in {right} ({gap}{p})"
        words["p"] = NOTHING
        if self.result.finding is not Finding.OPEN:
            words["p"] = self.result.adjusted_p
            light = "amber" if abs(gap.value) < NOTICEABLE else "red"
            return Light(light, say(f"{{who}} {self.leans}: {chosen}.", **words))
        if is_even(self.result):
            words["limit"] = Quantity("margin", None, NOTICEABLE)
            form = f"No lean of {{limit}} points or more for {{who}}: {chosen}."
            return Light("green", say(form, **words))
        words["open"] = cannot_tell(clause("the side matters for {who}", who=self.who))
        words["chance"] = by_chance(gap.interval)
        if self.by_errors is not None and gap.interval.excludes_zero:
            form = " Errors without a preference for a side would give {x} points."
            words["chance"] = clause(form, x=self.by_errors)
        return Light("unknown", say(f"{{open}}: {chosen}.{{chance}}", **words))

    @property
    def leans(self) -> str:
        """The verb and the side of a claim that holds."""
        above = self.result is not None and self.result.finding is Finding.ABOVE
        return f"{'leans' if is_one([self.who]) else 'lean'} to side {'A' if above else 'B'}"


@dataclass(frozen=True)
class Light:
    """A sentence with the colour of its dot."""

    light: str
    text: Text


# Difference from the share of right answers on side A that triggers a warning.
NOTICEABLE = 0.05


def is_even(result: TestResult) -> bool:
    """Whether the interval leaves no room for a noticeable lean."""
    ends = result.value.interval.ends
    is_inside = ends is not None and -NOTICEABLE < ends[0] and ends[1] < NOTICEABLE
    return is_inside and result.finding is Finding.OPEN


def sides_chosen(report: ReportJson) -> list[tuple[SideChosen, str, str]]:
    """People and runs, each with the colour and the symbol of its mark."""
    sides = [(SideChosen.of(report, SINGLE, Words(single_words(report))), PEOPLE, "circle")]
    sides += [
        (SideChosen.of(report, f"judges.{place}", Name(name)), colour, symbol)
        for place, (name, _, (colour, _, symbol)) in enumerate(styled_runs(report))
    ]
    return [(side, colour, symbol) for side, colour, symbol in sides if side is not None]


def lights(report: ReportJson) -> list[Light]:
    """A sentence on people and on each run whether the side of a response mattered."""
    return [side.light for side, *_ in sides_chosen(report)]


def position_figure(report: ReportJson) -> Figure | None:
    """Share of answers for side A, and share of items where A is right."""
    rows = sides_chosen(report)
    if not rows:
        return None
    right = scatter_trace(
        x=[side.right and side.right.value for side, *_ in rows],
        y=list(range(len(rows))),
        mode="markers",
        marker={"symbol": "line-ns-open", "size": 16, "color": REFERENCE, "line": {"width": 2}},
        hovertemplate="side A is right in %{x:.1%}<extra></extra>",
    )
    leaning = [
        clause(
            f"{{names}} {'leans' if is_one(names) else 'lean'} to side {side}",
            names=of_names(names),
        )
        for side, names in zip("AB", held(report, SIDES), strict=True)
        if names
    ]
    return Figure(
        "position",
        say("{sides}", sides=joined(leaning, last="; "))
        if leaning
        else say("How often side A was chosen, and how often it was right"),
        say(
            "Share of answers for the response on side A, with 95 % intervals. The bar across "
            "shows how often side A was right in the same answers; without known right answers "
            "there is no bar."
        ),
        "position",
        [
            rows_of_shares(
                "Share of side A: ",
                [
                    (str(capitalised(clause("{who}", who=side.who))), side.chosen, colour, symbol)
                    for side, colour, symbol in rows
                ],
                row_height=44,
                hover="side A in ",
                more=[right],
                xaxis=share_axis("answers for side A", range=[0, 1]),
                shapes=[vertical(0.5, "#9aa7b2")],
            )
        ],
    )


def _of_people(study: ReportedStudy) -> Json:
    answers, sharing = study.data.answers, study.shared.answers
    if sharing.n != len(answers):
        sharing = study.shared.of_judgments(answers.item)
    truth = study.data.truth[answers.item]
    out = single_order(answers.choice, answers.shown_first, truth, sharing)
    # Annotators answer an item once, in one order.
    out["both_orders"] = {"n": 0} | undefined("no_pairs", "consistency", "index", "p")
    return out


class SidesSection(Section):
    """How often side A was chosen and right."""

    name = "sides"
    analyses = (
        Analysis(
            "position",
            tables=("position", "ties", "verbosity"),
            paths=(
                "human.position",
                "judges.*.position",
                "judges.*.ties",
                "human.verbosity",
                "judges.*.verbosity",
            ),
            main=("human.position.share_a", "judges.*.position.share_a"),
        ),
    )
    sources = (
        NumberSource("human.position", "position", "People"),
        NumberSource("judges.*.position", "position", RUN),
        NumberSource("claims_tested.members", "position"),
    )

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return {
            "human": {"position": _of_people(study)},
            "judges": [{"position": _position(study, run)} for run in study.data.runs],
        }

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield position(report)

    def figures(self, report: ReportJson) -> Iterator[Figure | None]:
        yield position_figure(report)


def verbosity(study: ReportedStudy, verdicts: Verdicts) -> Json:
    """Measure the pull of the longer response on one side's verdicts, without ties."""
    data = study.data
    lengths = np.array([item.lengths for item in data.items], dtype=np.int64).reshape(-1, 2)
    answer, truth = (
        np.where(choice == TIE, MISSING, choice).astype(np.int64)
        for choice in (verdicts.answer, data.truth)
    )
    columns = (lengths[:, 0], lengths[:, 1], answer, truth)
    bias = verbosity_bias(*columns)
    items = np.arange(len(data.items))
    clusters = study.shared.of_items(items, by_people=verdicts is study.people)
    out: Json = {"n": bias.n, "equal": bias.n_equal}
    out |= pick(bias, "longer_chosen longer_true", bias.difference.reason)
    out["difference"] = estimate(bias.difference)
    known = (answer >= 0) & (truth >= 0)
    for key, is_longer in (("right_when_longer", 1), ("right_when_shorter", -1)):
        # 1 where the longer response is right, -1 where the shorter one is.
        rows = known & (np.sign(lengths[:, 1] - lengths[:, 0]) * (2 * truth - 1) == is_longer)
        out[key] = _share(int((answer == truth)[rows].sum()), int(rows.sum()))
    out["per_doubling"] = estimate(length_pull(*columns, clusters=clusters).per_doubling)
    return out


def verbosity_table(report: ReportJson) -> Table:
    sides = [("People, majority", report["human"]["verbosity"])]
    sides += [(name, judge["verbosity"]) for name, judge in named_entries(report, "judges")]
    return table_of_entries(
        "verbosity",
        "Is the longer response chosen more often than it is right?",
        [(who, entry) for who, entry in sides if entry["n"]],
        [
            ("Items", "count", "n"),
            ("is chosen", "percent", "longer_chosen", "The longer response"),
            ("is right", "percent", "longer_true", "The longer response"),
            ("Difference", "points", "difference.value"),
            ("95 % interval", "points_range", "difference.ci"),
            ("Log odds per doubling", "decimal", "per_doubling.value"),
            ("95 %", "range", "per_doubling.ci"),
        ],
        "Length in characters; items with equal lengths are left out. The difference (Tango) "
        "treats items as independent. Log odds per doubling: how much more likely a response is "
        "chosen if it is twice as long, among items with the same right response; above 0, "
        "length itself pulls.",
        first="Who",
    )


class LengthSection(Section):
    """The majority's and every run's preference for the longer response."""

    name = "length"

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return {
            "human": {"verbosity": verbosity(study, study.people)},
            "judges": [{"verbosity": verbosity(study, judge)} for judge in study.judges],
        }

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield verbosity_table(report)

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        for text in length_texts(report).values():
            yield Sentence("finding", text)


def length_texts(report: ReportJson) -> dict[str, Text]:
    """A sentence for each rater whose errors favour one length, by “majority” or “judges.0”."""
    sentences = {}
    for test in rater_tests(report, LENGTH):
        errors = LengthErrors.of(report, test.who)
        if errors is not None and test.result.finding is not Finding.OPEN:
            sentences[test.who] = _lean(report, test, errors)
    return sentences


def _lean(report: ReportJson, test: RaterTest, errors: LengthErrors) -> Text:
    """How often a side takes the longer response, and errs where each of the two is right."""
    path = f"{'human' if test.who == MAJORITY else test.who}.verbosity"
    entry = at(report, path)
    of = items(report, "with responses of different lengths", entry["n"], f"{path}.n")
    return say(
        "{who} leans to the {side} response: wrong on {shorter} of {shorter.of}, and on {longer} "
        "of {longer.of}. The longer one was taken on {chosen} of {chosen.of}, and is right on "
        "{true}.",
        who=test.name,
        side=Words("longer" if test.result.finding is Finding.ABOVE else "shorter"),
        shorter=errors.shorter,
        longer=errors.longer,
        chosen=Quantity("share", of, entry["longer_chosen"], f"{path}.longer_chosen"),
        true=Quantity("share", of, entry["longer_true"], f"{path}.longer_true"),
    )


def _ties(data: Dataset, run: RunData, verdicts: Verdicts) -> Json:
    """How often the run answers tie, and how often a tie is true, if it can choose a tie."""
    if not run.offers_tie:
        return {"n": 0, "ties": 0} | undefined("not_offered", "share", "truth_share")
    answered, known = verdicts.answer >= 0, data.truth >= 0
    out: Json = {"n": int(answered.sum()), "ties": int((verdicts.answer == TIE).sum())}
    put(out, "share", out["ties"] / out["n"] if out["n"] else None)
    put(out, "truth_share", float((data.truth[known] == TIE).mean()) if known.any() else None)
    return out


def ties(report: ReportJson) -> Table:
    runs = [(name, judge) for name, judge in named_entries(report, "judges") if judge["ties"]["n"]]
    return table_of_entries(
        "ties",
        "How often a tie is chosen and true",
        runs,
        [
            ("Decided", "count", "ties.n"),
            ("Text tie", "count", "ties.ties"),
            ("Share", "percent", "ties.share"),
            ("Share of true ties", "percent", "ties.truth_share"),
        ],
    )


class Ties(Section):
    """Ties of the runs that had a tie option."""

    name = "ties"

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        runs = zip(study.data.runs, study.judges, strict=True)
        return {"judges": [{"ties": _ties(study.data, *run)} for run in runs]}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield ties(report)


def _noise(study: ReportedStudy, run: RunData) -> Json:
    """Measure the share of chance in one reading, if items were asked repeatedly."""
    keys = ("accuracy_sd", "run_variance", "item_variance", "certainty_sd")
    if run.samples < 2:
        return undefined("one_sample", "same_choice", "flipped", *keys)
    readings, truth = repeated_readings(study.data, run), study.truth_for(run)
    chance = run_noise(readings, truth, n_draws=study.draws, rng=study.rng())
    out: Json = {"runs": chance.n_runs, "items": chance.n_items}
    put_estimate(out, "same_choice", chance.same_choice)
    put_estimate(out, "flipped", chance.flipped)
    few = chance.accuracy_reason or chance.reason
    for key in keys:
        reason = chance.reason if key == "certainty_sd" else few
        put(out, key, getattr(chance, key), reason or "too_few_items")
    return out


def noise(report: ReportJson) -> Table:
    return table_of_entries(
        "noise",
        "Changes when a judge is asked again",
        [
            pair
            for pair in named_entries(report, "judges")
            if pair[1]["noise"]["same_choice"] is not None
        ],
        [
            ("Readings", "count", "noise.runs"),
            ("Items", "count", "noise.items"),
            ("Same choice", "percent", "noise.same_choice"),
            ("Items that flip", "percent", "noise.flipped"),
            ("SD of accuracy", "decimal", "noise.accuracy_sd"),
            ("SD of certainty", "number", "noise.certainty_sd"),
            ("between readings", "decimal", "noise.run_variance", "Variance of being right"),
            ("between items", "decimal", "noise.item_variance", "Variance of being right"),
        ],
        "The baseline for all other changes: two readings of the same item agree this often.",
    )


class Noise(Section):
    """Changes when a judge is asked again."""

    name = "noise"

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return {"judges": [{"noise": _noise(study, run)} for run in study.data.runs]}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield noise(report)


class Position(Section):
    """Effects of the side of the screen, of length, and of a tie option."""

    name = "position"
    title = "Sides, length and order"
    inside = "Sides of the screen, lengths, ties, and noise"
    parts = (SidesSection(), LengthSection(), Ties(), Noise())

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        return (Sentence("own", light.text) for light in lights(report))

    def context(self, page: ReportPage) -> Mapping[str, Any]:
        return {"lights": lights(page.report)}
