"""Disagreement: the best possible agreement with people, and how close judges come."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from analysis.data.arrays import RunData
from analysis.data.verdicts import Verdicts, probability_shares
from analysis.report.report_json import Json, estimate, pick, put, put_ci
from analysis.report.section import NumberSource, ReportJson, Section, Sentence
from analysis.report.sentences import fill, shown
from analysis.report.study import ReportedStudy, identity
from analysis.report.tables import Table, table_of_entries
from analysis.report.words import percent, percent_range, run_name
from analysis.stats.accuracy.general_accuracy import general_proportion
from analysis.stats.comparison.general_difference import GeneralDifference, general_difference
from analysis.stats.core.results import Estimate, IntArray
from analysis.stats.core.shared_variance import Sharing
from extras.methods.distances import answer_shares
from extras.methods.stats.ceiling import (
    ShareOfPossible,
    agreed_with,
    agreement_ceiling,
    majority_of_others,
    pair_agreement,
    retest_ceiling,
    share_of_ceiling,
    share_of_possible,
)
from extras.methods.stats.response_sets import (
    ForcedChoices,
    forced_choices,
    forced_shares,
    ranks,
    set_distance,
)


def _side(side: Verdicts, sharing: Sharing, retest: float) -> Json:
    proportion = general_proportion(side.correct[side.scored] == 1, sharing.take(side.scored))
    accuracy = Estimate(
        proportion.value, proportion.reason, proportion.interval, proportion.interval_reason
    )
    share = share_of_ceiling(accuracy, retest)
    return {"items": proportion.n, "accuracy": estimate(accuracy), "share": estimate(share)}


def possible_accuracy_table(report: ReportJson) -> Table:
    chapter = report["possible_accuracy"]
    named = [(run_name(entry, chapter["judges"]), entry) for entry in chapter["judges"]]
    return table_of_entries(
        "possible_accuracy",
        "Accuracy against own answers, as a share of what is possible",
        [("Majority of people", chapter["people"]), *named],
        [
            ("Items", "count", "items"),
            ("Accuracy", "percent", "accuracy.value"),
            ("95 % interval", "percent_range", "accuracy.ci"),
            ("Estimate", "percent", "share.value", "Share of what is possible"),
            ("95 % interval", "percent_range", "share.ci", "Share of what is possible"),
        ],
        f"The items’ source states that people repeat {percent(chapter['retest'])} of their own "
        "answers when asked again. If slips are equally likely in both directions, no judge can "
        f"be right on more than {percent(chapter['ceiling'])} in the long run. Share: 0 is chance, "
        "100 % that ceiling; by luck it can be more. The stated agreement is treated as exact.",
        first="Who",
    )


class PossibleAccuracy(Section):
    """Accuracy as a share of the ceiling that own answers set."""

    name = "possible_accuracy"
    keys = """
possible_accuracy | object | Accuracy compared with the best possible, as personas err too.
possible_accuracy.retest | share | How often personas give the same answer again.
possible_accuracy.ceiling | share | Best possible accuracy.
"""

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        """The entry of report.json; empty if the items' source states no retest agreement.

        Only with two options: a third changes both chance and ceiling.
        """
        retest = study.data.study.source.get("retest_agreement")
        # The source of an imported file is stored unchecked.
        if (
            not isinstance(retest, int | float)
            or not 0.5 < retest <= 1
            or study.votes.n_options > 2
        ):
            return {}
        ceiling = retest_ceiling(retest)
        judges = zip(study.data.runs, study.judges, strict=True)
        return {
            "possible_accuracy": {
                "retest": retest,
                "ceiling": ceiling,
                "people": _side(study.people, study.shared.items, retest),
                "judges": [
                    identity(run) | _side(judge, study.shared.judged, retest)
                    for run, judge in judges
                ],
            }
        }

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if "possible_accuracy" in report:
            yield possible_accuracy_table(report)


TIE = 2
# People were not asked twice: when forced, an answer of “either” counts half for each side.
EVEN = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
ASKED, REBUILT = "asked", "rebuilt"


def _forced_run(run: RunData, pairs: list[tuple[RunData, Verdicts]]) -> Verdicts | None:
    """The judge's first forced-choice run about the same texts."""
    for other, verdicts in pairs:
        same = (other.judge, other.features, other.way) == (run.judge, run.features, run.way)
        if same and not other.offers_tie:
            return verdicts
    return None


def _judge_of_sets(
    study: ReportedStudy,
    counts: np.ndarray[Any, np.dtype[np.int64]],
    run: RunData,
    judge: Verdicts,
    forced: Verdicts | None,
) -> Json:
    stated = probability_shares(study.data, run, judge).shares
    if np.isnan(stated).all():
        stated = answer_shares(study.data, run, judge).shares
    distance = set_distance(stated, counts, study.shared.items)
    matrix = None if forced is None else forced_choices(judge.answer, forced.answer)
    rebuilt = forced_shares(stated, EVEN if matrix is None else matrix.shares)
    if forced is not None:
        asked = np.column_stack([forced.answer == 0, forced.answer == 1]).astype(np.float64)
        asked[forced.answer < 0] = np.nan
    people = forced_shares(counts, EVEN)
    by_force = _forced_distance(study, rebuilt if forced is None else asked, counts, people)
    out = identity(run) | {"sets": _distance(distance), "forced": _distance(by_force)}
    out["forced"]["source"] = REBUILT if forced is None else ASKED
    out["matrix"] = None if matrix is None else _matrix(matrix)
    if forced is not None:
        off = _forced_distance(study, rebuilt, counts, people)
        out["rebuilt"] = _distance(off)
    return out


def _forced_distance(
    study: ReportedStudy,
    shares: np.ndarray[Any, np.dtype[np.float64]],
    counts: np.ndarray[Any, np.dtype[np.int64]],
    people: np.ndarray[Any, np.dtype[np.float64]],
) -> GeneralDifference:
    """Squared distance from people's shares, with half an answer for each side of a tie."""
    n = counts.sum(axis=1)
    p = people[:, 0] / np.maximum(n, 1)
    # The variance of answers of 1, 1/2 or 0, whose part in the distance is subtracted.
    variance = (counts[:, 0] + counts[:, TIE] / 4) / np.maximum(n, 1) - p**2
    distance = (shares[:, 0] - p) ** 2 - variance / np.maximum(n - 1, 1)
    return general_difference(np.where(n >= 2, distance, np.nan), study.shared.items)


def _distance(difference: GeneralDifference) -> Json:
    return {"items": difference.n} | estimate(difference)


def _matrix(forced_choices: ForcedChoices) -> Json:
    names = ("r1", "r2", "either")
    return {
        name: {"n": int(counts.sum()), "r1": float(shares[0]) if counts.sum() else None}
        for name, counts, shares in zip(
            names, forced_choices.counts, forced_choices.shares, strict=True
        )
    }


def response_sets_table(report: ReportJson) -> Table:
    sets = report["response_sets"]
    rows = []
    for entry in sets["judges"]:
        source = {ASKED: "asked", REBUILT: "from its sets"}[entry["forced"]["source"]]
        matrix = entry["matrix"] or {}
        either = matrix.get("either", {})
        forced = {"source": source, "either": either.get("r1"), "n": either.get("n")}
        rows.append((run_name(entry, sets["judges"]), {**entry, **forced}))
    return table_of_entries(
        "response_sets",
        "Judges by the sets that people find possible and by a forced choice",
        rows,
        [
            ("Items", "count", "sets.items", "Sets"),
            ("Distance", "decimal", "sets.value", "Sets"),
            ("95 % interval", "range", "sets.ci", "Sets"),
            ("Place", "count", "sets.place", "Sets"),
            ("Choices", "text", "source", "Forced choice"),
            ("Distance", "decimal", "forced.value", "Forced choice"),
            ("95 % interval", "range", "forced.ci", "Forced choice"),
            ("Place", "count", "forced.place", "Forced choice"),
            ("Items", "count", "n", "Forced where either"),
            ("Response 1", "percent", "either", "Forced where either"),
        ],
        "Sets: squared distance between the shares of answers that include each response; 0 "
        "means equal to people in general. A judge’s tie counts as either, and its forced "
        "choices play no role. Forced choice: squared distance from people’s share of response "
        "1, where an answer of either counts half for each response, because people were not "
        "asked twice. It uses the judge’s own run without a tie or, if there is none, its sets "
        "split evenly. Both distances allow for few answers and can be below 0 by chance.",
        first="Judge",
    )


class ResponseSets(Section):
    """Compare judges by people's sets of possible responses and by forced choices."""

    name = "response_sets"
    keys = """
response_sets | object | Judgments that may accept either response.
response_sets.answers | count | Answers of annotators.
either | count | Annotators' answers that accept either response.
response_sets.same_order | flag | Whether sets and forced choices rank the judges alike.
sets.place | count | Rank of the judge by its sets, closest first.
forced | object | Distance from people when the judge is forced to choose.
forced.source | text | asked, or rebuilt from the sets.
forced.place | count | Rank of the judge by its forced choices.
matrix.either | object | Items for which the judge accepted either response.
matrix.r1 | object | Items for which the judge accepted only response 1.
matrix.r2 | object | Items for which the judge accepted only response 2.
matrix.r1.r1 | share | Share of response 1 among the forced choices there.
matrix.r2.r1 | share | Share of response 1 among the forced choices there.
matrix.either.r1 | share | Share of response 1 among the forced choices there.
rebuilt | object | Distance of the forced choices rebuilt from the sets.
"""

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        """The entry of report.json; empty unless people answered and could accept either response.

        It lists the judges that could do the same, each with the forced-choice run of the same
        judge, features, wording and framing.
        """
        counts = study.votes.counts()
        if not study.data.answers_are_sets or counts.shape[1] < TIE + 1 or not counts.any():
            return {}
        pairs = list(zip(study.data.runs, study.judges, strict=True))
        judges = [
            _judge_of_sets(study, counts, run, judge, _forced_run(run, pairs))
            for run, judge in pairs
            if run.offers_tie
        ]
        if not judges:
            return {}
        for reading in ("sets", "forced"):
            places = ranks([entry[reading]["value"] for entry in judges])
            for entry, place in zip(judges, places, strict=True):
                put(entry[reading], "place", place, entry[reading].get("value_reason"))
        total = int(counts.sum())
        return {
            "response_sets": {
                "answers": total,
                "either": int(counts[:, TIE].sum()),
                "same_order": all(
                    entry["sets"]["place"] == entry["forced"]["place"] for entry in judges
                ),
                "judges": judges,
            }
        }

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if "response_sets" in report:
            yield response_sets_table(report)


def finding(report: ReportJson) -> Sentence:
    """How often people accept either response, and whether that changes the ranking of judges."""
    sets = report["response_sets"]
    words = "People find either response possible in {share} of {n} answers"
    values = {
        "share": shown(percent(sets["either"] / sets["answers"]), "response_sets.either"),
        "n": shown(f"{sets['answers']:,}", "response_sets.answers"),
    }
    ranked = [entry for entry in sets["judges"] if entry["sets"]["place"] is not None]
    if len(ranked) > 1:
        words += (
            "; both readings rank the judges alike"
            if sets["same_order"]
            else "; people’s sets and a forced choice rank the judges differently"
        )
    return Sentence("finding", fill(words + ".", **values))


FEWEST_ANSWERS = 2  # mean over items with an answer
PERSON, OTHERS = "One annotator", "Majority of the item’s other annotators"


def _judge_of_possible(
    study: ReportedStudy, counts: IntArray, run: RunData, judge: Verdicts
) -> Json:
    # Options that annotators did not have agree with nobody.
    wide = np.pad(counts, ((0, 0), (0, 3 - counts.shape[1])))
    agreed = agreed_with(judge.answer, wide)
    items = int(((judge.answer >= 0) & (counts.sum(axis=1) >= 2)).sum())
    share = share_of_possible(agreed, counts, study.shared.items)
    return identity(run) | _share(share, items)


def _share(possible: ShareOfPossible, items: int) -> Json:
    share = pick(possible, {"value": "low", "up_to": "high"})
    put_ci(share, "ci", possible)
    return {"items": items, "agreement": estimate(possible.agreement), "share": share}


def _named(report: ReportJson) -> list[tuple[str, ReportJson]]:
    judges = report["disagreement"]["judges"]
    return [(run_name(entry, judges), entry) for entry in judges]


def ceiling_table(report: ReportJson) -> Table:
    ceilings = report["disagreement"]
    rows = [(PERSON, ceilings["person"]), (OTHERS, ceilings["others"]), *_named(report)]
    ends = " and ".join(percent(ceilings["ceiling"][end]["value"]) for end in ("low", "high"))
    return table_of_entries(
        "ceiling",
        "Agreement with one more person, as a share of what is possible",
        rows,
        [
            ("Items", "count", "items"),
            ("Agreement", "percent", "agreement.value"),
            ("95 % interval", "percent_range", "agreement.ci"),
            ("at least", "percent", "share.value", "Share of what is possible"),
            ("at most", "percent", "share.up_to", "Share of what is possible"),
            ("95 % interval", "percent_range", "share.ci", "Share of what is possible"),
        ],
        "Items with two or more answers. No judge can agree with everybody where people differ: "
        f"the best possible agreement is estimated to be between {ends}. Share: 0 is chance "
        f"({percent(ceilings['chance'])}), 100 % the best possible on the same items; “–” if that "
        "may be no better than chance. Intervals hold for items, people, personas and questions "
        "in general; the share’s interval covers both ends.",
        first="Who",
    )


class Disagreement(Section):
    """The best agreement that people's disagreement allows, and how close judges come."""

    name = "disagreement"
    keys = """
disagreement | object | Judges as predictors of all answers to an item, not only the majority.
disagreement.items | count | Items with several answers.
answers_per_item | number | People's answers per item.
disagreement.chance | share | Agreement of a random guess with a single answer.
disagreement.ceiling | object | Best possible agreement with single answers.
ceiling.low | object | Lower estimate of the best possible agreement.
ceiling.high | object | Upper estimate of the best possible agreement.
share.up_to | share | Share of the best possible agreement, at most.
"""
    title = "Disagreement"
    inside = "The best possible agreement with all answers of an item"
    sources = (NumberSource("disagreement", "ceiling"),)
    parts = (PossibleAccuracy(), ResponseSets())

    def is_needed(self, report: ReportJson) -> bool:
        return any(key in report for key in ("disagreement", *(part.name for part in self.parts)))

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        """Empty without judges, or with few items that have two answers."""
        votes = study.votes
        counts = votes.counts()
        answers = counts.sum(axis=1)
        if not study.data.runs or votes.n < FEWEST_ANSWERS * max(int((answers > 0).sum()), 1):
            return {}
        sharing = study.shared.items
        ceiling = agreement_ceiling(counts, sharing)
        entry: Json = {
            "items": ceiling.n_items,
            "answers_per_item": votes.n / int((answers > 0).sum()),
            "chance": 1 / votes.n_options,
            "ceiling": {"low": estimate(ceiling.low), "high": estimate(ceiling.high)},
        }
        for name, agreed in (
            ("person", pair_agreement(counts)),
            ("others", majority_of_others(counts)),
        ):
            entry[name] = _share(share_of_possible(agreed, counts, sharing), ceiling.n_items)
        runs = zip(study.data.runs, study.judges, strict=True)
        entry["judges"] = [_judge_of_possible(study, counts, run, judge) for run, judge in runs]
        return {"disagreement": entry}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if "disagreement" in report:
            yield ceiling_table(report)

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        if "response_sets" in report:
            yield finding(report)
        ceilings = report.get("disagreement")
        if ceilings is None or ceilings["person"]["agreement"]["value"] is None:
            return
        pair = ceilings["person"]["agreement"]["value"]
        high = ceilings["ceiling"]["high"]["value"]
        seen = [judge["agreement"]["value"] or 0 for judge in ceilings["judges"]]
        # A judge that copies one of these people can exceed the bound, which then is none.
        ends = ceilings["ceiling"]["high"]["ci"] if max(seen, default=0) <= (high or 0) else None
        words = "Two people agree on {pair} of the items"
        if ends is not None:
            words += (
                ", so the best possible agreement with one more person is estimated at {high} "
                "(95 % CI {ends})"
            )
        values = {
            "pair": shown(percent(pair), "disagreement.person.agreement.value"),
            "high": shown(percent(high), "disagreement.ceiling.high.value"),
        }
        if ends is not None:
            values["ends"] = shown(percent_range(ends), "disagreement.ceiling.high.ci")
        known = [
            index
            for index, entry in enumerate(ceilings["judges"])
            if entry["share"]["value"] is not None
        ]
        if known:
            best = max(known, key=lambda at: ceilings["judges"][at]["agreement"]["value"])
            entry = ceilings["judges"][best]
            words += (
                "; {judge} agrees most, on {agreed}"
                if len(known) > 1
                else ("; {judge} agrees on {agreed}")
            )
            values["judge"] = shown(run_name(entry, ceilings["judges"]), "")
            values["agreed"] = shown(
                percent(entry["agreement"]["value"]),
                f"disagreement.judges.{best}.agreement.value",
            )
        yield Sentence("finding", fill(words + ".", **values))


DISAGREEMENT = Disagreement()
