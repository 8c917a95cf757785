"""A linked study: personas and labels of people who allow it, without a leak; and their removal."""

import random
from io import StringIO

import pytest
from django.contrib.auth.models import Permission, User
from django.core.management import CommandError, call_command
from django.utils import timezone

from analysis.data.dataset import load_dataset
from analysis.lifecycle.storage import marked
from analysis.models import Export, Report
from annotation.models import Annotation, Assignment
from annotation.services import withdraw
from extras.own_answers.linked_studies import LinkRule, content_of, examples_for, link_study
from extras.own_answers.models import LinkedStudy, OwnProfile
from extras.own_answers.profiles import OwnAnswer
from judging.models import Attempt, Judgment
from studies.errors import StudyError
from studies.exporters.items import item_rows
from studies.importers.items.validation import Validator
from studies.models import Backup, Item, Persona, RemovedPerson, StudyLog
from studies.personas import profile_for, profile_text
from studies.prompts import build_prompt
from studies.services.whole_studies import copy_study
from tests.analysis.builders import judge_item, make_run
from tests.extras.own_answers.people import make_own_study, make_person
from tests.factories import make_study, sign_in
from tests.invariants import broken_invariants

pytestmark = pytest.mark.django_db


def linked(first, **rule):
    return link_study(first_id=first.pk, slug=f"{first.slug}-p", rule=LinkRule(**rule))


def test_people_who_allow_it_become_personas_with_their_own_answers():
    first = make_own_study(items=3, allow_tie=True)
    anna = make_person(first, ["r1", "r2", "tie"])
    make_person(first, ["r2", "r2", "r2"], is_shown=False)

    study = linked(first)

    persona = Persona.objects.get(study=study)
    assert persona.key == anna.own_profile.persona_key
    assert [each["text"] for each in persona.features] == ["The person is 18–29 years old."]
    assert persona.text == "I sail."
    items = Item.objects.filter(study=study).order_by("key")
    assert [item.first_person for item in items] == ["r1", "r2", "tie"]
    assert {item.first_person_source for item in items} == {"self_report"}
    assert [item.label_confidence for item in items] == [0.6, 0.61, None]
    assert items[0].metadata == {"own_answer": {"item": "q00", "certainty": 60}}
    assert {item.seats_needed for item in items} == {study.annotations_per_item}
    assert anna.pseudonym not in str(list(item_rows(study)))
    assert (study.state, study.perspective) == ("draft", "persona")


@pytest.mark.nightly
def test_the_rule_and_what_it_chose_from_are_recorded_and_draw_the_same_again():
    first = make_own_study()
    for _ in range(5):
        make_person(first, ["r1"] * 6)
    rule = LinkRule(persons=3, items_per_person=4, examples=1, seed=5)

    one = link_study(first_id=first.pk, slug="one", rule=rule)
    two = link_study(first_id=first.pk, slug="two", rule=rule)

    keys = [list(Item.objects.filter(study=s).values_list("key", flat=True)) for s in (one, two)]
    assert keys[0] == keys[1]
    assert len(keys[0]) == 12
    assert one.personas.count() == 3
    assert LinkedStudy.objects.get(study=one).rule == {
        "persons": 3,
        "items_per_person": 4,
        "examples": 1,
        "seed": 5,
        "consenting": 5,
        "items": 12,
    }
    other = link_study(
        first_id=first.pk, slug="other", rule=LinkRule(persons=3, items_per_person=4, seed=6)
    )
    assert set(Item.objects.filter(study=other).values_list("key", flat=True)) != set(keys[0])


def test_excluded_people_and_those_who_have_not_completed_are_left_out():
    first = make_own_study()
    for change in (
        {"excluded_at": timezone.now(), "exclusion_reason": "bot"},
        {"state": "timed_out"},
    ):
        person = make_person(first, ["r1"] * 6)
        type(person).objects.filter(pk=person.pk).update(**change)

    with pytest.raises(StudyError, match="nobody to predict"):
        linked(first)


def test_nobody_shows_more_answers_than_people_agreed_to():
    first = make_own_study(show_history=1)
    make_person(first, ["r1"] * 6)

    with pytest.raises(StudyError, match="People agreed that others see 1"):
        linked(first, examples=2)


def test_only_a_first_person_study_can_be_linked():
    with pytest.raises(StudyError, match="answer for somebody else"):
        linked(make_study())


# Items that ask the same, in other letters, or with the same responses as others.
SAME = [{"question": "QUESTION  0?"}, {"question": "Question 1?", "context": "A story."}]


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("seed", range(8))
def test_no_item_shows_the_own_answer_to_itself(seed):
    rng = random.Random(seed)
    first = make_own_study(items=6)
    for n, changes in enumerate(SAME):
        Item.objects.filter(study=first, key=f"q{n + 2:02}").update(**changes)
    for _ in range(3):
        make_person(first, [rng.choice(["r1", "r2"]) for _ in range(6)])

    study = linked(first, seed=seed)

    items = list(Item.objects.filter(study=study).select_related("persona", "study"))
    assert len(items) == 18
    for item in items:
        shown = profile_for(item).history
        own = {item.r1["text"], item.r2["text"]}
        assert len(shown) == 2
        for entry in shown:
            assert entry.prompt.casefold().split() != item.question.casefold().split()
            assert not own & {entry.chosen, entry.rejected}
        prompt = build_prompt(item, setting="standard", shown_first="r1")
        assert all(prompt.count(text) == 1 for text in own)


def test_a_person_with_one_answer_shows_no_example_of_it():
    first = make_own_study(items=1)
    make_person(first, ["r1"])

    item = Item.objects.select_related("persona", "study").get(study=linked(first))

    assert profile_for(item).history == ()
    assert "First 0" not in profile_text(profile_for(item), style="sentences")


def test_every_item_gets_its_examples_from_as_few_answers_as_possible():
    items = [Item(question=f"Q{n}", r1={"text": "Yes"}, r2={"text": "No"}) for n in range(9)]
    answers = [OwnAnswer(item, "r1", 50) for item in items]

    assert len(examples_for(answers, answers, 2, seed="s")) == 3
    assert len(examples_for(answers[:1], answers[:1], 2, seed="s")) == 1
    assert examples_for(answers, answers, 0, seed="s") == []


def test_an_exported_linked_study_can_be_imported_again():
    first = make_own_study()
    make_person(first, ["r1", "r2"] * 3)
    study = linked(first)
    validator = Validator(file="f", task=study.task)

    read = [validator.item(n, row) for n, row in enumerate(item_rows(study), start=1)]

    assert not validator.faults
    hashes = dict(Item.objects.filter(study=study).values_list("key", "content_hash"))
    assert {each.key: each.content_hash for each in read} == hashes


def judged(study):
    """A run over all items of a study, each judgment with a request that cost something."""
    run = make_run(study=study)
    for item in Item.objects.filter(study=study):
        judge_item(run, item, "r1", 70)
    attempts = Attempt.objects.filter(judgment__run=run)
    attempts.update(cost_nano=10, prompt_tokens=3, completion_tokens=2, text="The person sails.")
    n = attempts.count()
    type(run).objects.filter(pk=run.pk).update(spent_nano=10 * n, tokens=5 * n)
    return run


def predicted(study):
    """Somebody who answered every item of a linked study."""
    make_person(study, ["r1"] * Item.objects.filter(study=study).count(), is_shown=False)


@pytest.mark.nightly
def test_withdrawal_removes_the_person_everywhere(django_capture_on_commit_callbacks, settings):
    first = make_own_study(items=3)
    anna, ben = make_person(first, ["r1"] * 3), make_person(first, ["r2"] * 3, text="I swim.")
    study = linked(first)
    copy = copy_study(study_id=study.pk, slug="copy", title="Copy", with_items=True)
    run = judged(study)
    type(run).objects.filter(pk=run.pk).update(state="done", sentence="6 of 6 answered.")
    predicted(study)
    report = Report.objects.create(
        study=study, number=1, threshold=80, bootstrap=100, seed=1, withdrawn_answers=0
    )
    export = Export.objects.create(study=study, what="all", format="csv")
    Backup.objects.create(file="/b.zip", sha256="1" * 64, size=1)
    key = anna.own_profile.persona_key
    before = study.content_hash

    with django_capture_on_commit_callbacks(execute=True):
        withdraw(annotator_id=anna.pk)

    for each in (study, copy):
        assert list(each.personas.values_list("key", flat=True)) == [ben.own_profile.persona_key]
        assert Item.everything.filter(study=each).count() == 3
        rows = str(list(item_rows(each)))
        assert key not in rows
        assert "I sail." not in rows
        assert RemovedPerson.objects.get(study=each).own_answers == 3
        note = StudyLog.objects.get(study=each, event="profile removed").detail
        assert note["items"] == 3
        assert note["backups"].startswith("1 backup was made here since this study was created")
    assert Judgment.everything.filter(run=run).count() == 3
    assert Attempt.objects.filter(judgment__run=run).count() == 3
    assert Annotation.objects.filter(assignment__item__study=study).count() == 3
    assert Assignment.objects.filter(item__study=study).count() == 3
    assert not OwnProfile.objects.filter(annotator=anna).exists()
    study.refresh_from_db()
    assert study.content_hash != before
    export.refresh_from_db()
    assert (export.state, "withdrew" in export.message) == ("gone", True)
    assert marked(Report.objects.filter(pk=report.pk)).get().withdrawn_since == 3
    # What the removed judgments cost was spent all the same.
    run.refresh_from_db()
    assert (run.spent_nano, run.parameters["removed_requests"]["nano"]) == (60, 30)
    assert broken_invariants("run-totals") == []
    assert load_dataset(study.slug).runs[0].cost.usd == 60 / 10**9
    assert run.sentence == "3 of 3 answered."


def test_a_linked_study_is_entered_as_the_first():
    first = make_own_study(items=2, entry="list")
    make_person(first, ["r1"] * 2)

    assert linked(first).entry == "list"


def test_taking_the_consent_back_does_the_same_and_keeps_the_own_answers():
    first = make_own_study(items=2)
    anna = make_person(first, ["r1"] * 2)
    study = linked(first)

    from extras.own_answers.profiles import decide_profile

    decide_profile(annotator_id=anna.pk, is_shown=False)

    assert not study.personas.exists()
    assert not Item.everything.filter(study=study).exists()
    assert Annotation.objects.filter(assignment__annotator=anna, standing="surplus").count() == 2


@pytest.mark.nightly
def test_an_answer_that_was_taken_over_keeps_its_request_and_both_runs_their_totals():
    first = make_own_study(items=1)
    anna, ben = make_person(first, ["r1"]), make_person(first, ["r1"])
    study = linked(first)
    source_run, other_run = judged(study), make_run(study=study)
    item_of = {item.persona.key: item for item in Item.objects.filter(study=study)}
    source = Judgment.objects.get(item=item_of[anna.own_profile.persona_key])
    taken = judge_item(other_run, item_of[ben.own_profile.persona_key], "r1", 70)
    taken.attempts.all().delete()
    Judgment.objects.filter(pk=taken.pk).update(reused_from=source)

    withdraw(annotator_id=anna.pk)

    taken.refresh_from_db()
    assert taken.reused_from is None
    assert taken.attempts.get().cost_nano == 10
    assert broken_invariants("requests") == []
    assert broken_invariants("run-totals") == []
    assert Judgment.objects.filter(run=source_run).count() == 1


def test_the_first_study_stays_while_its_people_are_shown_elsewhere():
    first = make_own_study()
    make_person(first, ["r1"] * 6)
    study = linked(first)

    assert study.slug in content_of(first).obstacles[0]
    assert content_of(study).obstacles == []


def test_the_command_says_what_it_made_and_refuses_in_words():
    first = make_own_study()
    make_person(first, ["r1"] * 6)
    out = StringIO()

    call_command("link_study", first.slug, "--new", "new-one", items=2, stdout=out)

    assert out.getvalue() == "Created the draft “new-one” with 2 items about 1 people.\n"
    with pytest.raises(CommandError, match="There is already a study “new-one”"):
        call_command("link_study", first.slug, "--new", "new-one")
    with pytest.raises(CommandError, match="--persons: Use a whole number"):
        call_command("link_study", first.slug, "--new", "another", persons=0)


@pytest.mark.nightly
def test_the_page_makes_one(django_assert_max_num_queries):
    first = make_own_study(show_history=1)
    make_person(first, ["r1"] * 6)
    client = sign_in(first, "owner")
    User.objects.get().user_permissions.add(Permission.objects.get(codename="add_study"))
    url = f"/studies/{first.slug}/people/linked/"

    with django_assert_max_num_queries(40):
        page = client.get(url).content.decode()
    made = client.post(url, {"slug": "by-page", "examples": "1", "seed": "3"})

    assert "People agreed to 1." in page
    assert made["Location"] == "/studies/by-page/"
    assert "by-page" in client.get(url).content.decode()
    refused = client.post(url, {"slug": "more", "examples": "2", "seed": "3"})
    assert refused.status_code == 422
    assert "Use 1 examples or fewer" in refused.content.decode()
