"""“Either could be right” as the third answer: what participants read, and what is stored."""

import pytest

from annotation.content.comprehension import standard_questions
from annotation.content.texts import instructions_text, template_for
from annotation.models import Annotation
from studies.services.items import study_content_hash
from tests.annotation.pages.walking import item_page, post_answer
from tests.factories import make_items, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    made = make_study(items_per_annotator=2, allow_tie=True, tie_meaning="either")
    make_items(made, 2)
    return made


def test_the_third_answer_shows_its_meaning_and_is_stored_as_a_tie(client, study):
    shown = item_page(client, study)
    page = shown.content.decode()

    post_answer(client, shown, choice="tie", certainty="")

    assert 'value="tie"' in page
    assert page.count("Either could be right") >= 2
    assert "No clear difference" not in page
    assert Annotation.objects.get().choice == "tie"


def test_instructions_and_questions_say_when_to_choose_it(study):
    words = "If you can imagine the person choosing either text"

    assert words in instructions_text(study)
    assert words in template_for(study, "instructions")
    assert "Either could be right" in str(standard_questions(study)[2].options[0])


def test_the_meaning_is_hashed_only_if_it_is_offered():
    def hashed(**settings):
        return study_content_hash(make_study(**settings))

    assert hashed(allow_tie=True) != hashed(allow_tie=True, tie_meaning="either")
    assert hashed() == hashed(tie_meaning="either")
