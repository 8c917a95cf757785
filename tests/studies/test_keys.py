"""What is named by chance or by people can be named on a command line, and begins an address."""

import re

import pytest
from django.core.management import CommandError, call_command

from judging.models import Judge
from studies.errors import StudyError
from studies.models import Study
from studies.models.keys import public_id
from studies.services.studies import create_study


def test_ids_are_letters_and_digits_with_more_than_128_bits():
    made = [public_id() for _ in range(2_000)]

    assert all(re.fullmatch(r"[A-Za-z0-9]{22}", one) for one in made)
    assert len(set(made)) == 2_000
    assert len(set("".join(made))) == 62


@pytest.mark.django_db
def test_no_study_begins_with_a_dash():
    with pytest.raises(StudyError, match="begins with a dash"):
        create_study(slug="-x")
    assert not Study.objects.exists()


@pytest.mark.django_db
def test_no_judge_begins_with_a_dash():
    with pytest.raises(CommandError, match="starts with a dash"):
        call_command("add_judge", "--", "-x", model="m", base_url="http://127.0.0.1:9/v1")
    assert not Judge.objects.exists()
