"""What would mislead readers if it were not said, in planted studies."""

import datetime
import random

import pytest

from analysis.report.render import render_html
from analysis.report.verdict.first_screen import verdict_of
from analysis.report.verdict.next_step import labels_needed
from studies.models import Item, Study
from tests.analysis.builders import MIRROR, answer, judge_item, make_rater, make_run
from tests.analysis.partial import report_of
from tests.factories import make_item, make_persona, make_study, stored_at_once

pytestmark = pytest.mark.django_db

LENGTHS = ("Short.", "A response that is much longer than the other one.")


def shuffled(rng, item, truth, votes):
    return truth if rng.random() < 0.75 else MIRROR[truth]


@stored_at_once()
def planted(
    judge=shuffled,
    *,
    n=150,
    people=18,
    right=0.7,
    share_r1=0.5,
    personas=30,
    persona_of=lambda place: place % 30,
    pasters=0,
    repeated=0,
    truths=True,
):
    """Items with three people each and one judge; everything else is what a test plants."""
    rng = random.Random(7)
    study = make_study(state=Study.State.CLOSED, extras=[])
    profiles = [make_persona(study=study) for _ in range(personas)]
    raters = [make_rater(study=study) for _ in range(people)]
    run = make_run(study=study, judge="j")
    made = []
    for place in range(n):
        truth = "r1" if rng.random() < share_r1 else "r2"
        sides = [f"{text} {place:03}" for text in rng.sample(LENGTHS, 2)]
        item = make_item(
            study=study,
            persona=profiles[persona_of(place)],
            question=f"Question {place}?",
            first_person=truth if truths else "",
            r1={"text": sides[0]},
            r2={"text": sides[1]},
        )
        if place < repeated:
            make_item(
                study=study,
                persona=item.persona,
                question=item.question,
                r1=item.r2,
                r2=item.r1,
                first_person=MIRROR[truth] if truths else "",
            )
        chosen = {
            rater: truth if rng.random() < right else MIRROR[truth]
            for rater in rng.sample(range(people), 3)
        }
        votes = [*chosen.values()]
        verdict = judge(rng, item, truth, votes)
        judge_item(run, item, verdict, 80)
        for rater, choice in chosen.items():
            answer(raters[rater], item, verdict if rater < pasters else choice, 80)
        made.append(item)
    return study


def read(study):
    report = report_of(study)
    page = render_html(report, date=datetime.date(2026, 11, 28))
    verdict = verdict_of(report)
    for caveat in verdict.caveats:
        assert caveat in page.replace("&#x27;", "'")
    return report, verdict


def test_a_usual_study_has_no_caution_and_its_page_no_sentence_more():
    report, verdict = read(planted())

    assert "cautions" not in report
    assert len(verdict.caveats) == 3


def test_always_the_same_response_that_is_right_more_often_is_named_with_the_same_items():
    report, verdict = read(planted(right=0.6, share_r1=0.9))

    [majority, judge] = report["cautions"]["constant"]
    r1 = sum(item["truth"] == "r1" for item in report["items"])
    assert (majority["who"], judge["who"]) == ("majority", "judges.0")
    assert (majority["n"], majority["constant"], majority["answer"]) == (150, r1, "r1")
    assert majority["correct"] == report["human"]["majority"]["correct"]
    assert verdict.caveats[0] == (
        f"Always response 1 would be right on {r1 / 1.5:.1f} % of 150 items, the majority of "
        f"people on {majority['correct'] / 1.5:.1f} % and j on {judge['correct'] / 1.5:.1f} %."
    )


def majority_of(rng, item, truth, votes):
    return max(set(votes), key=votes.count)


@pytest.mark.parametrize("truths", [True, False])
def test_a_judge_that_is_the_majority_is_never_trusted(truths):
    report, verdict = read(planted(majority_of, truths=truths))

    [found] = report["cautions"]["followed"]
    assert (found["n"], found["items"]) == (150, 150)
    assert verdict.answer.trust == "INCONCLUSIVE"
    assert verdict.settling.startswith("Find out whether j was made from these people’s answers")
    assert labels_needed(report) is None
    # The answer says it, so it is not among the cautions; the limits have it with all its numbers.
    assert "answers may be made from theirs" in verdict.answer.sentence
    assert not [caveat for caveat in verdict.caveats if "made from theirs" in caveat]
    assert (
        "j gives the answer of the majority of people to all 150 items, also to the "
        f"{found['split']} items on which people disagree. If its answers were made from theirs, "
        "comparing them says nothing."
    ) in [limit["text"] for limit in report["limitations"]]


def test_what_to_do_next_follows_from_the_gravest_caution():
    def known(rng, item, truth, votes):
        return truth

    _, seen = read(planted(known))
    pasted_report, pasted = read(planted(pasters=2))
    _, usual = read(planted(share_r1=0.93, right=0.6))
    easy_report, easy = read(planted(known, right=0.99))

    assert seen.answer.trust == "INCONCLUSIVE"
    assert seen.answer.sentence.startswith(
        "j is right on all 150 items it decided, so it may have seen the known answers, though"
    )
    assert seen.settling.startswith("Find out whether j saw the known answers, in its prompt")
    assert pasted.settling == (
        "Find out whether 2 people (of 18) copied a judge, or it was made from their answers; if "
        "so, exclude the copies and build the report again."
    )
    assert labels_needed(pasted_report) is None
    # One copy among many people does not decide a comparison that is open.
    pasted_report["headline"]["state"] = "cannot_tell"
    pasted_report["cautions"]["pasted"][0]["people"] = 1
    assert "copied" not in verdict_of(pasted_report).settling
    assert usual.settling.startswith("Ask about items of which no answer is the usual")
    # Of people who hardly err, a judge without an error is no sign that it saw the answers.
    assert easy.answer.trust == "TRUSTED"
    assert [one["who"] for one in easy_report["cautions"]["easy"]] == ["people", "judges.0"]
    assert easy.caveats[0].startswith("Items this easy tell nobody apart: people are right in 98")
    assert easy.settling.startswith("Ask about harder items")


def test_known_answers_that_are_the_majoritys_decide_no_comparison():
    study = planted()
    for item in study.all_items.all():
        choices = [*item.assignments.values_list("annotation__choice", flat=True)]
        item.first_person = max(set(choices), key=choices.count)
        item.save(update_fields=["first_person"])

    report, verdict = read(study)

    [known] = report["cautions"]["known"]
    assert (known["n"], known["items"]) == (150, 150)
    assert verdict.answer.trust == "INCONCLUSIVE"
    assert verdict.answer.sentence.startswith(
        "The majority of people is right on all 150 items with a known answer, so the known "
        "answers may be made from theirs, though j was right less often"
    )
    assert verdict.settling.startswith("Find out whether the known answers were made from these")
    assert not [caveat for caveat in verdict.caveats if "known answers" in caveat]


def test_people_who_give_all_answers_of_a_judge_are_counted_next_to_the_others():
    report, verdict = read(planted(pasters=2))

    [found] = report["cautions"]["pasted"]
    others = found["others"]
    assert (found["people"], found["among"]) == (2, 18)
    assert verdict.caveats[0] == (
        f"2 people (of 18) give the same answer as j every time ({found['answers']} answers), "
        f"others in {100 * others['same'] / others['n']:.1f} % of {others['n']} answers. Their "
        "answers may be copies."
    )


def test_a_judge_that_is_the_same_as_many_people_is_never_trusted():
    def right(rng, item, truth, votes):
        return truth if rng.random() < 0.9 else MIRROR[truth]

    report, verdict = read(planted(right, pasters=6, truths=False))

    assert report["cautions"]["pasted"][0]["people"] == 6
    assert verdict.answer.trust == "INCONCLUSIVE"
    assert "6 people (of 18) give the same answer as j every time" in verdict.answer.sentence
    assert verdict.settling.startswith("Find out whether 6 people (of 18) copied a judge")
    assert not [caveat for caveat in verdict.caveats if "copies" in caveat]


def test_items_that_are_repeated_under_other_ids_are_counted_with_the_sides_swapped():
    report, verdict = read(planted(repeated=40))

    assert report["cautions"] == {"repeated": 40}
    assert verdict.caveats[0] == (
        "40 items (of 190) have the persona, the question and the responses of another one, so "
        "the items say less than their number."
    )


def test_a_few_personas_with_most_of_the_items_are_named():
    report, verdict = read(
        planted(persona_of=lambda place: place % 5 if place < 125 else place % 25 + 5)
    )

    assert report["cautions"]["uneven"][0]["largest"] == 5
    assert verdict.caveats[0] == (
        "5 personas (of 30) have 83.3 % of 150 items: results are mostly about them."
    )


def longer(rng, item, truth, votes):
    side = "r1" if len(item.r1["text"]) > len(item.r2["text"]) else "r2"
    return side if rng.random() < 0.6 else truth


def test_a_judge_that_leans_to_the_longer_response_is_named_with_its_errors():
    report, verdict = read(planted(longer))

    own = report["judges"][0]["verbosity"]
    assert own["right_when_longer"]["n"] + own["right_when_shorter"]["n"] == own["n"] == 150
    wrong = [1 - own[f"right_when_{key}"]["accuracy"] for key in ("shorter", "longer")]
    assert wrong[0] > wrong[1]
    assert verdict.caveats[0].startswith(
        f"j leans to the longer response: wrong on {wrong[0] * 100:.1f} % of "
        f"{own['right_when_shorter']['n']} items (of 150) where the shorter response is right"
    )


def test_a_judge_without_a_preference_for_length_is_not_named_where_longer_is_mostly_right():
    def right_is_longer(rng, item, truth, votes):
        return truth if rng.random() < 0.75 else MIRROR[truth]

    study = planted(right_is_longer)
    for item in study.all_items.all():
        if item.shuffle_key % 5:  # 80 % of the right responses are the longer ones
            long, short = sorted((item.r1["text"], item.r2["text"]), key=len, reverse=True)
            sides = (long, short) if item.first_person == "r1" else (short, long)
            item.r1, item.r2 = {"text": sides[0]}, {"text": sides[1]}
            item.save(update_fields=["r1", "r2"])

    report, verdict = read(study)

    own = report["judges"][0]["verbosity"]
    assert own["longer_chosen"] < own["longer_true"]
    assert not any("leans to" in caveat for caveat in verdict.caveats)


def test_judges_without_any_answer_of_people_ask_for_people():
    study = planted()
    from annotation.models import Annotation, Assignment

    Annotation.objects.all().delete()
    Assignment.objects.all().delete()

    _, verdict = read(study)

    assert verdict.answer.sentence == "No person’s answer counts, so there is no comparison."
    assert verdict.settling == "Ask people about the same items."


@stored_at_once()
def hesitant(*, ties: int, known: int = 40) -> Study:
    """40 items with three people, who give a tie on the first ones; the last have no right answer.

    Three of six people answer the first 32 items, and the others the rest.
    """
    study = make_study(state=Study.State.CLOSED, allow_tie=True)
    persona, run = make_persona(study=study), make_run(study=study, judge="j", setting="tie")
    raters = [make_rater(study=study) for _ in range(6)]
    for place in range(40):
        truth = "r1" if place % 2 else "r2"
        shown = truth if place < known else ""
        item = make_item(study=study, persona=persona, first_person=shown)
        for rater in raters[:3] if place < 32 else raters[3:]:
            answer(rater, item, "tie" if place < ties else truth, 70)
        judge_item(run, item, "tie" if ties == 40 else truth, 70)
    return study


def test_ties_that_count_as_wrong_are_named():
    report = report_of(hesitant(ties=30))

    words = (
        "The majority of people gave a tie on 30 of 40 items where a response is right, and it "
        "counts as wrong there."
    )
    assert words in verdict_of(report).caveats
    assert [entry["who"] for entry in report["cautions"]["tied"]] == ["majority"]
    assert "tied" not in report_of(hesitant(ties=4)).get("cautions", {})


def test_where_everybody_gives_ties_no_order_of_sides_is_said_to_be_unknown():
    page = render_html(report_of(hesitant(ties=40)), date=datetime.date(2026, 1, 1))

    assert "No answer with a known order of the responses chose a side." in page


def test_people_behind_the_comparison_are_not_taken_for_all_of_the_study():
    verdict = verdict_of(report_of(hesitant(ties=0, known=32)))

    assert any("Only 3 people (of 6) behind the comparison" in text for text in verdict.caveats)
    assert "people (3 of 6 people so far, behind the comparison)" in verdict.settling


def exchanged(rng, item, truth, votes):
    return MIRROR[truth] if rng.random() < 0.95 else truth


def test_a_judge_that_names_the_other_response_is_named_and_its_answers_are_checked_first():
    _, verdict = read(planted(exchanged))

    assert "(as if responses were exchanged)" in verdict.caveats[0]
    assert verdict.settling.startswith("Check the answers of j first: they are right less often")


def test_people_below_chance_are_not_called_too_few():
    _, verdict = read(planted(right=0.15))

    assert "(as if responses were exchanged)" in verdict.caveats[0]
    assert verdict.settling.startswith("Check the answers of the majority of people first")


def test_items_without_a_known_answer_are_not_items_that_nobody_decided():
    study = planted(truths=False)
    some = Item.objects.filter(study=study).values_list("pk", flat=True)[:60]
    Item.objects.filter(pk__in=list(some)).update(first_person="r1")

    _, verdict = read(study)

    assert "60 items (of 150) with a known answer that both decided" in verdict.answer.sentence


def test_one_persona_is_not_asked_for_new_ones():
    report, verdict = read(planted(personas=1, persona_of=lambda place: 0))

    assert report["headline"]["state"] == "cannot_tell"
    assert "with new questions" in verdict.settling
    assert "personas" not in verdict.settling


def panel(*, copies, n=60, people=5, right=0.75):
    """Everybody answers every item; the first `copies` people give the same answers."""
    rng = random.Random(3)
    study = make_study(state=Study.State.CLOSED, extras=[])
    raters = [make_rater(study=study) for _ in range(people)]
    for place in range(n):
        truth = ("r1", "r2")[place % 2]
        item = make_item(study=study, question=f"Question {place}?", first_person=truth)
        choices = [truth if rng.random() < right else MIRROR[truth] for _ in raters]
        for number, rater in enumerate(raters):
            answer(rater, item, choices[0 if number < copies else number], 80)
    return study


def test_people_who_always_answer_alike_are_named():
    report, verdict = read(stored_at_once()(panel)(copies=2))

    [alike] = report["cautions"]["alike"]
    assert (alike["people"], alike["among"], alike["fewest"]) == (2, 5, 60)
    assert 0.5 < alike["others"] < 0.8
    share = f"{100 * alike['others']:.1f} %"
    assert any(
        text.startswith("2 people (of 5) give the same answers to all items that two of them share")
        and f"(60 or more), while other pairs agree on {share}" in text
        for text in (one.replace("\u00a0", " ") for one in verdict.caveats)
    )


def test_if_all_answer_alike_errors_tell_it_from_easy_items():
    report, verdict = read(stored_at_once()(panel)(copies=3, people=3))
    wrong = report["cautions"]["alike"][0]["wrong"]
    assert f"also to {wrong} items on which they are wrong: find out" in verdict.caveats[0]

    easy, _ = read(stored_at_once()(panel)(copies=3, people=3, right=1.0))
    usual, _ = read(stored_at_once()(panel)(copies=0))
    assert "alike" not in {*easy.get("cautions", {}), *usual.get("cautions", {})}
