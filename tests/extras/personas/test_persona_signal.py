"""What the persona is worth: the statistics, the linked study, and its report."""

import random
from io import StringIO

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from analysis.data.dataset import load_dataset
from analysis.report.build import all_sentences, all_tables, build_report
from analysis.stats import Sharing
from extras.personas.chapter import squared_shifts
from extras.personas.gain import individuality, moves_of, persona_gain
from extras.personas.signal_sizes import items_to_see
from studies.models import Item, Study
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.analysis.walking import faults
from tests.extras.personas.test_counterfactuals import creator, feature
from tests.factories import make_item, make_persona, make_study

OTHER = ":other-persona"


def study_of(questions=8, personas=6, **settings):
    """Every persona answered every question; their own answers follow their age."""
    study = make_study(slug="first", **settings)
    found = []
    for number in range(personas):
        features = [feature(("young", "old")[number % 2]), feature(f"k{number}", "kin", "Kin")]
        found.append(make_persona(study=study, key=f"p{number}", features=features))
    for question in range(questions):
        for number, persona in enumerate(found):
            make_item(
                study=study,
                key=f"q{question}-{number}",
                persona=persona,
                question=f"Question {question}?",
                r1={"text": f"yes {question}"},
                r2={"text": f"no {question}"},
                first_person=("r1", "r2")[(number + question) % 2],
            )
    return study


def run(*arguments):
    out = StringIO()
    call_command("change_personas", *arguments, "--whole", stdout=out)
    return out.getvalue()


def test_worth_and_moved_are_those_of_other_ways_to_count():
    rng = np.random.default_rng(4)
    own, other = rng.integers(0, 4, (2, 200, 3)) + 1
    truth = rng.integers(-1, 2, 200)
    free = Sharing.of_items(200, {})

    found = persona_gain(own, other, truth, free)

    gains = [
        a[t] / a.sum() - b[t] / b.sum() for a, b, t in zip(own, other, truth, strict=True) if t >= 0
    ]
    assert found.value == pytest.approx(np.mean(gains))
    assert found.se == pytest.approx(np.std(gains, ddof=1) / np.sqrt(len(gains)))
    # The counterfactual chapter's squared shift is the same quantity in another form.
    assert moves_of(own, other).beyond_chance == pytest.approx(squared_shifts(own, other))


def test_individuality_is_the_slope_within_questions():
    rng = np.random.default_rng(5)
    question = rng.integers(0, 12, 200)
    own, chosen = rng.integers(0, 2, 200), rng.random(200)
    chosen[::7] = np.nan

    found = individuality(chosen, own, question, Sharing.of_items(200, {"question": question}))

    known = ~np.isnan(chosen)
    dummies = np.eye(12)[question[known]]
    design = np.column_stack([own[known], dummies])
    slope = np.linalg.lstsq(design, chosen[known], rcond=None)[0][0]
    assert found.value == pytest.approx(slope)
    few = individuality(chosen[:4], own[:4], [0, 0, 0, 0], Sharing.of_items(4, {}))
    assert (few.value, few.reason) == (None, "too_few_items")
    same = individuality(own[:9], np.ones(9, int), np.zeros(9), Sharing.of_items(9, {}))
    assert same.reason == "no_variation"


def test_more_items_are_needed_to_see_less():
    sizes = [items_to_see(gain, answers=k) for gain in (0.03, 0.1) for k in (None, 1, 3)]
    assert sizes == sorted(sizes[:3], key=sizes.index) + sizes[3:]
    assert items_to_see(0.03) > 10 * items_to_see(0.1)
    with pytest.raises(ValueError, match="gain"):
        items_to_see(0)


@pytest.mark.nightly
@pytest.mark.django_db
def test_each_drawn_item_has_a_twin_about_a_persona_that_answered_the_same_question():
    study_of()

    out = run("first", "--new", "others", "--differ-in", "age")

    assert "48 items, each also about another persona." in out
    made = Study.objects.get(slug="others")
    assert made.state == "draft"
    noted = made.source["persona_signal"]
    assert (noted["from"], noted["items"], noted["differ_in"]) == ("first", 48, ["age"])
    items = {item.key: item for item in Item.objects.filter(study=made).select_related("persona")}
    twins = [item for key, item in items.items() if key.endswith(OTHER)]
    assert (len(items), len(twins)) == (96, 48)
    for twin in twins:
        item = items[twin.key.removesuffix(OTHER)]
        ages = [each.persona.features[0]["value"] for each in (item, twin)]
        assert set(ages) == {"young", "old"}
        assert (item.question, item.r1, item.group) == (twin.question, twin.r1, twin.group)
        assert (bool(item.first_person), twin.first_person) == (True, "")
        assert twin.seats_needed == item.seats_needed == made.annotations_per_item
    own, other = (
        sorted(each.persona.key for key, each in items.items() if key.endswith(OTHER) == is_twin)
        for is_twin in (False, True)
    )
    assert own == other  # every profile is shown as often as before
    again = run("first", "--new", "again", "--differ-in", "age")
    assert "Created" in again
    pairs = [
        sorted(Item.objects.filter(study__slug=slug).values_list("key", "persona__key"))
        for slug in ("others", "again")
    ]
    assert pairs[0] == pairs[1]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--new", "others", "--differ-in", "town"], "No two personas differ in “town”"),
        (["--new", "others", "--items", "1"], "--items: Use a whole number of 2"),
        (["--new", "first"], "first"),
        ([], "--new: Give"),
        (["--new", "others", "--seed", "-1"], "--seed"),
        (["--new", "others", "--value", "old"], "--value is for --feature"),
    ],
)
def test_what_cannot_be_drawn_is_refused_and_nothing_is_stored(arguments, says):
    study_of(2)
    with pytest.raises(CommandError, match=says):
        run("first", *arguments)
    assert Study.objects.count() == 1


@pytest.mark.django_db
def test_one_profile_cannot_be_exchanged_and_twins_are_not_exchanged_again():
    study = make_study(slug="alike")
    for number in range(4):
        persona = make_persona(study=study, key=f"p{number}", features=[feature("old")])
        make_item(study=study, key=f"i{number}", persona=persona, first_person="r1")
    with pytest.raises(CommandError, match="No item can get another persona"):
        run("alike", "--new", "others")
    study_of(2)
    run("first", "--new", "others")
    with pytest.raises(CommandError, match="Start from “first”"):
        run("others", "--new", "again")
    assert "about 385 items for a judge" in run("first", "--dry-run")


def answered_study(**settings):
    """Judges who read the persona, answer the question, or stop halfway; people who read it."""
    study_of(questions=12, personas=6, equivalence_margin=0.2, **settings)
    run("first", "--new", "others")
    study, rng = Study.objects.get(slug="others"), random.Random(1)
    raters = [make_rater(study=study) for _ in range(30)]
    names = ("reads", "blind", "stopped")
    reads, blind, stopped = (make_run(study=study, judge=name, samples=2) for name in names)
    items = Item.objects.filter(study=study).select_related("persona").order_by("key")
    for place, item in enumerate(items):
        is_old = item.persona.features[0]["value"] == "old"
        own = ("r1", "r2")[(is_old + int(item.question.split()[1][:-1])) % 2]
        for rater in rng.sample(raters, 3):
            answer(rater, item, own if rng.random() < 0.8 else "r1", 70)
        for sample in (1, 2):
            judge_item(reads, item, own, 70, sample=sample)
            judge_item(blind, item, "r1", 70, sample=sample)
            if place < 8:
                judge_item(stopped, item, own, 70, sample=sample)
            else:
                judge_item(stopped, item, state="pending", sample=sample)
    return study


@pytest.mark.nightly
@pytest.mark.django_db
def test_the_report_says_what_the_persona_is_worth_to_whom():
    answered_study()

    report = build_report(load_dataset("others"), seed=1, bootstrap=20)

    found = report["persona_signal"]
    assert (found["from"], found["pairs"]) == ("first", 72)
    judges = {entry["judge"]: entry for entry in found["judges"]}
    reads, blind, stopped = (judges[name] for name in ("reads", "blind", "stopped"))
    # Ages differ between half of the exchanged personas or more, and then the answer is wrong.
    assert reads["own"] == 1
    assert reads["gain"]["value"] == pytest.approx(1 - reads["other"]) == reads["across"]
    assert reads["again"] == 0
    assert (blind["gain"]["value"], blind["moved"]["value"], blind["own"]) == (0, 0, 0.5)
    assert stopped["n"] == 4
    assert found["people"]["gain"]["value"] > 0.2
    words = [str(one.text) for one in all_sentences(report, "finding")]
    assert any(text.startswith("The persona is worth something to reads: ") for text in words)
    assert any(text.startswith("blind answers the question, not the person") for text in words)
    headline = [str(one.text) for one in all_sentences(report, "headline")]
    assert any("The persona is worth" in text for text in headline)
    assert report["individuality"]["questions"] == 12
    individual = {entry["judge"]: entry["value"] for entry in report["individuality"]["judges"]}
    assert (individual["reads"], individual["blind"]) == (1, 0)
    tables = all_tables(report)
    assert len(tables["persona_signal"].rows) == len(tables["individuality"].rows) == 4
    assert not faults({"persona_signal": found, "individuality": report["individuality"]})


@pytest.mark.nightly
@pytest.mark.django_db
def test_without_people_truth_or_a_second_sample_the_reason_is_given():
    study_of(questions=2)
    Item.objects.filter(study__slug="first").update(first_person="")
    run("first", "--new", "others")
    study = Study.objects.get(slug="others")
    once = make_run(study=study, judge="once")
    for item in Item.objects.filter(study=study):
        judge_item(once, item, "r1", 70)

    report = build_report(load_dataset("others"), seed=1, bootstrap=20)

    found = report["persona_signal"]
    [judge] = found["judges"]
    assert (found["people"]["n"], judge["n"]) == (0, 0)
    assert (judge["gain"]["value"], judge["gain"]["value_reason"]) == (None, "empty_group")
    assert (judge["moved"]["value_reason"], judge["across"]) == ("one_sample", 0)
    assert "individuality" not in report
    words = [str(one.text) for one in all_sentences(report, "finding")]
    unknown = "We cannot tell whether the persona is worth anything to once: nothing to count."
    assert unknown in words


URL = "/studies/first/other-personas/"


def form(**changes):
    return {"items": "12", "seed": "1", "slug": "others"} | changes


@pytest.mark.nightly
@pytest.mark.django_db
def test_the_page_shows_the_size_and_three_items_and_creates_the_study():
    client = creator(study_of(4))

    page = client.get(URL).text
    assert "385" in page
    assert "Age (2 values)" in page
    preview = client.post(URL, form(preview="1")).text
    assert "12 items, each about two personas" in preview
    assert "It is too small to show" in preview
    assert not Study.objects.filter(slug="others").exists()

    response = client.post(URL, form())

    assert (response.status_code, response.url) == (302, "/studies/others/")
    assert Item.objects.filter(study__slug="others").count() == 24
    assert "12 items." in client.get(URL).text


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("changes", "says"),
    [({"items": "1"}, "Number of items"), ({"slug": "first"}, "first"), ({"seed": "x"}, "Seed")],
)
def test_the_page_refuses_what_cannot_be_drawn(changes, says):
    response = creator(study_of(2)).post(URL, form(**changes))

    assert response.status_code == 422
    assert says in response.text
    assert Study.objects.count() == 1
