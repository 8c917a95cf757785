"""What reports say of rare kinds of studies, in which a usual sentence would be false."""

import datetime
from random import Random

import pytest

from analysis.data.raters import REPORT_WRITTEN
from analysis.report.build import all_tables
from analysis.report.citation import methods_paragraph
from analysis.report.quantities import Quantity
from analysis.report.rater_tests import rater_tests
from analysis.report.render import render_html
from analysis.report.results import certainty_limit, uneven
from analysis.report.sections.glance.accuracies import forest
from analysis.report.sections.glance.cautions import caution_texts
from analysis.report.sections.methods import run_facts
from analysis.report.sections.position import lights
from analysis.report.sentences import CALIBRATION, claim_p
from analysis.report.verdict.first_screen import verdict_of
from annotation import services
from annotation.models import Annotation, Annotator, Assignment
from judging.models import Attempt, Judge, JudgeRun, Judgment, Jury
from studies.models import Item, Study
from studies.services.studies import record
from tests.analysis.builders import MIRROR, answer, judge_item, make_rater, make_run
from tests.analysis.partial import report_of
from tests.factories import make_item, make_persona, make_study, stored_at_once

pytestmark = pytest.mark.django_db


@stored_at_once()
def planted(
    judge=lambda place: place % 5 > 0,
    people=lambda place, seat: (place + seat) % 4 > 0,
    *,
    answers_of=None,
    per_item=3,
    n_people=15,
    persona_of=lambda place: place % 20,
    topic_of=lambda place: "",
    choice_of=lambda truth, is_right: truth if is_right else MIRROR[truth],
    **settings,
):
    """100 items; `judge` and `people` say who is right, with the item's place and the seat."""
    study = make_study(state=Study.State.CLOSED, extras=[], **settings)
    run = make_run(study=study, judge="j")
    personas = [make_persona(study=study) for _ in range(20)]
    raters = [make_rater(study=study) for _ in range(n_people)]
    for place in range(100):
        truth = "r1" if place % 2 else "r2"
        item = make_item(
            study=study,
            persona=personas[persona_of(place)],
            question=f"Question {place}?",
            first_person=truth,
            topic=topic_of(place),
        )
        for seat in range(answers_of(place) if answers_of else per_item):
            rater = raters[(place * per_item + seat) % n_people]
            answer(rater, item, choice_of(truth, people(place, seat)), 70)
        judge_item(run, item, choice_of(truth, judge(place)), 70)
    return study


def found_rows(report):
    return [[cell.text for cell in row] for row in all_tables(report)["what_was_found"].cells]


def test_more_data_are_not_advised_where_they_would_not_help():
    all_ties = planted(choice_of=lambda truth, is_right: "tie", allow_tie=True)
    exchanged = planted(judge=lambda place: place == 7, people=lambda place, seat: False)
    one_persona = planted(
        people=lambda place, seat: Random(3 * place + seat).random() < 0.75,
        persona_of=lambda place: max(0, place - 80),
    )

    advice = [verdict_of(report_of(study)).settling for study in (all_ties, exchanged, one_persona)]

    assert advice[0].startswith("Ask without ties, or about responses that differ more")
    assert advice[1].startswith("Check the known answers first")
    assert advice[2].startswith("Spread items more evenly over personas")


def test_ties_are_no_sign_of_exchanged_responses():
    study = planted(
        people=lambda place, seat: place % 10 == 0,
        choice_of=lambda truth, is_right: truth if is_right else "tie",
        allow_tie=True,
    )
    report = report_of(study)
    texts = {code: str(text) for code, text in caution_texts(report)}

    assert texts["constant"].endswith("the majority of people on 10.0 %.")
    assert "exchanged" not in " ".join([*texts.values(), verdict_of(report).settling])


def test_a_judge_that_is_always_right_may_have_seen_the_answers():
    study = planted(judge=lambda place: True, people=lambda place, seat: place % 4 > 0)
    answer = verdict_of(report_of(study)).answer

    assert "j is right on all 100 items it decided, so it may have seen the known answers" in (
        answer.sentence
    )


def test_one_answer_per_item_is_no_majority():
    report = report_of(
        planted(answers_of=lambda place: 1, people=lambda place, seat: place % 4 > 0)
    )

    assert "one person per item" in verdict_of(report).answer.sentence
    assert not [row for row in found_rows(report) if "majority" in row[0]]


def test_a_claim_about_a_topic_has_its_number_and_counts_only_if_a_row_says_it():
    report = report_of(
        planted(
            judge=lambda place: place % 20 < 10 or place % 6 == 0,
            topic_of=lambda place: "easy" if place % 20 < 10 else "hard",
        )
    )
    rows, tested = found_rows(report), report["claims_tested"]

    [row] = [row for row in rows if "easy" in row[0]]
    assert row[0] == "j errs less often on “easy” than on other topics"
    assert row[1].startswith("−")
    held = [row for row in rows[1:] if not row[0].startswith("Open: ")]
    assert len(held) == tested["hold"]


def test_a_language_of_items_that_is_harder_is_said_as_a_topic_is():
    study = planted(judge=lambda place: place % 20 < 10 or place % 6 == 0)
    assert "languages" not in str(report_of(study)["claims_tested"])
    for item in study.all_items.all():
        item.language = "en" if int(item.question.split()[1][:-1]) % 20 < 10 else "de"
        item.save(update_fields=["language"])

    rows = found_rows(report_of(study))

    [row] = [row for row in rows if "languages" in row[0]]
    assert row[0] == "j errs more often in German than in other languages"
    assert row[1].startswith("+")
    assert row[3] == "50 items (of 100) in German"


@pytest.mark.parametrize(("ends", "p"), [([0.1, 0.3], 0.01), ([-0.1, 0.3], 1.0), (None, 1.0)])
def test_a_claim_needs_its_own_interval(ends, p):
    assert claim_p({"p_holm": 0.01, "ci": ends}) == p
    assert claim_p({"p_holm": None, "ci": ends}) is None
    assert claim_p({"p_holm": 0.01}) == 0.01


def test_nothing_is_said_of_what_a_file_of_answers_does_not_have():
    study = planted()
    Annotator.objects.filter(study=study).update(is_imported=True)
    run = JudgeRun.objects.get(study=study)
    run.is_imported, run.parameters = True, {"imported": True}
    run.save()
    run.judgments.update(shown_first="")
    report = report_of(study)

    limits = " ".join(limit["text"] for limit in report["limitations"])
    assert "not stored in which language people and judges were asked" in limits
    assert "order of the responses: not stored" in methods_paragraph(report)
    assert "Certainty is high from 80 on, a threshold from the settings." in (
        methods_paragraph(report)
    )
    assert "cost" not in all_tables(report) or not all_tables(report)["cost"].rows
    assert "Seed" not in {name for name, *_ in run_facts(report, 0)}


def test_a_missing_interval_has_its_reason_in_the_table_of_claims():
    report = report_of(planted(persona_of=lambda place: max(0, place - 80)))

    assert found_rows(report)[0][2] == (
        "personas or questions too few, or their shares of the items too unequal"
    )


def test_intervals_are_about_others_only_of_what_the_study_has_several_of():
    report = report_of(planted(persona_of=lambda place: 0))

    page = render_html(report, date=datetime.date(2026, 11, 30))
    page += methods_paragraph(report)

    assert page.count("items, people and questions like these") >= 3
    assert "people, personas" not in page


def test_people_who_give_ties_do_not_look_as_if_responses_were_exchanged():
    report = report_of(
        planted(
            people=lambda place, seat: (place + seat) % 5 == 0,
            choice_of=lambda truth, is_right: truth if is_right else "tie",
            allow_tie=True,
        )
    )
    verdict = verdict_of(report)

    assert "exchanged" not in " ".join([*verdict.caveats, verdict.settling])
    assert verdict.settling.startswith("Ask without ties, or about responses that differ more")


def test_the_only_person_has_one_claim_about_certainty():
    wrong = {"people": lambda place, seat: place % 4 == 0}
    report = report_of(planted(answers_of=lambda place: 1, n_people=1, **wrong))

    claims = [row[0] for row in found_rows(report) if "ertainty of the only person" in row[0]]
    assert len(claims) == 1
    assert not [row for row in found_rows(report) if "people" in row[0].lower()]


def test_majorities_of_one_are_counted_and_items_without_an_answer_too():
    report = report_of(planted(answers_of=lambda place: min(place // 10, 3)))
    page = render_html(report, date=datetime.date(2026, 11, 30))

    alone = "On 10 items (of 100), the majority is one person’s answer."
    assert alone not in verdict_of(report).caveats
    assert "have no answer from people." in page
    few = report_of(planted(answers_of=lambda place: 1 + 2 * (place >= 30)))
    assert alone.replace("10 items", "30 items") in verdict_of(few).caveats


def test_verbs_agree_with_people_and_with_a_judge():
    test = rater_tests(report_of(planted()), CALIBRATION)[0]

    assert [test.verb(one) for one in ("is", "does", "leans")] == ["are", "do", "lean"]


def test_a_judge_that_changes_its_choice_when_asked_again_is_reported_per_reply():
    study = planted()
    run = JudgeRun.objects.get(study=study)
    JudgeRun.objects.filter(pk=run.pk).update(samples=2)
    with stored_at_once():
        for place, item in enumerate(Item.objects.filter(study=study).order_by("pk")):
            choice = run.judgments.get(item=item).choice
            other = MIRROR[choice] if place < 30 else choice
            judge_item(run, item, other, 70, sample=2)

    [note] = verdict_of(report_of(study)).notes
    assert note.startswith("Asked again, j changed its choice on 30 of 100 items; a single reply")
    assert note.endswith(" of 100 first replies.")
    people, judge = (str(light.text) for light in lights(report_of(study)))
    assert " of 300 answers " in people
    assert " of 100 first answers" in judge


def test_the_question_is_that_of_the_items_and_not_of_the_study():
    study = planted()
    assert "“Which response would this person prefer?”" in methods_paragraph(report_of(study))

    Item.objects.filter(study=study).update(task="authorship")
    assert "“Which response did this person write?”" in methods_paragraph(report_of(study))

    Item.objects.filter(study=study, key=Item.objects.first().key).update(task="preference")
    assert "each asks the question of its task of two responses" in methods_paragraph(
        report_of(study)
    )


def test_nothing_is_said_of_personas_where_people_answer_for_themselves():
    report = report_of(planted(perspective="own"))
    limits = {limit["limit"] for limit in report["limitations"]}
    methods = methods_paragraph(report)

    assert (report["inputs"]["personas"], report["inputs"]["truth"]["unknown"]) == (0, 100)
    assert not limits & {"truth", "stereotypes"}
    assert methods.startswith("The study has 100 items; each asks “Which response do you prefer?”")
    assert "judged 100 items (setting" in methods
    assert "known right answer" not in verdict_of(report).settling


def test_errors_where_one_side_is_always_right_are_no_lean_to_the_other_side():
    """The response that is right is always shown first, as in some files."""
    study = planted()
    for rows in (Assignment.objects.filter(annotator__study=study), Judgment.objects.all()):
        for side in ("r1", "r2"):
            rows.filter(item__first_person=side).update(shown_first=side)

    people, _ = (str(light.text) for light in lights(report_of(study)))

    assert people.startswith("We cannot tell whether the side matters for people: side A was")
    assert " and right in 100.0 % (a difference of −25.0 points, 95 % CI −" in people
    assert people.endswith("Errors without a preference for a side would give −25.0 points.")


def test_two_runs_of_a_judge_that_saw_the_same_are_one_way():
    study = planted()
    judged = make_run(study=study, judge="j", seed=8)
    for item in Item.objects.filter(study=study):
        judge_item(judged, item, "r1", 70)

    words = methods_paragraph(report_of(study))
    assert "judged 100 items in 2 runs from the whole persona (setting" in words


def test_judges_that_answer_alike_are_compared_two_by_two():
    study = planted()
    runs = [make_run(study=study, judge=name) for name in ("k", "shy")]
    for place, item in enumerate(Item.objects.filter(study=study).order_by("pk")):
        for run in runs[: 2 if place % 4 else 1]:
            judge_item(
                run, item, JudgeRun.objects.get(judge__name="j").judgments.get(item=item).choice
            )

    said = " ".join(verdict_of(report_of(study)).caveats)
    assert "j gives the same answer as k to all 100 and as shy to all 75 items that both" in said


def test_an_exclusion_after_a_report_is_said_to_be_one():
    study = planted()
    early, late = Annotator.objects.filter(study=study)[:2]
    services.exclude(annotator_id=early.pk, reason="Too fast.", reopen_seats=False)
    record(study, REPORT_WRITTEN)
    services.exclude(annotator_id=late.pk, reason="Too different.", reopen_seats=False)

    assert (
        "2 people are excluded, 1 of them after the first report, which could show the result."
        in verdict_of(report_of(study)).caveats
    )


def test_one_exclusion_that_is_late_is_not_one_of_them():
    study = planted()
    record(study, REPORT_WRITTEN)
    services.exclude(
        annotator_id=Annotator.objects.filter(study=study)[0].pk, reason="Odd.", reopen_seats=False
    )

    assert (
        "1 person is excluded after the first report, which could show the result."
        in verdict_of(report_of(study)).caveats
    )


def test_the_only_person_leans_alone():
    study = planted(per_item=1, n_people=1, people=lambda place, seat: place % 2 > 0)

    report = report_of(study)
    people, _ = (str(light.text) for light in lights(report))

    assert str(forest(report).caption).endswith(" The line marks the only person.")
    assert people.startswith("The only person leans to side A: side A was chosen in 100.0 %")
    members = report["claims_tested"]["members"]
    assert "majority" not in {one["who"] for one in members if one["kind"] == CALIBRATION}


def test_items_without_a_certainty_are_not_among_those_that_both_decided():
    tied = planted(
        choice_of=lambda truth, is_right: truth if is_right else "tie",
        people=lambda place, seat: place % 7 > 1,
        allow_tie=True,
    )
    for rows in (Annotation, Judgment):
        rows.objects.filter(certainty=70).update(certainty=90)
    report = report_of(tied)
    decided, certain = (
        entry["n"]
        for one in report["comparison"]
        for entry in (one["difference_general"], one["certainty"]["high_sets"])
    )

    [row] = [row for row in found_rows(report) if "items of high certainty" in row[0]]
    assert certain < decided
    assert row[3] == f"{certain} items (of 100) that both decided with a certainty"
    # Ties choose no side.
    assert " choices of a side" in str(lights(report)[0].text)


def test_of_few_items_with_a_known_answer_the_study_has_more_people():
    study = planted()
    Item.objects.filter(study=study).exclude(question__in=["Question 1?", "Question 2?"]).update(
        first_person=""
    )
    sentences = " ".join(report_of(study)["headline"]["sentences"])

    assert "The comparison rests on 6 people (of 15): too few to generalise" in sentences
    assert "rests on only 2 questions (of 100)" in sentences or "questions (of 100)" in sentences


def test_true_ties_that_were_no_option_have_a_known_answer():
    study = planted()
    offered = make_run(study=study, judge="t", setting="tie")
    for place, item in enumerate(Item.objects.filter(study=study).order_by("pk")):
        if place < 30:
            Item.objects.filter(pk=item.pk).update(first_person="tie")
        judge_item(offered, item, "tie" if place < 50 else "r1")
    report = report_of(study)
    texts = {code: str(text) for code, text in caution_texts(report)}

    assert "70 items (of 100) with a right answer on offer that both" in (
        verdict_of(report).answer.sentence
    )
    assert texts["tied"].startswith("t gave a tie on 20 of 70 items (of 100) where a response is")


def test_what_answers_of_a_file_cost_and_in_which_language_is_unknown_of_these_alone():
    study = planted()
    JudgeRun.objects.filter(study=study).update(parameters={"prompts": {}})
    imported = Annotator.objects.filter(study=study)[:5]
    Annotator.objects.filter(pk__in=[one.pk for one in imported]).update(is_imported=True)
    report = report_of(study)
    limits = {limit["limit"]: limit["text"] for limit in report["limitations"]}

    assert report["human"]["imported"] == 5
    assert limits["opt_in"].startswith("Some people chose to take part here;")
    assert "in which language some people were asked" in limits["language"]
    assert report["human"]["pay"]["rewards"] is not None
    assert report["human"]["pay"]["per_correct"] is None
    people = [row[0] for row in all_tables(report)["price"].rows]
    assert people == ["j"]


def test_a_jury_is_the_majority_of_its_judges_and_asks_nothing():
    study = planted()
    for name in ("k", "m"):
        run = make_run(study=study, judge=name)
        for item in Item.objects.filter(study=study):
            judge_item(run, item, "r1", 70)
    jury = Jury.objects.create(study=study, name="panel")
    jury.judges.set(Judge.objects.filter(name__in=["j", "k", "m"]))
    words = methods_paragraph(report_of(study))

    assert "panel is the majority of j, k and m, each with one vote." in words
    assert "panel (" not in words


def test_refusals_of_everything_leave_no_items_to_be_right_on():
    study = planted()
    mute, shy = (make_run(study=study, judge=name) for name in ("mute", "shy"))
    for place, item in enumerate(Item.objects.filter(study=study).order_by("pk")):
        judge_item(mute, item, state="refused")
        judge_item(shy, item, "r1" if place < 60 else "", state="done" if place < 60 else "refused")

    assert (
        "mute refused all 100 items and shy refused 40 of 100 items; accuracy is about the others."
    ) in verdict_of(report_of(study)).caveats


def test_a_judge_that_nobody_can_read_is_named_beside_one_that_answers():
    study = planted()
    mumbling = make_run(study=study, judge="mumbling")
    for item in Item.objects.filter(study=study):
        judge_item(mumbling, item, state="unparseable")

    caveats = verdict_of(report_of(study)).caveats
    assert "mumbling gave no readable reply to any of 100 items." in caveats


def test_too_few_people_for_an_interval_are_too_few_for_a_claim():
    report = report_of(planted(n_people=4, per_item=4, people=lambda place, seat: True))

    assert {test["who"] for test in report["claims_tested"]["members"]} >= {"people", "majority"}
    assert not [row for row in found_rows(report) if row[0].startswith("The certainty of")]


def test_a_judge_that_is_not_done_is_let_finish_before_anything_is_added():
    study = planted(people=lambda place, seat: Random(3 * place + seat).random() < 0.75)
    run = JudgeRun.objects.get(study=study)
    for judgment in Judgment.objects.filter(run=run, item__in=study.all_items.all()[60:]):
        judgment.choice, judgment.certainty, judgment.state = "", None, "pending"
        judgment.save()
    report = report_of(study)

    assert verdict_of(report).settling == (
        "Let j judge the other 40 items, then build the report again."
    )
    assert "judged 60 items (of 100) from the whole persona" in methods_paragraph(report)

    Judgment.objects.filter(run=run).update(state="done", choice="r1", certainty=70)
    for item in study.all_items.all():
        judge_item(run, item, state="pending", shown_first="r2")
    assert verdict_of(report_of(study)).settling == (
        "Let j make the other 100 judgments, then build the report again."
    )


@pytest.mark.parametrize(
    ("threshold", "words"),
    [
        (80, "exactly 80 is high but still in the band “Confident”."),
        (50, "exactly 50 is high but still in the band “Quite Confident”."),
        (81, "A certainty of 81 or more counts as high."),
    ],
)
def test_a_threshold_is_said_to_be_inside_a_band_only_where_it_is(threshold, words):
    assert str(certainty_limit(Quantity("level", None, threshold))).endswith(words)


def test_no_difference_is_no_size_to_ask_about():
    people = {"people": lambda place, seat: Random(place).random() < 0.8}
    study = planted(judge=lambda place: Random(place + 7).random() < 0.8, **people)
    judged = {one.item_id: one for one in Judgment.objects.filter(run__study=study)}
    report = report_of(study)
    # As many only the judge is right on as only people are.
    gap = round(report["comparison"][0]["difference_general"]["value"] * 100)
    wrong = [one for one in judged.values() if one.choice != one.item.first_person]
    for one in wrong[: max(0, -gap)]:
        Judgment.objects.filter(pk=one.pk).update(choice=one.item.first_person)
    right = [one for one in judged.values() if one.choice == one.item.first_person]
    for one in right[: max(0, gap)]:
        Judgment.objects.filter(pk=one.pk).update(choice=MIRROR[one.choice])
    report = report_of(study)
    report["cautions"] = {}
    verdict = verdict_of(report)

    assert report["comparison"][0]["difference_general"]["value"] == 0
    assert "does not show that both are right equally often" in verdict.answer.sentence
    assert "difference of 0.0 points" not in verdict.settling


def test_people_were_asked_in_a_language_only_if_they_were_asked():
    study = planted(language="", judge=lambda place: place % 4 > 0)
    assert "people were asked in: not stated" in render_html(
        report_of(study), date=datetime.date(2026, 11, 30)
    )
    Annotator.objects.filter(study=study).update(is_imported=True)
    make_rater(study=study, state=Annotator.State.DECLINED)

    page = render_html(report_of(study), date=datetime.date(2026, 11, 30))

    assert "people were asked in" not in page
    assert "language of the items: ." not in page


@pytest.mark.parametrize("per_item", [1, 2, 3, 5])
def test_agreement_is_about_the_items_that_two_people_answered(per_item):
    study = planted(answers_of=lambda place: 1 if place < 20 else per_item)

    report = report_of(study)
    entry = report["human"]["agreement"]["from_accuracy"]

    assert entry["items"] == (0 if per_item == 1 else 80)


@pytest.mark.parametrize(
    ("orders", "words"),
    [
        ({}, "one for each item, one reading of each item, 100 judgments)"),
        ({"shown_first": ""}, "not stored, one reading of each item, 100 judgments)"),
    ],
)
def test_the_order_of_a_file_is_known_also_where_no_side_was_chosen(orders, words):
    study = planted(judge=lambda place: True)
    JudgeRun.objects.filter(study=study).update(parameters={"imported": True})
    Judgment.objects.filter(run__study=study).update(
        choice="", certainty=None, state="refused", **orders
    )

    assert words in methods_paragraph(report_of(study))


def take_back(study, items):
    """Delete what the judge j answered about some items."""
    judgments = Judgment.objects.filter(run__study=study, run__judge__name="j", item__in=items)
    Attempt.objects.filter(judgment__in=judgments).delete()
    judgments.delete()


@pytest.mark.parametrize(
    ("items", "words"), [(29, "Add at least 1 item that both"), (28, "Add at least 2 items that")]
)
def test_the_next_step_adds_one_item(items, words):
    study = planted(people=lambda place, seat: Random(3 * place + seat).random() < 0.75)
    take_back(study, list(study.all_items.all()[items:]))

    assert verdict_of(report_of(study)).settling.startswith(words)


def test_nobody_knows_when_a_file_of_judgments_was_read():
    study = planted(per_item=0)
    Annotator.objects.filter(study=study).update(is_imported=True)
    assert "a threshold set before the data" in methods_paragraph(report_of(study))
    JudgeRun.objects.filter(study=study).update(parameters={"imported": True})

    assert "a threshold from the settings" in methods_paragraph(report_of(study))


def test_differences_of_runs_are_about_the_items_that_the_note_names():
    study = planted()
    assert "on items that both decided. References" in note_of(study)
    run = make_run(study=study, judge="k")
    items = list(study.all_items.all())
    for item in items[:65]:
        judge_item(run, item, "r1", 70)
    take_back(study, items[:35])
    assert "both decided and every competing judge was asked." in note_of(study)
    take_back(study, items[35:36])

    assert "both decided; runs had too few items in common, so" in note_of(study)


def note_of(study):
    return str(all_tables(report_of(study))["at_a_glance"].note)


def test_the_largest_share_of_answers_is_of_those_that_are_compared():
    study = planted(n_people=8, answers_of=lambda place: 1 + place % 5)
    report = report_of(study)
    difference = report["comparison"][0]["difference_general"] | {"people_uneven": True}
    whole, part = {**difference, "n": 100}, {**difference, "n": 99}

    assert str(uneven(report, whole)).endswith(" of the answers")
    assert str(uneven(report, part)).endswith(" of the answers behind the comparison")
