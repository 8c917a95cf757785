"""Released files that show the same people and items in parts, in every order, and in a study."""

import json
from io import StringIO
from itertools import permutations

import pytest
from django.core.management import CommandError, call_command

from analysis.data.dataset import load_dataset
from annotation.models import Assignment
from judging.models import JudgeRun, Judgment
from studies.models import Item, Persona, Study
from tests.factories import make_annotator, sign_in

WHOLE = (
    "The person is female. The person is 25-34 years old. The person is student. The person's "
    "highest education level is some secondary. The person is born in {} and currently lives in "
    "Canada."
)
KEYS = (
    "The person's highest education level is some secondary. The person is born in {} and "
    "currently lives in Canada."
)
AGE = "The person is 25-34 years old."
FILES = {
    "all": "prism_all_features_all_features_some-model.jsonl",
    "key": "prism_all_features_key_features_some-model.jsonl",
    "age": "prism_all_features_least_imp_feature_some-model.jsonl",
    "tie": "prism_all_features_with_tie_all_features_some-model.jsonl",
}
QUESTION = "What should I cook on day {} of this week?"

pytestmark = pytest.mark.django_db


def row(profile, n, *, answers=("Soup.", "Stew."), truth="A", choice="A", ask="certainty", **more):
    asked = "or [[C]] for a tie" if ask == "tie" else "a certainty level from 1 to 100"
    question = QUESTION.format(n)
    return {
        "prompt": f"Choose {asked}.\n[User Profile]\n{profile}\n\n[User Question]\n{question}",
        "answer": choice,
        "certainty": "NA" if ask == "tie" else "80",
        "ground_truth": truth,
        "user_info": profile,
        "question": question,
        "asst_A": answers[0],
        "asst_B": answers[1],
        "conversation_type": "unguided",
        **more,
    }


def write(folder, kind, *rows):
    path = folder / FILES.get(kind, kind)
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    return path


def run(name, *arguments):
    out = StringIO()
    call_command(name, *map(str, arguments), stdout=out, stderr=StringIO())
    return out.getvalue()


@pytest.fixture
def three(tmp_path):
    """Two people: one is whole by the same item, one by another item, and a third is unknown."""
    mali, peru = WHOLE.format("Mali"), WHOLE.format("Peru")
    turned = {"answers": ("Stew.", "Soup."), "truth": "B", "choice": "B"}
    return [
        write(tmp_path, "all", row(mali, 1), row(peru, 2)),
        write(tmp_path, "key", row(KEYS.format("Mali"), 1, **turned), row(KEYS.format("Chad"), 3)),
        write(tmp_path, "age", row(AGE, 1), row(AGE, 2, answers=("Rice.", "Soup."), truth="B")),
    ]


def test_the_order_of_three_files_changes_nothing(three):
    said, hashes = set(), set()
    for number, files in enumerate(permutations(three)):
        slug = f"s{number}"
        said.add(run("import_items", slug, *files, "--create").splitlines()[-2].replace(slug, ""))
        hashes.add(Study.objects.get(slug=slug).content_hash)

    assert len(hashes) == 1
    [sentence] = said
    assert "1 item shows only a part of the person’s profile" in sentence
    assert "people get 3 items" in sentence


def test_every_item_has_the_fullest_profile_and_a_part_is_not_shown(three):
    said = run("import_items", "s", *three, "--create")

    assert "Personas: 2" in said
    assert "Only a part of the profile: items 1, parts of profiles 1" in said
    found = dict(Item.objects.values_list("question", "persona__key").distinct())
    assert {len(each.features) for each in Persona.objects.all()} == {6, 3}
    assert len(set(found.values())) == 3
    assert Item.objects.filter(question=QUESTION.format(2)).count() == 2
    [held] = Item.objects.filter(is_held_back=True)
    assert (held.question, held.seats_needed) == (QUESTION.format(3), 0)


def test_a_file_that_comes_later_completes_the_study(three):
    whole, key, age = three
    run("import_items", "s", key, age, "--create")
    assert Item.objects.filter(is_held_back=True).count() == 3

    said = run("import_items", "s", whole)

    assert Item.objects.filter(is_held_back=True).count() == 1
    assert set(Item.objects.filter(seats_needed=0).values_list("question", flat=True)) == {
        QUESTION.format(3)
    }
    assert "1 item shows only a part" in said
    assert {len(each.features) for each in Persona.objects.all()} == {6, 3}
    assert Study.objects.get().content_hash


def test_what_people_were_given_keeps_its_profile(three):
    whole, _, age = three
    run("import_items", "s", age, "--create", "--partial-profiles")
    given = Item.objects.get(question=QUESTION.format(1))
    annotator = make_annotator(study=given.study)
    Assignment.objects.create(annotator=annotator, item=given, position=1, shown_first="r1")

    run("import_items", "s", whole)

    assert [f["key"] for f in Item.objects.get(pk=given.pk).persona.features] == ["age"]


def test_an_editor_agrees_by_a_press_or_an_option(three):
    run("import_items", "s", three[2], "--create")
    study = Study.objects.get()
    client = sign_in(study)
    address = f"/studies/{study.slug}/items/"
    assert "2 items show only a part" in client.get(address).content.decode()

    client.post(address, {"partial_profiles": ""})

    assert not Item.objects.filter(is_held_back=True).exists()
    assert set(Item.objects.values_list("seats_needed", flat=True)) == {study.annotations_per_item}
    assert "only a part" not in client.get(address).content.decode()

    said = run("import_items", "t", three[2], "--create", "--partial-profiles")
    assert "only a part of the person" not in said
    assert Item.objects.filter(study__slug="t", seats_needed=0).count() == 0


def test_a_viewer_cannot_agree(three):
    run("import_items", "s", three[2], "--create")
    client = sign_in(Study.objects.get(), "viewer")

    assert client.post("/studies/s/items/", {"partial_profiles": ""}).status_code in (403, 404)
    assert Item.objects.filter(is_held_back=True).count() == 2


def test_a_greeting_is_not_enough_to_know_a_person(tmp_path):
    mali = {**row(WHOLE.format("Mali"), 1), "question": "Hello"}
    greeting = {**row(AGE, 1, answers=("Hi.", "Welcome.")), "question": "Hello"}
    files = write(tmp_path, "all", mali), write(tmp_path, "age", greeting)

    assert "1 item shows only a part" in run("import_items", "s", *files, "--create")


def test_two_parts_of_a_person_are_put_together(tmp_path):
    files = (
        write(tmp_path, "key", row(KEYS.format("Mali"), 1)),
        write(tmp_path, "age", row(AGE, 1)),
    )

    run("import_items", "s", *files, "--create")

    item = Item.objects.get()
    keys = {feature["key"] for feature in item.persona.features}
    assert keys == {"education", "birth_country", "residence_country", "age"}
    assert item.is_held_back


def test_two_persons_of_one_item_are_refused_with_both_lines(tmp_path):
    one = write(tmp_path, "all", row(WHOLE.format("Mali"), 9), row(WHOLE.format("Mali"), 1))
    other = write(tmp_path, "tie", row(WHOLE.format("Peru"), 1, ask="tie"))

    with pytest.raises(CommandError) as refused:
        run("import_items", "s", one, other, "--create")

    said = str(refused.value)
    assert f"Line 1 of {other.name}" in said
    assert f"{one.name}, line 2" in said
    assert "“The person is born in Mali.” there, “The person is born in Peru.” here" in said


def test_a_run_that_saw_less_has_fewer_features_whatever_the_study_knows(three, tmp_path):
    tie = write(tmp_path, "tie", row(WHOLE.format("Mali"), 1, ask="tie", choice="C"))
    run("import_items", "known", *three, tie, "--create")
    run("import_items", "parts", three[2], "--create")
    for slug, name in (("known", "age"), ("parts", "age")):
        run("import_judgments", slug, tmp_path / FILES[name], "--judge", "less")
    run("import_judgments", "known", tie, "--judge", "tie")
    run("import_judgments", "parts", tie, "--judge", "tie")

    found = set(JudgeRun.objects.values_list("study__slug", "judge__name", "features"))
    assert found == {
        ("known", "less", "age"),
        ("parts", "less", "age"),
        ("known", "tie", "all"),
        ("parts", "tie", "all"),
    }


def test_what_the_error_of_import_judgments_advises_leads_to_whole_profiles(three):
    whole, _, age = three
    run("import_items", "s", whole, "--create")
    run("import_judgments", "s", whole, "--judge", "one")
    with pytest.raises(CommandError) as refused:
        run("import_judgments", "s", age, "--judge", "two")
    assert "1 of 2 judgments are about items that the study does not have" in str(refused.value)
    assert "Import the items of the same files first" in str(refused.value)
    assert "--skip-faulty" in str(refused.value)

    run("import_items", "s", age)
    run("import_judgments", "s", age, "--judge", "two")

    assert {len(each.features) for each in Persona.objects.all()} == {6}
    assert JudgeRun.objects.get(judge__name="two").features == "age"


def test_judgments_about_unknown_items_are_left_out_and_counted(three):
    whole = three[0]
    run("import_items", "s", whole, "--create", "--limit", 1)

    said = run("import_judgments", "s", whole, "--judge", "one", "--skip-faulty")

    assert "Imported 1 judgments" in said
    assert "Left out, because the study does not have their items: 1." in said
    assert Judgment.objects.count() == 1


def test_a_file_about_other_items_alone_says_so(three, tmp_path):
    other = write(tmp_path, "tie", row(WHOLE.format("Mali"), 7))
    run("import_items", "s", three[0], "--create")

    with pytest.raises(CommandError, match="none of 1 judgments is about an item of the study"):
        run("import_judgments", "s", other, "--judge", "one", "--skip-faulty")


def test_a_broken_row_is_left_out_on_request(three, tmp_path):
    broken = write(tmp_path, "tie", row(WHOLE.format("Mali"), 1), row(AGE, 2, ground_truth="D"))
    with pytest.raises(CommandError, match="To leave the faulty rows out: --skip-faulty"):
        run("import_items", "s", broken, "--create")

    assert "Imported 1 item" in run("import_items", "s", broken, "--create", "--skip-faulty")
    said = run("import_judgments", "s", broken, "--judge", "one", "--skip-faulty")
    assert "Faulty rows left out: 1." in said


@pytest.fixture
def two_truths(tmp_path):
    """Three items in two files, which disagree on the right answer to the third."""
    mali = WHOLE.format("Mali")
    first = [row(mali, n, choice="B" if n == 2 else "A") for n in (1, 2, 3)]
    second = [*first[:2], row(mali, 3, truth="B", choice="B")]
    return write(tmp_path, "all", *first), write(tmp_path, "tie", *second)


def test_two_truths_are_listed_with_both_values_and_left_out_on_request(two_truths):
    with pytest.raises(CommandError) as refused:
        run("import_items", "s", *two_truths, "--create")
    assert "response 1 (“Soup.”) there, response 2 (“Stew.”) here" in str(refused.value)
    assert f"{two_truths[0].name}, line 3" in str(refused.value)

    said = run("import_items", "s", *two_truths, "--create", "--skip-faulty")
    run("import_items", "t", *reversed(two_truths), "--create", "--skip-faulty")

    assert "Faulty rows left out: 1." in said
    assert Item.objects.filter(study__slug="s").count() == 3
    assert Item.objects.get(study__slug="s", question=QUESTION.format(3)).first_person == ""
    assert len(set(Study.objects.values_list("content_hash", flat=True))) == 1


@pytest.mark.parametrize("together", [True, False])
def test_the_articles_tables_count_a_run_by_its_own_file(two_truths, together):
    first, second = two_truths
    files = two_truths if together else [first]
    run("import_items", "s", *files, "--create", "--skip-faulty")
    if not together:
        run("import_items", "s", second, "--skip-faulty")
    run("import_judgments", "s", first, "--judge", "one")
    said = run("import_judgments", "s", second, "--judge", "two")

    known = "unknown" if together else "response 1"
    assert f"response 2 in the file, {known} in the study" in said
    counts = pytest.importorskip("extras.documents.article.counts")
    runs = counts.count_article(load_dataset("s")).runs
    found = {each.model: each.counts.overall for each in runs}
    assert {name: (right.correct, right.n) for name, right in found.items()} == {
        "one": (2, 3),
        "two": (2, 3),
    }
