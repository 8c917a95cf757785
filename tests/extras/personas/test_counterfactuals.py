"""A linked study with changed personas, made by the command, and its report."""

import random
import re
from io import StringIO

import pytest
from django.contrib.auth.models import Permission, User
from django.core.management import CommandError, call_command

from analysis.data.dataset import load_dataset
from analysis.report.build import all_sentences, all_tables, build_report
from studies.models import Item, Persona, Study
from studies.personas import profile_for
from studies.prompts import persona_text
from studies.services.related_studies import related_studies
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.analysis.walking import faults
from tests.factories import make_item, make_persona, make_study, sign_in

pytestmark = pytest.mark.django_db


def feature(value, key="age", label="Age"):
    return {"key": key, "label": label, "value": value, "text": f"The {label.lower()} is {value}."}


def study_of(n=12):
    study = make_study(slug="first")
    for number in range(n):
        features = [feature(("young", "old", "oldest")[number % 3]), feature("x", "kin", "Kin")]
        persona = make_persona(study=study, key=f"p{number:02}", features=features)
        for place in range(2):
            key = f"i{number:02}-{place}"
            make_item(study=study, key=key, persona=persona, first_person="r1")
    return study


def run(*arguments):
    out = StringIO()
    call_command("change_personas", *arguments, stdout=out)
    return out.getvalue()


def test_each_item_has_a_twin_about_the_persona_with_one_other_value():
    study_of()

    out = run("first", "--feature", "age", "--new", "twins")

    assert "24 items and the same 24 about personas with another age" in out
    made = Study.objects.get(slug="twins")
    assert made.state == "draft"
    assert made.source["counterfactual"] == {
        "from": "first",
        "features": [{"feature": "age", "label": "Age", "mark": ":changed-age"}],
    }
    [origin] = related_studies(made)
    assert (origin.study.slug, origin.words) == ("first", "whose personas it changes")
    for twin in Item.objects.filter(study=made, key__endswith=":changed-age").select_related(
        "persona"
    ):
        item = Item.objects.select_related("persona").get(
            study=made, key=twin.key.removesuffix(":changed-age")
        )
        change = twin.metadata["counterfactual"]
        old, new = item.persona.features, twin.persona.features
        assert (old[0]["value"], new[0]["value"]) == (change["from"], change["to"])
        assert change["from"] != change["to"]
        assert old[1:] == new[1:]
        assert (twin.question, twin.r1["text"]) == (item.question, item.r1["text"])
        assert (twin.first_person, item.first_person) == ("", "r1")
        assert twin.content_hash != item.content_hash
        assert twin.seats_needed == item.seats_needed == made.annotations_per_item
        said = persona_text(twin, profile_for(twin), "en")
        assert f"The age is {change['to']}." in said
    assert Item.objects.filter(study__slug="first").count() == 24


def test_ids_may_be_as_long_as_the_format_allows():
    study = study_of(3)
    for row in (*study.all_items.all(), *study.personas.all()):
        row.key = row.key.ljust(120, "x")
        row.save()

    run("first", "--feature", "age", "--new", "twins")

    made = Study.objects.get(slug="twins")
    twins = Item.objects.filter(study=made, key__endswith=":changed-age")
    assert twins.count() == len(set(twins.values_list("persona__key"))) * 2 == 6
    assert {len(key) for key in twins.values_list("key", flat=True)} == {120}
    assert {len(key) for key in twins.values_list("persona__key", flat=True)} == {120}
    taken = {twin.metadata["counterfactual"]["item"] for twin in twins}
    assert taken == set(study.all_items.values_list("key", flat=True))


def test_a_value_and_a_number_of_items_can_be_chosen():
    study_of()

    run("first", "--feature", "age", "--value", "old", "--items", "5", "--new", "twins")

    twins = Item.objects.filter(study__slug="twins", key__endswith=":changed-age")
    assert twins.count() == 5
    assert {twin.metadata["counterfactual"]["to"] for twin in twins} == {"old"}
    assert Item.objects.filter(study__slug="twins").count() == 10


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--feature", "kin"], "No persona can get another value of “kin”"),
        (["--feature", "none"], "No persona can get another value of “none”"),
        (["--feature", "age", "--value", "odd"], "Known values: “old”, “oldest”, “young”"),
        (["--feature", "age", "--items", "0"], "--items"),
        (["--feature", "age", "--feature", "kin"], "another value of “age” and of “kin”"),
        (["--feature", "age", "--feature", "age"], "Choose each feature once"),
        (["--feature", "age", "--feature", "town", "--value", "old"], "needs a single feature"),
    ],
)
def test_what_cannot_be_changed_is_refused_and_nothing_is_stored(arguments, says):
    study_of()

    with pytest.raises(CommandError, match=says):
        run("first", *arguments, "--new", "twins")

    assert not Study.objects.filter(slug="twins").exists()


@pytest.mark.nightly
def test_the_report_says_who_relies_on_the_attribute():
    study_of(n=24)
    run("first", "--feature", "age", "--new", "twins")
    study = Study.objects.get(slug="twins")
    rng = random.Random(1)
    raters = [make_rater(study=study) for _ in range(30)]
    relying, blind = (make_run(study=study, judge=name) for name in ("relying", "blind"))
    for item in Item.objects.filter(study=study).order_by("key"):
        for rater in rng.sample(raters, 3):
            answer(rater, item, "r1" if rng.random() < 0.8 else "r2", 70)
        judge_item(relying, item, "r2" if "changed" in item.key else "r1", 70)
        judge_item(blind, item, "r1", 70)

    report = build_report(load_dataset("twins"), seed=1, bootstrap=20)

    assert report["bias"]["counterfactual"]["from"] == "first"
    [found] = report["bias"]["counterfactual"]["attributes"]
    assert (found["label"], found["pairs"]) == ("Age", 48)
    judges = {entry["judge"]: entry for entry in found["judges"]}
    assert judges["relying"]["squared"]["value"] == judges["relying"]["shift"] == 1
    assert judges["blind"]["shift"] == 0
    assert judges["blind"]["contains_chance"]
    assert abs(found["people"]["squared"]["value"]) < 0.15
    assert judges["relying"]["beyond_people"]["p_holm"] < 0.05
    words = [str(one.text) for one in all_sentences(report, "finding")]
    assert any(text.startswith("relying relies on Age more than people do") for text in words)
    assert len(all_tables(report)["counterfactual"].rows) == 3
    assert not faults({"bias": report["bias"]})


def with_towns(n=6):
    """Every second persona has a town; the features are in another order for each."""
    study = study_of(n)
    for number, persona in enumerate(Persona.objects.filter(study=study).order_by("key")):
        if number % 2 == 0:
            persona.features.append(feature(("Ulm", "Bonn")[number // 2 % 2], "town", "Town"))
            persona.save()
    return study


def test_several_features_are_changed_one_in_each_twin_of_the_same_items():
    with_towns()

    out = run("first", "--feature", "age", "--feature", "town", "--new", "twins")

    assert "6 items and the same 6 about personas with another age, and with another town" in out
    made = Study.objects.get(slug="twins")
    assert [each["label"] for each in made.source["counterfactual"]["features"]] == ["Age", "Town"]
    assert Item.objects.filter(study=made).count() == 18
    item = Item.objects.select_related("persona").get(study=made, key="i00-0")
    before = {fact["key"]: fact["value"] for fact in item.persona.features}
    for changed in ("age", "town"):
        twin = Item.objects.select_related("persona").get(
            study=made, key=f"i00-0:changed-{changed}"
        )
        after = {fact["key"]: fact["value"] for fact in twin.persona.features}
        assert {key for key in before if before[key] != after[key]} == {changed}


def test_a_study_of_changed_personas_is_not_changed_again():
    study_of()
    run("first", "--feature", "age", "--new", "twins")

    with pytest.raises(CommandError, match="Start from “first”"):
        run("twins", "--feature", "age", "--new", "again")


@pytest.mark.nightly
def test_the_report_has_a_row_for_each_attribute_and_one_correction_over_all():
    with_towns(n=24)
    run("first", "--feature", "age", "--feature", "town", "--new", "twins")
    study = Study.objects.get(slug="twins")
    rng = random.Random(1)
    raters = [make_rater(study=study) for _ in range(30)]
    judge = make_run(study=study, judge="of towns")
    for item in Item.objects.filter(study=study).order_by("key"):
        for rater in rng.sample(raters, 3):
            answer(rater, item, "r1" if rng.random() < 0.8 else "r2", 70)
        judge_item(judge, item, "r2" if "changed-town" in item.key else "r1", 70)

    report = build_report(load_dataset("twins"), seed=1, bootstrap=20)

    age, town = report["bias"]["counterfactual"]["attributes"]
    assert (age["pairs"], town["pairs"]) == (24, 24)
    assert (age["judges"][0]["shift"], town["judges"][0]["shift"]) == (0, 1)
    raw = [each["judges"][0]["beyond_people"] for each in (age, town)]
    assert raw[1]["p_holm"] == pytest.approx(min(1, 2 * raw[1]["p"]))
    rows = [row[0] for row in all_tables(report)["counterfactual"].rows]
    assert rows == ["Age: People", "Age: of towns", "Town: People", "Town: of towns"]
    words = [str(one.text) for one in all_sentences(report, "finding")]
    assert any(text.startswith("of towns relies on Town more than people do") for text in words)


URL = "/studies/first/changed-personas/"


def creator(study, role="editor"):
    client = sign_in(study, role)
    user = User.objects.get(pk=client.session["_auth_user_id"])
    user.user_permissions.add(Permission.objects.get(codename="add_study"))
    return client


def form(**changes):
    return {"features": ["age"], "value": "", "limit": "", "slug": "twins"} | changes


def test_the_page_shows_three_items_before_anything_is_created():
    client = creator(with_towns())

    page = client.post(URL, form(features=["age", "town"], preview="1")).text

    assert "6 items as they are and 12 about changed personas" in page
    assert "54 answers" in page
    assert page.count('<th scope="row">i0') == 6
    assert re.search(r"The town is Ulm\.</td><td[^>]*>The town is Bonn\.", page)
    assert not Study.objects.filter(slug="twins").exists()


def test_the_page_creates_the_linked_study():
    client = creator(study_of())

    response = client.post(URL, form(limit="4"))

    made = Study.objects.get(slug="twins")
    assert (response.status_code, response.url) == (302, "/studies/twins/")
    assert Item.objects.filter(study=made).count() == 8
    assert made.memberships.get().role == "owner"


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"features": []}, "Choose at least one attribute."),
        ({"slug": "first"}, "Short name of the new study"),
        ({"value": "odd"}, "Known values: “old”, “oldest”, “young”"),
        ({"limit": "0"}, "Number of items"),
    ],
)
def test_the_page_refuses_what_cannot_be_changed(changes, says):
    response = creator(with_towns()).post(URL, form(**changes))

    assert response.status_code == 422
    assert says in response.text
    assert Study.objects.count() == 1


def test_the_page_names_only_attributes_with_two_values_and_escapes_them():
    study = study_of()
    persona = Persona.objects.filter(study=study).first()
    persona.features.append(feature("a", "tag", "<b>Tag</b>"))
    persona.save()
    other = Persona.objects.filter(study=study).last()
    other.features.append(feature("b", "tag", "<b>Tag</b>"))
    other.save()

    page = creator(study).get(URL).text

    assert "Age (3 values)" in page
    assert "Kin" not in page
    assert "&lt;b&gt;Tag&lt;/b&gt; (2 values)" in page


def test_more_items_take_no_more_queries(django_assert_max_num_queries):
    client = creator(with_towns(30))

    with django_assert_max_num_queries(30):
        client.post(URL, form(features=["age", "town"], preview="1"))
