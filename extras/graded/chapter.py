"""The chapter on what people gave next to their choices: strength, scores, criteria, reasons."""

from collections.abc import Iterator, Mapping, Sequence

from analysis.report.quantities import Name, Population, Quantity, Text, clause, say
from analysis.report.report_json import Json
from analysis.report.results import Finding, items
from analysis.report.section import ReportJson, Section, Sentence
from analysis.report.sentences import claim_p
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, table_of_entries
from analysis.report.tested import ReportedTest
from analysis.report.words import run_name
from extras.graded.measures import STRENGTHS, graded
from extras.graded.models import ScoreScale
from extras.graded.strong_and_slight import (
    ONE,
    STRONGER,
    one_annotator_sentences,
    one_annotator_table,
    strength_gap_table,
    strength_sentences,
)

# Kinds of claims.
CERTAIN, RIGHT, LEVEL = (
    "strength and certainty",
    "strength and accuracy",
    "level of a judge’s scores",
)


def strength_table(report: ReportJson) -> Table:
    people = report["graded"]["strength"]["people"]
    return table_of_entries(
        "graded_strength",
        "Accuracy of people by the strength of their preference",
        [(name.capitalize(), people[name]) for name in STRENGTHS],
        [
            ("Answers", "count", "answers"),
            ("Scored", "count", "n", "Right"),
            ("Share", "percent", "accuracy", "Right"),
            ("95 % interval", "percent_range", "ci", "Right"),
        ],
        f"A tie has no strength: {people['ties']:,} answers. Intervals hold for items, people, "
        "personas and questions in general.",
        first="Strength",
    )


def grades_table(report: ReportJson) -> Table:
    """Agreement among people, by level of measurement."""
    return table_of_entries(
        "graded_agreement",
        "Agreement of people on what they gave next to their choices",
        list(_agreements(report["graded"])),
        [
            ("Level", "text", "level"),
            ("Answers", "count", "n"),
            ("Value", "decimal", "alpha.value", "Krippendorff’s alpha"),
            ("95 % interval", "range", "alpha.ci", "Krippendorff’s alpha"),
            ("One person", "decimal", "icc", "ICC"),
            ("Mean of all", "decimal", "icc_mean", "ICC"),
        ],
        "Strength runs from strongly response 2 to strongly response 1, with ties in the middle. "
        "Intervals of alpha resample items and hold for these people. ICC(2,1) and ICC(2,k) need "
        "responses that the same people all scored.",
        first="What",
    )


def _agreements(report: ReportJson) -> Iterator[tuple[str, Json]]:
    none = {"icc": None, "icc_mean": None}
    if "strength" in report:
        yield (
            "Strength of the preference",
            none | {"level": "ordinal"} | dict(report["strength"]["people"]),
        )
    if "scores" in report:
        words = f"Scores, 1 to {report['scores']['scale']}"
        if report["scores"]["scale"] == ScoreScale.RIGHT:
            words = "Right or wrong"
        yield words, {"level": "interval"} | dict(report["scores"]["people"])
    for criterion in report["criteria"]["people"] if "criteria" in report else ():
        yield f"Criterion: {criterion['criterion']}", none | {"level": "nominal"} | dict(criterion)


def _judged(report: ReportJson) -> Iterator[tuple[str, Json]]:
    """Every judge that graded, with what it has in common with people."""
    nothing: Json = {
        "kappa": None,
        "rank": {"value": None, "ci": None},
        "level": {"value": None, "ci": None, "p_holm": None},
    }
    for judge in report["strength"]["judges"] if "strength" in report else ():
        yield f"{run_name(judge, report['strength']['judges'])}: strength", nothing | dict(judge)
    for judge in report["scores"]["judges"] if "scores" in report else ():
        own = {"rank": judge["margin"], "level": judge["level"]}
        yield f"{run_name(judge, report['scores']['judges'])}: scores", dict(judge) | own


def judges_table(report: ReportJson) -> Table:
    return table_of_entries(
        "graded_judges",
        "Grades of judges next to those of people",
        list(_judged(report["graded"])),
        [
            ("Items", "count", "n"),
            ("Weighted kappa", "decimal", "kappa"),
            ("Value", "decimal", "rank.value", "Rank correlation"),
            ("95 % interval", "range", "rank.ci", "Rank correlation"),
            ("Points", "points", "level.value", "Judge minus people"),
            ("95 % interval", "points_range", "level.ci", "Judge minus people"),
            ("Holm p", "p", "level.p_holm", "Judge minus people"),
        ],
        "Kappa has quadratic weights and compares means, rounded to the scale, so it needs one "
        "scale. The rank correlation is of preferences from −3 to 3, or of the score of response 1 "
        "minus that of response 2. Judge minus people: mean scores, in hundredths of the way from "
        "the lowest to the highest score. Intervals hold for items, people, personas and "
        "questions in general.",
        first="Judge",
    )


def right_table(report: ReportJson, judges: Sequence[Json]) -> Table:
    return table_of_entries(
        "graded_right",
        "Right or wrong: judges next to most people",
        [(run_name(judge, judges), judge["right"]) for judge in judges],
        [
            ("Responses", "count", "same.n"),
            ("Share", "percent", "same.value", "Same verdict"),
            ("95 % interval", "percent_range", "same.ci", "Same verdict"),
            ("Kappa", "decimal", "kappa"),
            ("n", "count", "recall.n", "Right responses"),
            ("Called right", "percent", "recall.value", "Right responses"),
            ("95 % interval", "percent_range", "recall.ci", "Right responses"),
            ("n", "count", "precision.n", "Called right"),
            ("Right", "percent", "precision.value", "Called right"),
            ("95 % interval", "percent_range", "precision.ci", "Called right"),
        ],
        "Each response is judged alone. Right: most people say so; responses on which people, or "
        "the readings of the judge, are evenly split do not count. The share of right responses "
        "that are called right is the recall, that of right ones among those called right the "
        "precision. Intervals hold for items, people, personas and questions in general.",
        first="Judge",
    )


def criteria_table(report: ReportJson) -> Table:
    chapter = report["graded"]["criteria"]
    rows: list[tuple[str, Json]] = [
        (
            f"People, own choice: {criterion['criterion']}",
            {"equal": criterion["equal"], "share": criterion["own"]},
        )
        for criterion in chapter["people"]
    ]
    for judge in chapter["judges"]:
        name = run_name(judge, chapter["judges"])
        rows += [
            (
                f"{name}, people’s majority: {criterion['criterion']}",
                {"equal": None, "share": criterion["people"]},
            )
            for criterion in judge["by_criterion"]
        ]
    return table_of_entries(
        "graded_criteria",
        "Verdicts by criterion",
        rows,
        [
            ("No difference", "percent", "equal"),
            ("n", "count", "share.n", "Same verdict"),
            ("Share", "percent", "share.value", "Same verdict"),
            ("95 % interval", "percent_range", "share.ci", "Same verdict"),
        ],
        "People: how often a verdict by the criterion is the same person’s choice as a whole, if "
        "both name a response (n: answers). Judges: how often their verdict is that of people’s "
        "majority by the same criterion (n: items).",
        first="Who, next to what",
    )


class GradedSection(Section):
    """Strength of preferences, scores, verdicts by criterion, and reasons."""

    name = "graded"
    title = "More than a choice"
    inside = "Strength, scores, criteria and reasons"
    has_claims = True
    keys = """
        # More than a choice
        graded | object | What people gave next to their choices.
        graded.answers | count | Answers that count.
        graded.strength | object | How strong people's and judges' preferences are.
        strength.people | object | Strengths of people.
        strength.people.n | count | Answers with a strength, or a tie.
        strength.people.ties | count | Ties, which have no strength.
        slightly | object | Answers with a slight preference, and how many are right.
        clearly | object | Answers with a clear preference, and how many are right.
        strongly | object | Answers with a strong preference, and how many are right.
        strength.people.slightly.answers | count | Answers with this strength.
        strength.people.clearly.answers | count | Answers with this strength.
        strength.people.strongly.answers | count | Answers with this strength.
        slightly.n | count | Of these, answers to items with a known right answer.
        clearly.n | count | Of these, answers to items with a known right answer.
        strongly.n | count | Of these, answers to items with a known right answer.
        graded.alpha | object | Krippendorff's alpha, by the level of measurement.
        strength.people.certainty | object | Rank correlation of strength and certainty.
        strength.people.right | object | Rank correlation of strength and a right answer.
        strength.judges | list | Strengths of judges, next to those of people.
        graded.kappa | number | Kappa with quadratic weights of judge and people.
        graded.rank | object | Rank correlation of the judge's preferences and people's.
        graded.scores | object | Scores of responses.
        scores.scale | count | The highest score of people.
        scores.people | object | Scores of people.
        scores.people.n | count | Answers with scores.
        chosen_higher | object | Answers whose choice has the higher score.
        chosen_higher.n | count | Answers with scores that chose a response.
        scores.people.equal | count | Answers with the same score for both responses.
        scores.people.mean | number | Mean score.
        scores.people.icc | number | ICC(2,1) of one person.
        icc_mean | number | ICC(2,k) of the mean of all people.
        icc_raters | count | People who scored everything that the ICC uses.
        icc_targets | count | Responses that all of them scored.
        scores.judges | list | Scores of judges, next to those of people.
        scores.judges.highest | count | The highest score that the judge could give.
        scores.judges.mean | number | Mean score of the judge.
        scores.judges.margin | object | Rank correlation of differences of the two scores.
        scores.judges.level | object | Judge's scores minus people's, as a share of the scale.
        scores.judges.right | object | Verdicts on single responses, right or wrong.
        right.right | count | Responses that most people call right.
        right.said_right | count | Responses that the judge calls right.
        right.same | object | Responses on which both have the same verdict.
        right.recall | object | Right responses that the judge calls right.
        right.precision | object | Responses called right that are right.
        graded.criteria | object | Verdicts by criterion.
        criteria.people | list | Verdicts of people by criterion.
        graded.criterion | text | Name of the criterion.
        criteria.people.n | count | Verdicts by this criterion.
        criteria.people.equal | share | Share of verdicts of no difference.
        criteria.people.own | object | Verdicts that are the same person's choice as a whole.
        criteria.judges | list | Verdicts of judges by criterion.
        by_criterion | list | One entry for each criterion.
        by_criterion.people | object | Items with the verdict of people's majority.
        strength.by_strength | list | Judges with people's majority, by strength of preference.
        by_strength.strong | object | Items with a strong preference of people.
        by_strength.slight | object | Items with a slight preference of people.
        graded.difference | object | The first share minus the second.
        graded.one | list | Who predicts the answer of one annotator.
        one.by_judge | object | Answers that the judge predicts.
        one.by_others | object | Answers that the majority of the other annotators predicts.
        graded.count | count | Answers or items for which the statement holds.
        graded.reasons | count | Answers with a reason.
    """

    def is_needed(self, report: ReportJson) -> bool:
        return "graded" in report

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return graded(study)

    def claims(self, report: ReportJson) -> Mapping[str, Sequence[float | None]]:
        chapter, claims = report.get("graded", {}), {}
        if "strength" in chapter:
            people = chapter["strength"]["people"]
            claims = {
                kind: [claim_p(people[key], "p")]
                for kind, key in ((CERTAIN, "certainty"), (RIGHT, "right"))
            }
            claims[STRONGER] = _adjusted(chapter["strength"]["by_strength"])
        if "scores" in chapter:
            claims[LEVEL] = [claim_p(judge["level"]) for judge in chapter["scores"]["judges"]]
        if "one" in chapter:
            claims[ONE] = _adjusted(chapter["one"])
        return claims

    def tables(self, report: ReportJson) -> Iterator[Table]:
        chapter = report.get("graded", {})
        if chapter:
            yield grades_table(report)
        if "strength" in chapter:
            yield strength_table(report)
        if list(_judged(chapter)):
            yield judges_table(report)
        marked = [
            judge for judge in chapter.get("scores", {}).get("judges", ()) if "right" in judge
        ]
        if marked:
            yield right_table(report, marked)
        if "criteria" in chapter:
            yield criteria_table(report)
        if chapter.get("strength", {}).get("by_strength"):
            yield strength_gap_table(report)
        if chapter.get("one"):
            yield one_annotator_table(report)

    def caveat(self, report: ReportJson) -> str:
        """A judge whose scores are higher or lower than people's, which agreement hardly shows."""
        scores = report.get("graded", {}).get("scores", {"judges": ()})
        return next((str(words) for words, is_apart in _levels(report, scores) if is_apart), "")

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        chapter = report.get("graded", {})
        for words in (
            *(_of_strength(report) if "strength" in chapter else ()),
            *(_of_scores(report) if "scores" in chapter else ()),
            *(strength_sentences(report) if "strength" in chapter else ()),
            *(one_annotator_sentences(report) if "one" in chapter else ()),
        ):
            yield Sentence("finding", words)
        if "reasons" in chapter and chapter["answers"]:
            answers = Population("answer", n=chapter["answers"], path="graded.answers")
            n = Quantity("count", answers, chapter["reasons"], "graded.reasons")
            yield Sentence("finding", say("People gave a reason for {n} of {n.of}.", n=n))


def _adjusted(judges: Sequence[Json]) -> list[float | None]:
    return [claim_p(judge["difference"]) for judge in judges]


def _answers(report: ReportJson, rule: str, n: int, path: str) -> Population:
    return Population("answer", rule, n, report["graded"]["answers"], path, "graded.answers")


def _of_strength(report: ReportJson) -> Iterator[Text]:
    people, path = report["graded"]["strength"]["people"], "graded.strength.people"
    for name, kind, known, ways in (
        ("certainty", CERTAIN, "a certainty", "state a {} certainty"),
        ("right", RIGHT, "a known right answer", "are right {} often"),
    ):
        rank, at = people[name], f"{path}.{name}"
        of = _answers(report, f"with a strength and {known}", rank["n"], f"{at}.n")
        test = ReportedTest.at(report, kind, rank, at, of, unit="coefficient", p="p")
        degrees = ("higher", "lower") if name == "certainty" else ("more", "less")
        rises, falls = (
            clause(f"people {ways.format(degree)} where their preference is stronger")
            for degree in degrees
        )
        number = "rank correlation within people {x}"
        yield test.sentence(rises, falls, whether=rises, number=number)


def _of_scores(report: ReportJson) -> Iterator[Text]:
    scores, path = report["graded"]["scores"], "graded.scores.people"
    people, higher = scores["people"], scores["people"]["chosen_higher"]
    if higher["value"] is not None:
        place = f"{path}.chosen_higher"
        chose = _answers(report, "that chose a scored response", higher["n"], f"{place}.n")
        scored = _answers(report, "with scores", people["n"], f"{path}.n")
        yield say(
            "People gave their choice the higher score in {x} of {x.of}, and both responses the "
            "same in {equal} of {equal.of}.",
            x=Quantity("share", chose, higher["value"], f"{place}.value"),
            equal=Quantity("count", scored, people["equal"], f"{path}.equal"),
        )
    yield from (words for words, _ in _levels(report, scores))


def _levels(report: ReportJson, scores: ReportJson) -> Iterator[tuple[Text, bool]]:
    """A sentence on each judge's level, and whether it is shown to differ from people's."""
    for place, judge in enumerate(scores["judges"]):
        path = f"graded.scores.judges.{place}.level"
        of = items(report, "with scores of both", judge["level"]["n"], f"{path}.n")
        test = ReportedTest.at(report, LEVEL, judge["level"], path, of)
        name = Name(run_name(judge, scores["judges"]))
        words = test.sentence(
            clause("{name} gives higher scores than people", name=name),
            clause("{name} gives lower scores than people", name=name),
            whether=clause("{name} gives higher or lower scores than people", name=name),
            number="{x} points of its scale",
        )
        yield words, test.finding is not Finding.OPEN


CHAPTER = GradedSection()
