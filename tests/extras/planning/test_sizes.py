"""Sliders for items and people: the numbers are those of the audit, of the sum and of the pay."""

import json
import math
import re
from decimal import Decimal

import pytest
from django.conf import settings

from analysis.precision import half_width, items_for
from analysis.stats.core.proportions import wilson_ends
from annotation.seats.capacity import places_of
from extras.planning.sizes import curve_of
from extras.planning.sources import items_for_people
from extras.planning.stats.sample_sizes import alpha_sd, annotators_needed, recruiting_cost
from studies.models import Item, Study
from tests.factories import make_items, make_study, sign_in

pytestmark = pytest.mark.django_db
URL = "/studies/plan/planning/"


def draft(n: int = 40, **overrides) -> Study:
    settings = {"slug": "plan", "state": "draft", "items_per_annotator": 10, "entry": "link"}
    study = make_study(**settings | overrides)
    make_items(study, n)
    return study


def interval_of(n: float) -> tuple[float, float]:
    """The distances from the ends of Wilson's interval to the estimate."""
    low, high = wilson_ends(0.6, n, 1.959963984540054)
    return 0.6 - low, high - 0.6


@pytest.mark.parametrize("personas", [1, 20])
def test_the_planned_size_has_the_numbers_of_its_precision_and_of_the_sum(personas):
    study = draft(40, slug=f"plan-{personas}")
    if personas > 1:
        make_items(study, 20)
        Item.objects.filter(study=study).update(question="The same question?")

    n = Item.objects.filter(study=study).count()
    curve = curve_of(study, planned=n)

    assert curve.effect > 1
    assert curve.planned.accuracy == half_width(n / curve.effect)
    enough = items_for(study.equivalence_margin) * curve.effect
    assert enough <= curve.enough.items < enough + 1
    assert curve.planned.people == places_of(study).people
    assert curve.planned.cost["total"] == places_of(study).people * study.reward


def test_every_size_has_the_numbers_of_the_closed_forms(monkeypatch):
    monkeypatch.setattr(settings, "RECRUITING_FEE", Decimal("0.333"))
    monkeypatch.setattr(settings, "RECRUITING_TAX", Decimal("0.2"))
    study = draft(entry="prolific", equivalence_margin=0.1)
    Item.objects.update(first_person="")  # before anybody knows the right answers

    curve = curve_of(study, planned=40)

    narrow = [one for one in curve.sizes.values() if one.accuracy <= 0.1]
    assert min(one.items for one in narrow) >= items_for(0.1) * curve.effect
    for one in curve.sizes.values():
        assert one.people == annotators_needed(one.items, one.answers, min(10, one.items))
        cost = recruiting_cost(one.people, study.reward, fee=Decimal("0.333"), tax=Decimal("0.2"))
        assert one.cost["total"] == cost.total
        assert one.accuracy == pytest.approx(sum(interval_of(one.items / curve.effect)) / 2)
        if one.answers > 1:
            alone = alpha_sd(10**6, one.answers, 0.2) * 1000
            assert one.agreement == pytest.approx(
                1.959964 * alone * math.sqrt(curve.effect / one.items)
            )
        else:
            assert one.agreement is None


def test_the_page_shows_the_chosen_size_without_a_script_and_none_that_does_not_exist():
    study = draft()
    client = sign_in(study)

    page = client.get(URL, {"items": "200", "answers": "5"}).content.decode()
    odd = client.get(URL, {"items": "<b>", "answers": "10" * 400}).content.decode()

    chosen = curve_of(study, planned=40).sizes["200x5"]
    table = json.loads(re.search(r'<script id="sizes"[^>]*>(.*?)</script>', page)[1])
    assert f"{chosen.price} shows an accuracy within {chosen.within}." in page
    assert "import more</a> for this size" in page
    assert table["200x5"]["people"] == "100"
    assert table["40x3"]["sentence"] in odd
    assert "<b>" not in odd


def test_the_size_is_on_the_launch_page_and_one_press_stores_it_as_the_sum():
    study = draft()
    client = sign_in(study)
    launch = client.get("/studies/plan/launch/").content.decode()
    assert curve_of(study, planned=40).table["40x3"]["sentence"] in launch
    form = launch[launch.index('action="/studies/plan/people/places/?back=launch"') :]
    sent = dict(re.findall(r'<input type="hidden" name="(\w+)" value="(\w*)"', form)[:6])

    chosen = curve_of(study, planned=40, items="20", answers="5").now
    sent |= {"items": "20", "annotations_per_item": "5", "people": chosen["number"], "do": "sum"}
    response = client.post("/studies/plan/people/places/?back=launch", sent)

    study.refresh_from_db()
    assert response.headers["Location"] == "/studies/plan/launch/"
    assert (study.human_sample, study.annotations_per_item) == (20, 5)
    assert places_of(study).people == chosen["number"] == 10


@pytest.mark.parametrize("entry", ["link", "prolific"])
def test_the_launch_page_shows_one_price_of_the_items_that_are_there(entry):
    """A preset asks for 300 items, and 40 were imported; Prolific's cost is the only price."""
    study = draft(entry=entry, human_sample=300, reward=450)

    page = sign_in(study).get("/studies/plan/launch/").content.decode()

    assert items_for_people(study) == 40
    assert "300 items (as planned)" not in page
    assert ('class="price-tag"' in page) == (entry == "link")
    assert ("What this size shows, and its price" not in page) == (entry == "prolific")


@pytest.mark.parametrize("settings", [{"reward": 0}, {"items_per_annotator": 300}])
def test_a_study_without_items_or_pay_has_sizes_too(settings):
    study = draft(0, **settings)

    page = sign_in(study).get(URL).content.decode()

    assert ("people show an accuracy" in page) == ("reward" in settings)
    assert "The study has 0 items" in page
    assert "10 items (as planned)" not in page


def test_a_study_with_few_items_shows_their_number():
    page = sign_in(draft(3)).get(URL).content.decode()

    assert "3 items (as planned)" in page
    assert "10 items<" in page
