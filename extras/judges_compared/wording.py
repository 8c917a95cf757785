"""Judges asked in several wordings or framings, and the effect of the way of asking."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Any

import numpy as np

from analysis.data.arrays import MISSING, RunData
from analysis.report.quantities import (
    Name,
    Quantity,
    Text,
    Words,
    capitalised,
    clause,
    say,
)
from analysis.report.registration import run_mark
from analysis.report.report_json import Json, ends, pick, put, put_estimate
from analysis.report.results import cannot_tell, items
from analysis.report.section import Analysis, ReportJson, Section, Sentence
from analysis.report.sentences import claim_p, holds, level_of
from analysis.report.study import ReportedStudy, put_holm
from analysis.report.tables import EntryField, Table, table_of_entries
from analysis.report.tested import ReportedTest
from analysis.stats import block_difference
from analysis.stats.core.clusters import MIN_BLOCKS
from analysis.stats.core.multiway import multiway_mean, multiway_proportion
from extras.judges_compared.protocols import COMMITTED, REFERENCE
from extras.judges_compared.references import with_reference
from extras.judges_compared.stats import factor_effects
from extras.judges_compared.usual_question import compared_with_usual
from extras.judges_compared.ways import AS_ASKED, AskedInWays, asked_in_ways, credits_of, read_by

WORDING = "wordings"
COMMITTING, REFERENCES = "committing first", "reference answers"
FACTORS = ("wording", "framing", "order")
UNDECIDED = ("left_out", "half")
OWN_WORDS = "protocol’s own"
ORDER_WORDS = {
    "both": "both orders together",
    "r1_first": "response 1 first",
    "r2_first": "response 2 first",
    AS_ASKED: "as asked",
}
_UNDECIDED_WORDS = {"left_out": "left out", "half": "half right"}


def wordings(study: ReportedStudy) -> list[Json]:
    """One entry per judge asked in several ways."""
    return [_entry(study, ways) for ways in asked_in_ways(study.data.runs)]


def _entry(study: ReportedStudy, ways: AskedInWays) -> Json:
    first = ways.runs[0]
    marks = {run_mark(study.data.plan, run) for run in ways.runs}
    planned = study.data.plan is not None and "wording" in study.data.plan.content["analyses"]
    entry: Json = {
        "judge": first.judge,
        "setting": first.setting,
        "features": first.features,
        "orders": first.orders,
        "runs": [run.run for run in ways.runs],
        "fixed_beforehand": planned and marks == {"registered"},
    }
    personas = np.unique(study.shared.persona).size
    by_persona = personas >= MIN_BLOCKS
    unit = study.shared.persona if by_persona else np.arange(len(study.data.items))
    entry["unit"] = "persona" if by_persona else "item"
    entry["ways"] = [
        _way(study, ways, *options)
        for options in product(ways.wordings, ways.framings, ways.orders, UNDECIDED)
        if ways.run_of(*options[:2]) is not None
    ]
    entry["pairs"] = _pairs(study, ways, unit)
    return entry | _effects(study, ways, unit)


def _way(
    study: ReportedStudy, ways: AskedInWays, wording: str, framing: str, order: str, undecided: str
) -> Json:
    """Accuracy and agreement with annotators, for one way of asking and reading."""
    run = ways.run_of(wording, framing)
    assert run is not None  # noqa: S101 -- the caller has looked
    verdicts = read_by(study.data, run, order)
    credits = credits_of(study.data, run, verdicts, half=undecided == "half")
    items = np.flatnonzero(~np.isnan(credits))
    out: Json = {"wording": wording, "framing": framing, "order": order, "undecided": undecided}
    out |= {"run": run.run, "n": int(items.size)}
    shared = study.shared.of_items(items)
    if undecided == "half":
        put_estimate(out, "accuracy", multiway_mean(credits[items], shared))
    else:
        put_estimate(out, "accuracy", multiway_proportion(credits[items] == 1, shared).proportion)
    people = study.people.answer
    both = np.flatnonzero((verdicts.answer >= 0) & (people >= 0))
    same = (verdicts.answer == people)[both]
    out["agreement_n"] = int(both.size)
    clusters = study.shared.of_items(both, by_people=True)
    put_estimate(out, "agreement", multiway_proportion(same, clusters).proportion)
    return out


def _pairs(study: ReportedStudy, ways: AskedInWays, unit: Any) -> list[Json]:
    """All pairs of wordings within a framing, item by item, with Holm's p over all pairs."""
    rows = []
    for framing in ways.framings:
        for one, other in combinations(ways.wordings, 2):
            first, second = ways.run_of(one, framing), ways.run_of(other, framing)
            if first is None or second is None:
                continue
            sides = [
                credits_of(study.data, run, read_by(study.data, run, ways.orders[0]), half=True)
                for run in (first, second)
            ]
            gaps = sides[0] - sides[1]
            row: Json = {"first": one, "second": other, "framing": framing}
            row["n"] = int((~np.isnan(gaps)).sum())
            difference = block_difference(gaps, unit)
            reason = difference.reason or difference.interval_reason
            # The blocks are personas or items here.
            reason = "too_few_items" if reason == "too_few_annotators" else reason
            put(row, "difference", difference.value, reason)
            put(row, "ci", ends(difference.interval), reason)
            put(row, "p", difference.p, reason)
            rows.append(row | _changed(first, second))
    put_holm(rows)
    return rows


def _changed(one: RunData, other: RunData) -> Json:
    """How many verdicts differ between two runs, reading by reading: item, order and sample."""

    def verdicts(run: RunData) -> dict[tuple[int, ...], int]:
        rows = run.judgments
        columns = (rows.item, rows.shown_first, rows.sample)
        places = zip(*(column.tolist() for column in columns), strict=True)
        read = zip(places, rows.choice.tolist(), strict=True)
        return {place: choice for place, choice in read if choice != MISSING}

    first, second = verdicts(one), verdicts(other)
    both = first.keys() & second.keys()
    changed = sum(first[place] != second[place] for place in both)
    entry: Json = {"readings": len(both)}
    put(entry, "changed", changed / len(both) if both else None, "" if both else "empty_group")
    return entry


def _effects(study: ReportedStudy, ways: AskedInWays, unit: Any) -> Json:
    """The variance of accuracy, split into wording, framing and order."""
    # Both orders together repeat each alone, so they are not a separate level.
    orders = ways.orders[1:] or ways.orders
    levels = {"wording": ways.wordings, "framing": ways.framings, "order": orders}
    varying = [name for name in FACTORS if len(levels[name]) > 1]
    out: Json = {"effects": []}
    if not ways.is_whole:
        for key in ("low", "high", "rest_share"):
            put(out, key, None, "incomplete_grid")
        return out | {"effects_n": 0, "effects_clusters": 0}
    sides = []
    for wording, framing, order in product(*levels.values()):
        run = ways.run_of(wording, framing)
        assert run is not None  # noqa: S101 -- the grid is whole
        sides.append(credits_of(study.data, run, read_by(study.data, run, order), half=True))
    shape = [len(levels[name]) for name in varying]
    split = factor_effects(np.stack(sides, axis=1).reshape(-1, *shape), unit)
    out |= {"effects_n": split.n_items, "effects_clusters": split.n_clusters}
    out |= pick(split, "low high")
    put(out, "rest_share", split.rest_share, split.reason or "no_variation")
    for name, effect in zip(varying, split.effects, strict=False):
        row: Json = {"factor": name, "levels": [*levels[name]], "means": [*effect.means]}
        put(row, "sd", effect.variance**0.5)
        put(row, "share", effect.share, "no_variation")
        put(row, "p", effect.p, effect.reason)
        out["effects"].append(row)
    put_holm(out["effects"])
    return out


def _name(entry: Mapping[str, Any]) -> str:
    return f"{entry['judge']} ({entry['setting']})"


def ways_table(report: ReportJson) -> Table:
    rows = [
        (_name(entry), _worded(way) | {"undecided": _UNDECIDED_WORDS[way["undecided"]]})
        for entry in report["wording"]
        for way in entry["ways"]
    ]
    return table_of_entries(
        "wording_ways",
        "Accuracy and agreement in every way of asking",
        rows,
        [
            ("Wording", "text", "wording"),
            ("Framing", "text", "framing"),
            ("Order", "text", "order"),
            ("Undecided items", "text", "undecided"),
            ("Items", "count", "n"),
            ("Accuracy", "percent", "accuracy"),
            ("95 % interval", "percent_range", "accuracy_ci"),
            ("Agreement with people", "percent", "agreement"),
            ("95 % interval of agreement", "percent_range", "agreement_ci"),
        ],
        "Every wording × framing × order × treatment of items without a verdict. Intervals allow "
        "for shared items, personas and questions. Agreement: judge and majority have the same "
        "verdict, on the items that both decided.",
        first="Judge",
    )


def pairs_table(report: ReportJson) -> Table:
    return table_of_entries(
        "wording_pairs",
        "Pairs of wordings compared, item by item",
        [
            (_name(entry), pair | {side: pair[side] or OWN_WORDS for side in ("first", "second")})
            for entry in report["wording"]
            for pair in entry["pairs"]
        ],
        [
            ("First", "text", "first"),
            ("Second", "text", "second"),
            ("Framing", "text", "framing"),
            ("Items", "count", "n"),
            ("First minus second", "points", "difference"),
            ("95 % interval", "points_range", "ci"),
            ("p", "p", "p"),
            ("Holm p", "p", "p_holm"),
            ("Of both", "count", "readings", "Verdicts"),
            ("Changed", "percent", "changed", "Verdicts"),
        ],
        "Verdicts of both: readings of the same item, order and sample; changed: with another "
        "choice. Difference: on all items asked in both; one without a verdict counts half. t "
        "intervals over personas, or over items if there are fewer than eight personas. Holm: over "
        "all pairs of a judge.",
        first="Judge",
    )


def committed_table(report: ReportJson) -> Table:
    return table_of_entries(
        "wording_committed",
        "Judges that commit first",
        [(entry["judge"], entry) for entry in report["committed"]],
        _compared(COMMITTED.name, "Committed first", "Committed minus usual"),
        "How often each is right on the items asked in both ways; one without a verdict counts "
        "half. Intervals hold for items, personas and questions in general.",
        first="Judge",
    )


def references_table(report: ReportJson) -> Table:
    return table_of_entries(
        "wording_references",
        "Judges that saw a reference answer",
        [(entry["judge"], entry) for entry in report["with_reference"] if "usual" in entry],
        _compared(REFERENCE.name, "With the reference", "With minus without"),
        "How often each is right on the items that have a reference answer and were also asked "
        "about without it; one without a verdict counts half. Intervals hold for items, personas "
        "and questions in general.",
        first="Judge",
    )


def given_away_table(report: ReportJson) -> Table:
    return table_of_entries(
        "wording_given_away",
        "What reference answers give away",
        [(entry["judge"], entry) for entry in report["with_reference"]],
        [
            ("Items", "count", "items"),
            ("Reference is a response", "count", "given_away"),
            ("It is the right one", "count", "right_given_away"),
            ("Other items", "count", "others_n", "With minus without, on other items"),
            ("Points", "points", "others_difference.value", "With minus without, on other items"),
            (
                "95 % interval",
                "points_range",
                "others_difference.ci",
                "With minus without, on other items",
            ),
        ],
        "A reference is a response if both share nine in ten of the longer one’s words, or if it "
        "only names it. There the judge can compare texts instead of thinking of the person.",
        first="Judge",
    )


def _compared(setting: str, name: str, group: str) -> list[EntryField]:
    return [
        ("Items", "count", "n"),
        (name, "percent", f"{setting}_right"),
        ("Usual question", "percent", "usual_right"),
        ("Points", "points", "difference.value", group),
        ("95 % interval", "points_range", "difference.ci", group),
        ("Holm p", "p", "difference.p_holm", group),
    ]


def effects_table(report: ReportJson) -> Table:
    return table_of_entries(
        "wording_effects",
        "Effect of the way of asking",
        [
            (
                _name(entry),
                effect
                | {"items": entry["effects_n"]}
                | {"lowest": min(effect["means"]), "highest": max(effect["means"])},
            )
            for entry in report["wording"]
            for effect in entry["effects"]
        ],
        [
            ("Changed", "text", "factor"),
            ("Items", "count", "items"),
            ("Lowest mean", "percent", "lowest"),
            ("Highest mean", "percent", "highest"),
            ("Spread of the means", "percent", "sd"),
            ("Share of all variance", "percent", "share"),
            ("p", "p", "p"),
            ("Holm p", "p", "p_holm"),
        ],
        "Means over all other ways of asking; an item without a verdict counts half. Spread and "
        "share: standard deviation and variance of the true means, corrected for the sampling of "
        "items. p: Hotelling's test that all means are equal. Holm: over the changes made for a "
        "judge.",
        first="Judge",
    )


def _worded(way: Mapping[str, Any]) -> Json:
    return {**way, "wording": way["wording"] or OWN_WORDS, "order": ORDER_WORDS[way["order"]]}


class WordingSection(Section):
    """Judges asked in several wordings: accuracy in every way, and effects of the wording."""

    name = "wording"
    has_claims = True
    title = "Wording"
    inside = (
        "All ways of asking, pairs of wordings, the effect of each change, committing first, "
        "reference answers"
    )
    analyses = (
        Analysis(
            "wording",
            tables=("wording_ways", "wording_pairs", "wording_effects"),
            paths=("wording",),
            uses=(),
        ),
    )

    keys = """
wording | list or text | Several wordings of one question.
wording.orders | text | Orders of the responses that were asked.
wording.runs | list | Places of the runs in `judges`.
fixed_beforehand | flag | Whether all wordings were chosen before the first judgment.
ways | list | Accuracy of each wording.
ways.order | text | Order of the responses.
agreement_n | count | Items of the agreement.
readings | count | Verdicts on the same item, in the same order and sample, in both wordings.
wording.pairs.changed | share | Share of them that are different.
effects | list | Effect of each factor: wording, order, framing.
factor | text | Name of the factor.
means | list | Mean accuracy at each level.
effects_n | count | Items of the effects.
effects_clusters | count | Independent groups among them.
wording.low | share | Accuracy of the worst wording.
wording.high | share | Accuracy of the best wording.
rest_share | share | Share of the variance that no factor explains.
wording.wording | text | Name and version of the wording.
committed | list or text | Judges that say what a person wants before they see the responses.
committed.committed | text | Hash of the run that commits first.
committed.usual | text | Hash of the run with the usual question.
usual_setting | text | Setting of that run.
committed_right | share | Accuracy of the run that commits first, on the items of both.
usual_right | share | Accuracy of the run with the usual question, on the items of both.
with_reference | list or text | Judges that saw the reference answers of items.
with_reference.reference | text | Hash of the run that saw them.
with_reference.usual | text | Hash of the run with the usual question.
reference_right | share | Accuracy of the run that saw references, on the items of both.
given_away | count | Items whose reference is one of the two responses, or nearly.
right_given_away | count | Items whose reference is the response that counts as right, or nearly.
others_n | count | Items of both runs whose reference is neither response.
others_difference | object | The difference on those items.
"""

    def is_needed(self, report: ReportJson) -> bool:
        return bool(report["wording"] or report["committed"] or report["with_reference"])

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return {
            "wording": wordings(study),
            "committed": compared_with_usual(study, COMMITTED.name),
            "with_reference": with_reference(study),
        }

    def claims(self, report: ReportJson) -> Mapping[str, Sequence[float | None]]:
        effects = (effect for entry in report["wording"] for effect in entry["effects"])
        claims = {WORDING: [claim_p(test) for test in effects if test["factor"] == "wording"]}
        if report["committed"]:
            claims[COMMITTING] = [claim_p(test["difference"]) for test in report["committed"]]
        if compared := [test for test in report["with_reference"] if "usual" in test]:
            claims[REFERENCES] = [claim_p(test["difference"]) for test in compared]
        return claims

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if report["wording"]:
            yield effects_table(report)
            yield pairs_table(report)
            yield ways_table(report)
        if report["committed"]:
            yield committed_table(report)
        if report["with_reference"]:
            yield references_table(report)
            yield given_away_table(report)

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        for key, setting, kind, words in (
            ("committed", COMMITTED, COMMITTING, _COMMITS),
            ("with_reference", REFERENCE, REFERENCES, _REFERS),
        ):
            for place, entry in enumerate(report[key]):
                if "usual" in entry:
                    path = f"{key}.{place}"
                    yield Sentence(
                        "finding", _against_usual(report, entry, path, setting.name, kind, words)
                    )
        for place, entry in enumerate(report["with_reference"]):
            yield from _given_away(report, entry, f"with_reference.{place}")
        for place, entry in enumerate(report["wording"]):
            if (effect := _wording_effect(report, entry, f"wording.{place}")) is not None:
                yield Sentence("finding", effect)
            if not entry["fixed_beforehand"]:
                yield Sentence.of(
                    "limit",
                    f"The wordings and framings of {_name(entry)} were not in a plan frozen "
                    "before the data, so choosing among them is explored.",
                    "wording_not_fixed",
                )


_COMMITS = ("committing first", "if it commits first")
_REFERS = ("a reference answer in the prompt", "if it sees a reference answer")


def _against_usual(
    report: ReportJson,
    entry: Mapping[str, Any],
    path: str,
    setting: str,
    kind: str,
    change: tuple[str, str],
) -> Text:
    """Whether a judge is right more often if it is asked in another setting."""
    judge, of = Name(entry["judge"]), items(report, "asked in both ways", entry["n"], f"{path}.n")
    test = ReportedTest.at(report, kind, entry["difference"], f"{path}.difference", of)
    what, condition = change
    whether = clause(f"{what} changes how often {{judge}} is right", judge=judge)
    if test.result is None:
        return test.sentence(whether, whether, whether=whether)
    # An undecided item counts half, so these are no counts of right answers.
    sides = {
        key: Quantity("rate", of, entry[f"{key}_right"], f"{path}.{key}_right")
        for key in (setting, "usual")
    }
    return test.sentence(
        clause(f"{{judge}} is right more often {condition}", judge=judge),
        clause(f"{{judge}} is right less often {condition}", judge=judge),
        whether=whether,
        number=f"{{{setting}}} instead of {{usual}}, {{x}} points",
        **sides,
    )


def _given_away(report: ReportJson, entry: Mapping[str, Any], path: str) -> Iterator[Sentence]:
    """For how many items the reference answer that a judge saw is one of the responses."""
    if not entry["given_away"]:
        return
    asked = items(report, "with a reference answer", entry["items"], f"{path}.items")
    away = Quantity("count", asked, entry["given_away"], f"{path}.given_away")
    words = clause(
        "{judge} saw reference answers: for {away} of {asked} {they} one of the two responses, "
        "or nearly",
        judge=Name(entry["judge"]),
        away=away,
        asked=asked,
        they=Words("it was" if away.value == 1 else "they were"),
    )
    if entry["right_given_away"]:
        words = clause(
            "{words}, and for {right} the one that counts as right. There the judge was shown what "
            "scores it",
            words=words,
            right=Quantity("count", asked, entry["right_given_away"], f"{path}.right_given_away"),
        )
    yield Sentence("limit", say("{words}.", words=words), "reference_given_away")


def _wording_effect(report: ReportJson, entry: Mapping[str, Any], path: str) -> Text | None:
    """How far accuracy depends on the wording; None if it was not tested."""
    place, effect = next(
        ((n, test) for n, test in enumerate(entry["effects"]) if test["factor"] == "wording"),
        (0, None),
    )
    if effect is None or effect["share"] is None or effect["p_holm"] is None:
        return None
    of = items(report, "asked in every way", entry["effects_n"], f"{path}.effects_n")
    low, high = (Quantity("rate", of, entry[key], f"{path}.{key}") for key in ("low", "high"))
    p = Quantity("p", of, effect["p_holm"], f"{path}.effects.{place}.p_holm")
    share = Quantity("part", of, effect["share"], f"{path}.effects.{place}.share")
    is_held = holds(effect, level_of(report, WORDING), "p_holm")
    changes = clause("the wording changes the result")
    explains = clause(" and explains {x} of the variance beyond chance", x=share)
    return say(
        "{judge}: {low} to {high} correct over the ways of asking, on {low.of}. {words}{share} "
        "(adjusted p {p}; a test of all wordings at once has no interval).",
        judge=Name(_name(entry)),
        low=low,
        high=high,
        words=capitalised(changes if is_held else cannot_tell(changes)),
        share=explains if is_held else Words(""),
        p=p,
    )


WORDINGS = WordingSection()
