"""The first screen of a report: the answer, the chart, the caveats, what would settle it."""

import copy
import datetime
import math
from dataclasses import replace

import numpy as np
import pytest

from analysis.data.verdicts import people_votes
from analysis.report.build import build_report
from analysis.report.card import write_card
from analysis.report.render import render_html
from analysis.report.study import shared_by
from analysis.report.verdict.answer import POWER, answer_of, headline_run
from analysis.report.verdict.first_screen import CAVEATS, verdict_of
from analysis.report.verdict.next_step import labels_needed, sensitivity_of, settling_of
from analysis.report.verdict.sample_size import rivals_of, rounded, times_more
from analysis.stats.core.results import n_distinct
from benchmarks.report import simulated


@pytest.fixture(scope="module")
def built():
    found = build_report(simulated(600), seed=1, bootstrap=100)
    names = ("surplus", "released", "withdrawn", "excluded", "excluded_people")
    found["human"]["not_counted"] = dict.fromkeys(names, 0)
    return found


@pytest.fixture
def report(built):
    return copy.deepcopy(built)


def difference_of(report):
    run = report["headline"]["run"]
    entry = next(entry for entry in report["comparison"] if entry["run"] == run)
    return entry["difference_general"]


@pytest.mark.parametrize(
    ("state", "word", "words"),
    [
        ("better", "Yes", "was right more often than the majority of people, by"),
        ("equivalent", "Yes", "was right as often as the majority of people, within 5"),
        ("worse", "No", "was right less often than the majority of people, by"),
        ("cannot_tell", "Not yet known", "was right on"),
        ("too_few", "Not yet known", "too few for a comparison"),
        ("no_truth", "Not yet known", "No item has a known right answer"),
        ("no_answers", "Not yet known", "No person has answered, and no judge was run"),
        ("people_only", "Not yet known", "no judge has an answer"),
        ("judges_only", "Not yet known", "no comparison"),
    ],
)
def test_every_state_has_an_answer_in_one_sentence_and_what_would_settle_it(
    report, state, word, words
):
    report["headline"]["state"] = state
    if state == "no_truth":
        report["inputs"]["truth"]["unknown"] = report["inputs"]["items"]
    difference_of(report)["n"] = 12 if state == "too_few" else 600
    for entry in report["comparison"]:  # one answer an item: nobody can be compared with others
        entry["pooled_replacement"]["advantage_of_people"] = None

    verdict = verdict_of(report)

    assert (verdict.answer.word, verdict.answer.sentence.count(". ")) == (word, 0)
    assert words in verdict.answer.sentence
    assert verdict.settling.endswith(".")


def test_the_chart_has_the_best_judges_first_and_names_how_many_it_leaves_out(report):
    chart = verdict_of(report).chart

    assert len(chart.lines) == 3
    assert chart.left_out == 1
    at = [line.at for line in chart.lines]
    assert at == sorted(at, reverse=True)
    for line in chart.lines:
        assert 0 <= line.ends[0] <= line.at <= line.ends[1] <= chart.width
    page = render_html(report, date=datetime.date(2026, 11, 22))
    assert page.count('<circle class="at"') == 3


def test_a_difference_without_an_interval_is_a_dot(report):
    for entry in report["comparison"]:
        entry["difference_general"] |= {"ci": None, "ci_as_best": None}
        entry["difference_general"]["ci_as_best_reason"] = "too_few_clusters"

    chart = verdict_of(report).chart

    assert [line.ends for line in chart.lines] == [None] * 3
    assert "(no interval)" in chart.lines[0].words
    page = render_html(report, date=datetime.date(2026, 11, 22))
    assert '<line class="interval"' not in page


def test_three_caveats_are_chosen_and_the_most_important_come_first(report):
    assert (
        verdict_of(report).caveats[0]
        == "No analysis plan was frozen, so everything is exploratory."
    )
    assert len(verdict_of(report).caveats) == 3

    difference_of(report)["few"] = ["personas"]
    difference_of(report)["clusters"]["personas"] = 7
    assert (
        "Only 7 personas (of 60) behind the comparison: others may differ."
        in verdict_of(report).caveats
    )


@pytest.mark.parametrize(("value", "finding"), [(0.08, "different"), (0.001, "equivalent")])
def test_so_much_data_finds_it_with_the_promised_probability(value, finding):
    difference = {"value": value, "se": 0.04, "margin": 0.05, "family": 1}

    factor, found = times_more(difference)

    assert found == finding
    se = difference["se"] / math.sqrt(factor)
    drawn = np.random.default_rng(1).normal(value, se, 200_000)
    if finding == "different":
        share = float((np.abs(drawn) > 1.96 * se).mean())
    else:
        share = float((np.abs(drawn) + 1.645 * se < difference["margin"]).mean())
    assert POWER - 0.01 < share < POWER + 0.03


@pytest.mark.parametrize(
    ("state", "difference", "begins", "absent"),
    [
        (
            "cannot_tell",
            {"value": 0.0, "se": 0.5, "margin": 0.01},
            "More than 30 times as many items and people",
            "About",
        ),
        (
            "cannot_tell",
            {"too_few": ["people"], "people_uneven": True, "people_largest": 0.59},
            "gave 59\u00a0% of the answers",
            "More people",
        ),
        (
            "better",
            {"one": ["personas"]},
            "for items, people and questions like these, and for the only persona.",
            "personas",
        ),
    ],
)
def test_what_would_settle_it_follows_from_the_difference(
    report, state, difference, begins, absent
):
    report["headline"]["state"] = state
    difference_of(report).update(difference)

    words = settling_of(report)

    assert begins in words
    assert absent not in words


def without_truth(*, advantage, se, p, judges=1, balanced=None, **other):
    """A report in which `judges` judges have this advantage of people, and no truth is known.

    `balanced` is the advantage on that scale; by default the same.
    """
    found = {"epsilon": 0.1, "n": 300, "scale": "raw", "rarest": 200, "same_label": 0.6}
    found |= {"decided": 300, "gain": {"value": 0.2, "low": 0.1, "ci": [0.1, 0.3]}}
    for scale, value in (
        ("raw", advantage),
        ("balanced", advantage if balanced is None else balanced),
    ):
        found[scale] = {"advantage_of_people": value, "se": se, "df": 1e6, "p": p}
        found[scale]["ci"] = [value - 1.96 * se, value + 1.96 * se]
        found[scale]["ci_made"] = {"method": "general t"}
    found["scale"] = "raw" if balanced is None or balanced <= advantage else "balanced"
    found |= found[found["scale"]] | {"clusters": {"people": 30}, "people_effective": 30.0}
    found |= {"too_few": [], "few": [], "one": []} | other
    names = [f"judge {number}" for number in range(judges)]
    runs = [{"run": n, "judge": n, "setting": "standard", "features": "all"} for n in names]
    return {
        "headline": {"state": "no_truth"},
        "judges": runs,
        "comparison": [run | {"pooled_replacement": dict(found)} for run in runs],
        "human": {"answers": 900, "annotators": 30},
        "inputs": {"items": 300, "truth": {"unknown": 300}},
        "study": {"perspective": "persona"},
    }


@pytest.mark.parametrize(
    ("advantage", "p", "judges", "word"),
    [
        (0.01, 0.001, 1, "Yes"),
        (0.01, 0.03, 1, "Yes"),
        (0.01, 0.03, 2, "Not yet known"),  # the best of two can reach that by chance
        (0.09, 0.4, 1, "Not yet known"),
        (0.30, 1.0, 1, "No"),
    ],
)
def test_without_right_answers_the_judge_is_compared_as_an_annotator(advantage, p, judges, word):
    report = without_truth(advantage=advantage, se=0.03, p=p, judges=judges)

    answer = answer_of(report)

    assert answer.word == word
    assert "judge 0" in answer.sentence
    assert "Agreement is not accuracy" in str(CAVEATS[0](report))


def test_a_settled_comparison_needs_no_labels_and_a_missing_one_cannot_say(report):
    for state in ("better", "worse", "equivalent"):
        report["headline"]["state"] = state
        assert labels_needed(report) == 0
    assert labels_needed(report | {"headline": {"state": "people_only"}}) is None
    assert labels_needed(without_truth(advantage=0.01, se=0.01, p=0.001)) == 0


def test_a_judge_that_can_replace_a_person_has_the_p_of_its_test_where_the_interval_goes_further():
    report = without_truth(advantage=0.0, se=0.056, p=0.04)
    for scale in ("raw", "balanced"):
        test = report["comparison"][0]["pooled_replacement"][scale]
        test["ci_made"] = {"method": "general score"}

    answer = answer_of(report)

    assert answer.word == "Yes"
    assert "ε allows 10 lower, one-sided p = .040)" in answer.sentence
    assert sensitivity_of(report) == "The answer is the same for every ε of 10.0 points or more."


def test_labels_needed_follow_the_advice(report):
    report["headline"]["state"] = "cannot_tell"
    difference = difference_of(report) | {"value": 0.02, "se": 0.02, "too_few": []}
    difference_of(report).update(difference)

    factor, _ = times_more(difference, rivals_of(report))

    expected = report["human"]["answers"] * (factor - 1)
    assert expected <= labels_needed(report) <= expected * 1.1
    report["headline"]["state"] = "too_few"
    difference_of(report)["n"] = 12
    assert labels_needed(report) == 18 * 3
    report["headline"]["state"] = "cannot_tell"
    difference_of(report)["too_few"] = ["people"]
    difference_of(report)["clusters"]["people"] = 2
    # At least 4 people for each of the 3 answers to an item: 12, six times as many as these 2.
    assert labels_needed(report) == 5 * report["human"]["answers"]


def test_a_label_that_nobody_else_gave_asks_for_second_labels():
    report = without_truth(advantage=0.0, se=0.01, p=0.5)
    report["comparison"][0]["pooled_replacement"] |= {"ci": None, "advantage_of_people": None}

    assert labels_needed(report) == 30
    assert answer_of(report | {"human": {"answers": 9}, "study": {}}).word == "Not yet known"


def test_the_sentence_is_about_the_scale_where_the_judge_is_worse_and_names_epsilon():
    worse = answer_of(without_truth(advantage=-0.039, balanced=0.06, se=0.01, p=0.001)).sentence
    better = answer_of(without_truth(advantage=-0.125, se=0.01, p=0.001)).sentence

    assert (
        "all labels weighted equally, is 6.0 points lower than a person’s on 300 items (95" in worse
    )
    assert "could replace an annotator" in worse
    assert "ε allows 10 lower" in worse
    # A judge that is better says so with the sign in words.
    assert (
        "is 12.5 points higher than a person’s on 300 items (95\u00a0% CI +10.5 to +14.5" in better
    )


def test_both_scales_must_hold_and_one_is_enough_to_rule_a_judge_out():
    report = without_truth(advantage=-0.05, balanced=0.2, se=0.02, p=0.001)
    assert answer_of(report).word == "No"

    test = report["comparison"][0]["pooled_replacement"]
    test["balanced"] |= {"ci": [0.05, 0.35], "p": 0.2}
    assert answer_of(report).word == "Not yet known"


@pytest.mark.parametrize(
    ("other", "words", "settling"),
    [
        ({"same_label": 0.997}, "gives the same label to 299 of 300 items", "more than one label"),
        (
            {"rarest": 19},
            "the rarer label is too rare (19 answers; at least 20 are needed)",
            "rarer label",
        ),
        (
            {"gain": {"value": 0.01, "low": -0.01, "ci": [-0.02, 0.04]}},
            "not shown to exceed that of its own labels in random order (gain +1.0 points",
            "follows what people see",
        ),
        (
            {
                "ci": None,
                "too_few": ["people"],
                "clusters": {"people": 24},
                "people_effective": 7.1,
            },
            "24 people (who count as 7.1, because some gave many more answers) are too few",
            "Add people (24 of 30 people so far, behind the comparison, who count as 7.1",
        ),
    ],
)
def test_what_keeps_a_judge_from_being_trusted_is_the_sentence(other, words, settling):
    report = without_truth(advantage=0.0, se=0.01, p=0.001, **other)

    verdict = answer_of(report)

    assert verdict.word == "Not yet known"
    assert words in verdict.sentence
    assert settling in settling_of(report)
    assert sensitivity_of(report) == ""


def test_the_answer_holds_for_every_epsilon_that_is_printed():
    could = without_truth(advantage=0.04, balanced=0.05, se=0.02, p=0.01)
    could_not = without_truth(advantage=0.3, se=0.05, p=1.0)
    is_open = without_truth(advantage=0.15, se=0.05, p=0.8)

    # 0.05 + 1.645 · 0.02 = 0.0829; 0.3 − 1.96 · 0.05 = 0.202; 0.15 + 1.645 · 0.05 = 0.2322.
    assert sensitivity_of(could) == "The answer is the same for every ε of 8.3 points or more."
    assert sensitivity_of(could_not) == "The answer is the same for every ε below 20.2 points."
    assert sensitivity_of(is_open) == (
        "With an ε of 23.3 points or more the answer would be “could”, with one below 5.2 “could "
        "not”."
    )
    assert sensitivity_of({"headline": {"state": "better"}}) == ""


def test_people_are_shown_with_what_they_count_as_where_a_few_gave_most_answers(report):
    difference_of(report).update(clusters={"people": 24}, people_effective=14.04, too_few=[])

    assert (
        "24 people (who count as 14.0, because some gave many more answers)."
        in verdict_of(report).caveats
    )

    difference_of(report)["people_effective"] = 19.3
    assert not any("count as" in caveat for caveat in verdict_of(report).caveats)


def test_items_without_a_persona_or_question_share_it_with_no_other():
    """Where none has one, as in a table without the column, all count as one."""
    data = simulated(60)
    votes = people_votes(data)

    def with_personas(keep):
        items = tuple(
            replace(item, persona=item.persona if keep(n) else "", question="")
            for n, item in enumerate(data.items)
        )
        return shared_by(replace(data, items=items), votes)

    known = {n: data.items[n].persona for n in range(0, 60, 2)}
    half, none = with_personas(lambda n: n % 2 == 0), with_personas(lambda _: False)

    assert n_distinct(half.persona) == len(set(known.values())) + 30
    assert n_distinct(half.persona[1::2]) == 30
    assert half.items.n_clusters["persona"] == n_distinct(half.persona)
    assert (n_distinct(none.persona), n_distinct(none.question)) == (1, 1)


@pytest.mark.parametrize(
    ("judge", "people", "word", "words", "advice"),
    [
        (
            [0.48, 0.56],
            [0.47, 0.55],
            "Not useful",
            "Neither is shown to be better than guessing.",
            "Run another judge, or ask about more items: ",
        ),
        (
            [0.6, 0.8],
            [0.49, 0.6],
            "Not yet known",
            "The majority of people is not shown to be better than",
            "Ask more people about each item, or about more items: the majority of people may be "
            "guessing.",
        ),
        ([0.6, 0.8], [0.6, 0.8], "Yes", "", "No more data are needed"),
    ],
)
def test_a_yes_needs_both_sides_to_beat_chance_and_not_useful_is_about_the_judge(
    report, judge, people, word, words, advice
):
    report["headline"]["state"] = "equivalent"
    report["inputs"]["truth"] = {"r1": 330, "r2": 270, "tie": 0, "unknown": 0}
    index = headline_run(report)
    report["judges"][index]["clusters"]["ci_as_best"] = judge
    report["human"]["majority"]["clusters"]["ci"] = people
    # Always the same answer is right on 55 % of the items.

    found = answer_of(report)

    assert found.word == word
    assert words in found.sentence
    assert settling_of(report).startswith(advice)
    assert labels_needed(report) == (None if words else 0)


def test_advice_grows_the_items_of_the_study_and_its_people_in_step(report):
    report["headline"]["state"] = "cannot_tell"
    difference = difference_of(report)
    difference |= {"value": 0.02, "se": 0.02, "too_few": [], "n": 400}

    factor, _ = times_more(difference, rivals_of(report))
    words = settling_of(report)

    items = rounded(report["inputs"]["items"] * (factor - 1))
    people = rounded(report["human"]["annotators"] * (factor - 1))
    assert f"About {items:,} more items and {people:,} more people" in words


def test_no_known_answer_is_said_only_where_it_is_so(report):
    report["headline"]["state"] = "no_truth"
    report["comparison"] = []
    report["human"] |= {"answers": 0}

    known = answer_of(report).sentence
    report["study"]["perspective"] = "own"
    own = answer_of(report).sentence

    assert "600 items have a known right answer, but no answer that counts" in known
    assert known.endswith("No person has answered.")
    assert own.startswith("People answered for themselves, so no answer is right or wrong.")


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["svg", "png"])
def test_the_card_has_the_same_bytes_each_time(report, tmp_path, kind):
    for name in ("a", "b"):
        write_card(report, tmp_path / f"{name}.{kind}", date=datetime.date(2026, 11, 27))

    one, other = ((tmp_path / f"{name}.{kind}").read_bytes() for name in ("a", "b"))
    assert one == other
    assert one.startswith(b"\x89PNG" if kind == "png" else b"<?xml")
