"""Lists of annotators who err as a judge does are deleted with the design that made them."""

import pytest
from django.db import connection

from tests.factories import make_study
from tests.moved import update_from_before


@pytest.mark.django_db(transaction=True)
def test_an_update_drops_the_lists_which_name_people():
    study = make_study()
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE likeness_errorcomparison (id integer PRIMARY KEY,"
            " study_id bigint NOT NULL REFERENCES studies_study (id))"
        )
        cursor.execute("INSERT INTO likeness_errorcomparison VALUES (1, %s)", [study.pk])

    update_from_before("judges_compared", "0001_drop_error_comparisons")

    assert "likeness_errorcomparison" not in connection.introspection.table_names()
    study.delete()
