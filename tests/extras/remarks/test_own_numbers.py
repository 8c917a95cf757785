"""One's own numbers on the last page: off by default, and only where all others have answered."""

import pytest
from django.test import Client

from annotation.models import Annotation, Annotator
from extras.remarks.own_numbers import with_most_others
from extras.remarks.setup import set_questions
from studies.models import Item, Study
from tests.annotation.pages.walking import answer_all, start
from tests.extras.remarks.remarking import ALL
from tests.factories import answer_item, make_items, make_study, walk_in

pytestmark = pytest.mark.django_db
HEADING = "What your work gave"


def walked_to_the_end(study):
    client = start(study)
    assert HEADING not in client.get(f"/s/{study.slug}/task/").content.decode()
    answer_all(client, study)
    client.post(f"/s/{study.slug}/feedback/", {})
    return client.get(f"/s/{study.slug}/done/").content.decode(), client


def small_study(*, shown, items=6):
    study = make_study(items_per_annotator=items, annotations_per_item=3)
    make_items(study, items)
    set_questions(
        study_id=study.pk, wanted=dict.fromkeys(ALL, False) | {"results": shown}, user=None
    )
    return Study.objects.get(pk=study.pk)


def answers_of(study, choices):
    """One more person gives these choices to the items, by key."""
    annotator = walk_in(study)
    for assignment in annotator.assignments.select_related("item"):
        answer_item(assignment, choice=choices[assignment.item.key])
    return annotator


@pytest.mark.parametrize("shown", [True, False])
def test_who_completed_sees_their_numbers_if_the_study_shows_them(shown):
    study = small_study(shown=shown)

    page, client = walked_to_the_end(study)

    assert (HEADING in page) is ("<dd>6</dd>" in page) is shown
    assert "chose as most others did" not in page
    keys = [*Item.objects.filter(study=study).values_list("key", flat=True)]
    for _ in range(2):
        answers_of(study, dict.fromkeys(keys, "r1"))
    later = client.get(f"/s/{study.slug}/done/").content.decode()
    assert ("chose as most others did" in later) is shown
    assert HEADING not in Client().get(f"/s/{study.slug}/done/").content.decode()


def test_items_count_once_all_others_have_answered_and_have_a_majority():
    study = small_study(shown=True)
    keys = [*Item.objects.filter(study=study).order_by("key").values_list("key", flat=True)]
    me = answers_of(study, dict.fromkeys(keys, "r1"))

    assert with_most_others(me) == (0, 0)
    answers_of(study, dict.fromkeys(keys, "r1"))
    assert with_most_others(me) == (0, 0)
    answers_of(study, dict.fromkeys(keys, "r2") | {keys[0]: "r1"})
    assert with_most_others(me) == (1, 1)
    last = Annotator.objects.last()
    assert with_most_others(last) == (6, 1)
    Annotation.objects.filter(assignment__annotator=me).update(standing="withdrawn")
    assert with_most_others(last) == (0, 0)
