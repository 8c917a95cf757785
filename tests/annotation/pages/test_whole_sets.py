"""A set of four responses on one screen: its seats, its page, and the order that people give."""

import re

import pytest
from django.urls import reverse

from annotation.files.answers_out import annotation_rows
from annotation.models import Annotation, Assignment, Draft
from studies.errors import FrozenStudy, StudyError
from studies.importers.items.import_source import read_paths
from studies.importers.items.item_bundle import ImportOptions
from studies.importers.items.storage import import_items
from studies.models import Study
from studies.services.items import store_draw
from studies.services.settings import save_settings
from studies.services.whole_studies import copy_study
from tests.annotation.pages.walking import post_answer, start, token_of
from tests.api.conftest import program
from tests.factories import make_study, sign_in
from tests.invariants import broken_invariants
from tests.studies.files import jsonl, raw_item, raw_pairs, read
from tests.studies.media_files import needs_media, picture, zipped

pytestmark = pytest.mark.django_db

LETTERS = "abcd"
NAMES = ["soup", "stew", "cake", "pie"]


def whole_study(**settings):
    """Two sets of four responses, each with six pairs, and one item of two responses."""
    study = make_study(set_display="whole", items_per_annotator=3, **settings)
    responses = [{"text": f"A {name}."} for name in NAMES]
    pairs = [pair for key in ("q7", "q8") for pair in raw_pairs(key, responses, question=f"{key}?")]
    import_items(study.slug, [read(jsonl(*pairs, raw_item(3)))])
    return study


@pytest.fixture
def study():
    return whole_study()


@pytest.fixture
def client(study):
    return start(study)


def at_set(client):
    """The first page that shows a whole set, and its assignment."""
    assignment = Assignment.objects.filter(option_order__isnull=False).order_by("position").first()
    url = f"/s/{assignment.item.study.slug}/task/{assignment.position}/"
    Assignment.objects.exclude(pk=assignment.pk).filter(position__lt=assignment.position).update(
        state="skipped", is_surplus=True
    )
    return client.get(url), assignment


def send(client, page, *places, **fields):
    given = dict(zip((f"place_{letter}" for letter in LETTERS), places, strict=False))
    return post_answer(client, page, choice=None, **given, **fields)


def seats_of(study):
    return dict(study.all_items.order_by("key").values_list("key", "seats_needed"))


def test_one_item_of_each_set_gets_seats(study):
    wanted = {"q7:r1-r2": 3, "q8:r1-r2": 3, "x3": 3}
    assert {key: n for key, n in seats_of(study).items() if n} == wanted
    assert broken_invariants("seats") == []

    copy = copy_study(study_id=study.pk, slug="copy", title="Copy", with_items=True)
    assert seats_of(copy) == seats_of(study)

    study.set_display = "pairs"
    save_settings(study, changed=["set_display"])
    assert set(seats_of(study).values()) == {3}


def test_a_sample_counts_screens():
    study = whole_study(human_sample=2)

    assert sum(n > 0 for n in seats_of(study).values()) == 2


def test_the_page_shows_all_responses_once_in_the_drawn_order(client):
    page, assignment = at_set(client)

    text = page.content.decode()
    shown = re.findall(r"A (soup|stew|cake|pie)\.", text)
    assert shown == [NAMES[number - 1] for number in assignment.option_order]
    place = assignment.item.option_set["place"]
    in_order = sorted(place, key=lambda side: assignment.option_order.index(place[side]))
    assert in_order[0] == assignment.shown_first
    assert text.count('type="radio" name="place_') == 16
    assert 'name="choice"' not in text
    assert "Give every response its own place" in text


@pytest.mark.nightly
def test_the_ranking_is_stored_with_its_choice_and_can_be_changed(client):
    page, assignment = at_set(client)
    order = assignment.option_order

    assert send(client, page, 2, 1, 4, 3).status_code == 303

    answer = Annotation.objects.get()
    ranking = [order[1], order[0], order[3], order[2]]
    assert answer.ranking == {"shown": order, "ranking": ranking}
    assert answer.choice == assignment.item.choice_of(ranking)
    assert answer.certainty == 72
    study = assignment.item.study
    person = f"{reverse('people:person', args=[study.slug])}?rater={assignment.annotator.pseudonym}"
    assert "B › A › D › C" in sign_in(study).get(person).content.decode()
    [exported] = annotation_rows(assignment.item.study)
    assert exported["ranking"] == ">".join(f"r{number}" for number in ranking)
    assert exported["options_shown"] == " ".join(f"r{number}" for number in order)
    again = client.get(page.request["PATH_INFO"])
    assert re.findall(r'id="place-(\w-\d)" checked', again.content.decode()) == [
        "a-2",
        "b-1",
        "c-4",
        "d-3",
    ]
    send(client, again, 1, 2, 3, 4, certainty="60")
    answer.refresh_from_db()
    kept = [revision.ranking["ranking"] for revision in answer.revisions.all()]
    assert kept == [ranking, order]
    assert answer.ranking["ranking"] == order
    assert broken_invariants("rankings") == []


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize(
    ("places", "message", "target"),
    [
        ((), "Put the responses in order: select a place for each of them", "place-a-1"),
        ((1, 2, 3), "No place yet: D", "place-d-1"),
        ((1, 2, 3, 9), "No place yet: D", "place-d-1"),
        ((1, 2, 2, 3), "These share a place: B, C", "place-b-1"),
    ],
)
def test_incomplete_orders_are_refused_in_clear_words(client, places, message, target):
    page, _ = at_set(client)

    refused = send(client, page, *places)

    text = refused.content.decode()
    assert refused.status_code == 422
    assert message in text
    assert f'href="#{target}"' in text
    assert f'id="{target}"' in text
    assert not Annotation.objects.exists()


def test_a_draft_keeps_the_places_that_are_given(client):
    page, assignment = at_set(client)
    order = assignment.option_order

    kept = client.post(
        f"{page.request['PATH_INFO']}draft/",
        {"assignment": token_of(page), "stamp": "0.0", "place_b": "1", "place_c": "4"},
    )

    assert kept.json()["place_b"] == "1"
    assert kept.json()["place_a"] == ""
    assert Draft.objects.get().places == {str(order[1]): 1, str(order[2]): 4}
    again = client.get(page.request["PATH_INFO"]).content.decode()
    assert re.findall(r'id="place-(\w-\d)" checked', again) == ["b-1", "c-4"]


@pytest.mark.nightly
def test_the_display_is_fixed_once_somebody_has_items(study):
    editor = sign_in(study)
    url = f"/studies/{study.slug}/settings/"
    assert not editor.get(url).context["form"].fields["set_display"].disabled
    own = program(study, "editor").patch(f"studies/{study.slug}", {"perspective": "own"})
    assert own.status_code == 422
    assert "see pairs only" in own.content.decode()
    start(study)

    assert editor.get(url).context["form"].fields["set_display"].disabled
    study.set_display = "pairs"
    with pytest.raises(FrozenStudy, match="the display of sets cannot change"):
        save_settings(study, changed=["set_display"])
    refused = program(study, "editor").patch(f"studies/{study.slug}", {"set_display": "pairs"})
    assert refused.status_code == 409
    assert "annotators with items, so these settings cannot change" in refused.content.decode()


def test_whole_sets_and_a_draw_by_a_judge_exclude_each_other(study):
    with pytest.raises(StudyError, match="is about a pair"):
        store_draw(study_id=study.pk, probabilities={}, drawn=[], by={})

    Study.objects.filter(pk=study.pk).update(set_display="pairs")
    store_draw(study_id=study.pk, probabilities={"q7:r1-r2": 0.5}, drawn=["q7:r1-r2"], by={})
    study.refresh_from_db()
    study.set_display = "whole"
    with pytest.raises(StudyError, match="which is about pairs"):
        save_settings(study, changed=["set_display"])


@needs_media
def test_files_of_all_responses_of_a_set_are_sent_to_those_who_see_it(settings, tmp_path):
    settings.VAR_DIR = tmp_path / "var"
    settings.VAR_DIR.mkdir()
    study = make_study(set_display="whole", items_per_annotator=1)
    colors = {"x/1.png": "navy", "x/2.png": "teal", "x/3.png": "red", "x/4.png": "gold"}
    responses = [
        {"text": "", "media": [{"file": name, "description": color}]}
        for name, color in colors.items()
    ]
    files = {name: picture(color=color) for name, color in colors.items()}
    path = zipped(tmp_path / "items.zip", raw_pairs("q7", responses), files)
    import_items(study.slug, read_paths([path], ImportOptions("preference")))
    client = start(study)

    page = client.get(f"/s/{study.slug}/task/").content.decode()

    addresses = re.findall(rf'"(/s/{study.slug}/media/[^"]+)"', page)
    assert len(set(addresses)) == 4
    assert all(client.get(address).getvalue() in files.values() for address in addresses)
