"""The chapter on sets of options: rankings of whole sets, places, and pairs that hang together."""

import random
from datetime import date
from itertools import combinations
from statistics import fmean

import pytest
from scipy.stats import kendalltau

from analysis.data.dataset import load_dataset
from analysis.data.item_answers import answers_to, as_given, majority_on, shown_with
from analysis.data.item_comparisons import annotator_aggregates
from analysis.data.item_texts import item_facts
from analysis.report.build import all_sentences
from analysis.report.render import render_html
from annotation.models import Annotation, Annotator
from judging.models import Judgment
from studies.models import Item, Study
from tests.analysis.builders import answer, judge_item, make_rater, make_run, random_study
from tests.analysis.partial import report_of
from tests.analysis.walking import faults
from tests.factories import make_item, make_persona, make_study, stored_at_once

pytestmark = pytest.mark.django_db


@stored_at_once()
def sets_of_three(study, count, *, question="Question {n}?"):
    """The three pairs of each set; option 1 is the chosen one, and each is response 1 once."""
    personas = [make_persona(study=study) for _ in range(count // 4)]
    made = []
    for n in range(count):
        pairs = []
        for one, other in ((1, 2), (2, 3), (3, 1)):
            rest = 6 - one - other
            option_set = {
                "id": f"q{n:03}",
                "rule": "all",
                "place": {"r1": one, "r2": other},
                "chosen": 1,
                "others": [{"place": rest, "text": f"Option {rest}"}],
            }
            pairs.append(
                make_item(
                    study=study,
                    key=f"q{n:03}:{one}{other}",
                    persona=personas[n % len(personas)],
                    question=question.format(n=n),
                    option_set=option_set,
                    first_person={1: "r1"}.get(one, "r2" if other == 1 else ""),
                )
            )
        made.append(pairs)
    return made


@stored_at_once()
def rank(run, pairs, ranking, shown):
    """The judgments of one reply: the first pair was asked, the others follow from it."""
    replies = []
    for item in pairs:
        place = item.option_set["place"]
        r1_wins = ranking.index(place["r1"]) < ranking.index(place["r2"])
        r1_first = shown.index(place["r1"]) < shown.index(place["r2"])
        replies.append(
            judge_item(
                run,
                item,
                "r1" if r1_wins else "r2",
                70,
                shown_first="r1" if r1_first else "r2",
                details={"ranking": list(ranking), "shown": list(shown)},
            )
        )
    return replies


@pytest.fixture(scope="module")
def study(module_db):
    """A judge that ranks the chosen option first in two thirds, and one that takes the first."""
    rng = random.Random(3)
    study = make_study()
    content = make_run(study=study, judge="content", setting="listwise", orders="both")
    place = make_run(study=study, judge="place", setting="listwise")
    rater = make_rater(study=study)
    replies = []
    with stored_at_once():
        for n, pairs in enumerate(sets_of_three(study, 60)):
            answer(rater, pairs[0], "r1")
            shown = tuple(rng.sample((1, 2, 3), 3))
            ranking = (1, 2, 3) if n % 3 else (3, 2, 1)
            replies.append(rank(content, pairs, ranking, shown))
            replies.append(rank(content, pairs, ranking, shown[::-1]))
            replies.append(rank(place, pairs, shown, shown))
    followed = [judgment for _, *others in replies for judgment in others]
    for asked, *others in replies:
        for judgment in others:
            judgment.asked_with = asked
    Judgment.objects.bulk_update(followed, ["asked_with"])
    return study


@pytest.fixture(scope="module")
def report(study):
    return report_of(study)


@pytest.mark.nightly
def test_the_chapter_finds_who_ranks_by_content_and_who_by_place(report):
    found = report["option_sets"]
    assert (found["items"], found["sets"], found["sizes"]) == (180, 60, {"3": 60})
    assert found["rules"] == ["all"]
    content, place = found["judges"]
    assert (content["judge"], content["sets"], content["replies"]) == ("content", 60, 120)
    assert content["right_first"]["value"] == pytest.approx(40 / 60)
    assert content["right_first"]["chance"] == pytest.approx(1 / 3)
    assert content["both_orders"] == {"n": 60, "same_first": 1.0}
    assert content["position"]["p"] > 0.01
    assert place["position"]["first"] == 1.0
    assert place["position"]["p"] < 1e-9
    assert place["both_orders"]["same_first_reason"] == "empty_group"
    assert not faults({"option_sets": found})


@pytest.mark.nightly
def test_a_judge_that_ranks_whole_sets_has_no_share_of_cycles(report):
    for entry in report["consistency"]["judges"]:
        assert (entry["cyclic"]["n"], entry["cyclic"]["value"]) == (0, None)
        assert entry["cyclic"]["value_reason"] == entry["edits_reason"] == "one_order"
        assert entry["intransitive"]["value"] is None
    found = [str(one.text) for one in all_sentences(report, "finding")]
    assert not [text for text in found if "cycles" in text]


def test_the_page_shows_it_and_states_that_pairs_hang_together(report):
    page = render_html(report, date=date(2026, 1, 2))
    assert "180 items are pairs of 60 sets of responses." in page
    assert "Judges that rank whole sets" in page
    [limit] = [s for s in all_sentences(report, "limit") if s.code == "option_sets"]
    assert "answers all its pairs with one reply" in str(limit.text)


def test_pairs_of_a_set_are_one_cluster_also_without_a_question(study):
    Item.objects.filter(study=study).update(question="")

    report = report_of(study)

    clusters = report["judges"][0]["clusters"]
    assert (clusters["personas"], clusters["questions"]) == (15, 60)


def test_sets_that_no_judge_ranked_are_counted_and_limited():
    study = make_study()
    rater = make_rater(study=study)
    with stored_at_once():
        for pairs in sets_of_three(study, 8):
            for item in pairs:
                answer(rater, item, "r1")

    report = report_of(study)

    assert report["option_sets"]["judges"] == []
    page = render_html(report, date=date(2026, 1, 2))
    assert "No judge ranked whole sets." in page
    [limit] = [s for s in all_sentences(report, "limit") if s.code == "option_sets"]
    assert "one reply" not in str(limit.text)


@pytest.mark.nightly
def test_a_study_without_sets_has_no_chapter():
    study = random_study(7, n_items=12)

    report = report_of(study)

    assert "option_sets" not in report
    assert 'id="option_sets"' not in render_html(report, date=date(2026, 1, 2))


ORDERS = ((1, 2, 3), (1, 3, 2), (3, 2, 1))


@pytest.fixture
def whole(study):
    """The same sets, which three annotators put in order on one screen."""
    study = Study.objects.get(pk=study.pk)
    study.set_display = "whole"
    study.save()
    Annotation.objects.all().delete()
    raters = [make_rater(study=study) for _ in ORDERS]
    Annotator.objects.filter(pk__in=[rater.pk for rater in raters]).update(state="completed")
    leaders = Item.objects.filter(study=study, key__endswith=":12").order_by("key")
    Item.objects.filter(study=study).exclude(pk__in=leaders).update(seats_needed=0)
    with stored_at_once():
        for item in leaders:
            for rater, ranking in zip(raters, ORDERS, strict=True):
                choice = "r1" if ranking.index(1) < ranking.index(2) else "r2"
                shown = {"shown": [1, 3, 2], "ranking": list(ranking)}
                answer(rater, item, choice, 80, ranking=shown)
    return study


def test_every_pair_of_a_set_gets_the_answer_of_its_order(whole):
    data = load_dataset(whole.slug)

    assert len(data.answers) == 60 * 3 * 3
    chosen: dict[str, list[int]] = {item.key: [] for item in data.items}
    for row, choice in zip(data.answers.item, data.answers.choice, strict=True):
        chosen[data.items[row].key].append(int(choice))
    # Response 1 of the pairs is option 1, 2 and 3; 0 is response 1.
    assert chosen["q000:12"] == [0, 0, 1]
    assert chosen["q000:23"] == [0, 1, 1]
    assert chosen["q000:31"] == [1, 1, 0]
    assert set(data.answers.certainty) == {80.0}
    first = dict(zip(data.answers.item.tolist(), data.answers.shown_first.tolist(), strict=True))
    assert [first[row] for row in range(3)] == [0, 1, 1]
    timed = {row for row, s in zip(data.answers.item, data.answers.seconds, strict=True) if s == s}
    assert timed <= {row for row, item in enumerate(data.items) if item.key.endswith(":12")}


def test_other_readers_of_answers_see_the_same_pairs(whole):
    data = load_dataset(whole.slug)
    rows = list(annotator_aggregates(whole))

    assert [row["item_id"] for row in rows] == [item.key for item in data.items]
    assert {(row["item_id"][-2:], row["verdict"], row["certainty"]) for row in rows} == {
        ("12", "r1", 80.0),
        ("23", "r2", 80.0),
        ("31", "r2", 80.0),
    }

    item = Item.objects.select_related("persona", "study").get(study=whole, key="q000:31")
    [one] = annotator_aggregates(whole, [item.key])
    assert one["r2"] == 2
    assert majority_on(item).answer == "response 2"
    given = as_given(item, answers_to(item))
    assert sorted(each.answer for each in given) == ["response 1", "response 2", "response 2"]
    assert {each.ranking for each in given} == {"1, 2, 3", "1, 3, 2", "3, 2, 1"}
    assert {each.shown_first for each in given} == {"response 2"}
    assert shown_with(item) == "q000:12"
    Item.objects.filter(study=whole, key="q000:12").update(answered=3, seats_taken=3)
    assert item_facts(whole, ["q000:31", "q001:31"])["q000:31"].answers == 3
    assert item_facts(whole)["q001:31"].answers == 0


@pytest.mark.nightly
def test_the_chapter_compares_the_orders_of_people_with_those_of_judges(whole):
    report = report_of(whole)

    people = report["option_sets"]["people"]
    assert (people["sets"], people["answers"], people["annotators"]) == (60, 180, 3)
    assert people["right_first"]["value"] == pytest.approx(2 / 3)
    assert people["position"]["first"] == pytest.approx(2 / 3)
    places = [[order.index(option) for option in (1, 2, 3)] for order in ORDERS]
    taus = [kendalltau(one, other).statistic for one, other in combinations(places, 2)]
    assert people["tau_people"]["n"] == 180
    assert people["tau_people"]["value"] == pytest.approx(fmean(taus))
    content, _ = report["option_sets"]["judges"]
    # 40 sets as the first annotator orders them, 20 the other way round.
    assert content["tau_people"]["value"] == pytest.approx((40 - 20) / 60 * (1 + 1 / 3 - 1) / 3)
    assert not faults({"option_sets": report["option_sets"]})
    page = render_html(report, date=date(2026, 1, 2))
    assert "Annotators and judges that rank whole sets" in page
    assert "How alike the rankings of annotators and judges are" in page
    [said] = [s for s in all_sentences(report, "methods") if s.code == "option_sets.people"]
    assert "180 rankings of 60 sets" in str(said.text)
    [limit] = [s for s in all_sentences(report, "limit") if s.code == "option_sets"]
    assert "ranks a whole set answers all its pairs at once" in str(limit.text)
