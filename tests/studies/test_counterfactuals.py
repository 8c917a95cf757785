"""A linked study with changed personas, made by the command, and its report."""

import random
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from analysis.data.dataset import load_dataset
from analysis.report.build import build_report
from analysis.report.contents import all_sentences, all_tables
from studies.models import Item, Study
from studies.personas.profile_text import profile_for
from studies.prompts import persona_text
from tests.analysis.builders import answer, judge_item, make_rater, make_run
from tests.analysis.walking import faults
from tests.factories import make_item, make_persona, make_study

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
    call_command("counterfactual", *arguments, stdout=out)
    return out.getvalue()


def test_each_item_has_a_twin_about_the_persona_with_one_other_value():
    study_of()

    out = run("first", "--feature", "age", "--slug", "twins")

    assert "24 items and the same 24 about personas with another age" in out
    made = Study.objects.get(slug="twins")
    assert made.state == "draft"
    assert made.source["counterfactual"] == {
        "from": "first",
        "feature": "age",
        "label": "Age",
        "mark": ":changed-age",
    }
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


def test_a_value_and_a_number_of_items_can_be_chosen():
    study_of()

    run("first", "--feature", "age", "--value", "old", "--items", "5", "--slug", "twins")

    twins = Item.objects.filter(study__slug="twins", key__endswith=":changed-age")
    assert twins.count() == 5
    assert {twin.metadata["counterfactual"]["to"] for twin in twins} == {"old"}
    assert Item.objects.filter(study__slug="twins").count() == 10


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--feature", "kin"], "No persona has another value of “kin”"),
        (["--feature", "none"], "No persona has another value of “none”"),
        (["--feature", "age", "--value", "odd"], "Known values: “old”, “oldest”, “young”"),
        (["--feature", "age", "--items", "0"], "--items"),
    ],
)
def test_what_cannot_be_changed_is_refused_and_nothing_is_stored(arguments, says):
    study_of()

    with pytest.raises(CommandError, match=says):
        run("first", *arguments, "--slug", "twins")

    assert not Study.objects.filter(slug="twins").exists()


def test_the_report_says_who_relies_on_the_attribute():
    study_of(n=18)
    run("first", "--feature", "age", "--slug", "twins")
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

    found = report["bias"]["counterfactual"]
    assert (found["from"], found["label"], found["pairs"]) == ("first", "Age", 36)
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
