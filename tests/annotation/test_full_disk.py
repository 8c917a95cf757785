"""A disk that is full under PostgreSQL: answers are refused in words and kept in the page."""

import pytest
from django.db import connection

from annotation.models import Annotation, AnnotationRevision, Assignment, Draft
from studies.models import Item
from tests.annotation.pages.walking import post_answer, start
from tests.factories import make_items, make_study

pytestmark = [pytest.mark.postgres, pytest.mark.django_db]
# What PostgreSQL says when a table cannot grow, said by a trigger of that table.
FULL = """
    CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        RAISE EXCEPTION 'could not extend file "base/1": No space left on device'
        USING ERRCODE = 'disk_full';
    END $$;
    CREATE TRIGGER no_room BEFORE INSERT OR UPDATE ON {table}
    FOR EACH ROW EXECUTE FUNCTION no_room();
"""
TABLES = {
    each._meta.db_table: each for each in (Annotation, AnnotationRevision, Assignment, Item, Draft)
}


def stored():
    return {
        "answers": Annotation.objects.count(),
        "revisions": AnnotationRevision.objects.count(),
        "drafts": Draft.objects.count(),
        "assignments": sorted(Assignment.objects.values_list("pk", "state", "is_surplus")),
        "items": sorted(Item.objects.values_list("pk", "seats_taken", "answered")),
    }


@pytest.mark.parametrize("table", sorted(set(TABLES) - {Draft._meta.db_table}))
def test_an_answer_on_a_full_disk_stays_in_the_page_and_is_not_stored(table):
    study = make_study(items_per_annotator=2)
    make_items(study, 2)
    client = start(study)
    client.raise_request_exception = False
    address = f"/s/{study.slug}/task/1/"
    page, before = client.get(address), stored()
    with connection.cursor() as cursor:
        cursor.execute(FULL.format(table=table))

    response = post_answer(client, page, address, choice="a", certainty="83")

    words = response.content.decode()
    assert (response.status_code, response.headers["Retry-After"]) == (503, "5")
    assert "Your answer is kept on this device" in words
    assert 'name="certainty" value="83"' in words
    assert stored() == before

    # There is room again, and no process was started.
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TRIGGER no_room ON {table}")
    assert post_answer(client, page, address, choice="a", certainty="83").status_code == 303
    assert (Annotation.objects.count(), AnnotationRevision.objects.count()) == (1, 1)
