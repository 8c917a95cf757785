"""How texts of items are shown: Markdown, direction, folded profiles, and translations."""

import re

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from annotation.files.answers_out import annotation_rows
from annotation.models import Annotation, Annotator
from annotation.quality import quality_of
from studies.models import Item, Study
from studies.prompts import build_prompt
from studies.texts.markdown import render_response
from studies.texts.normalisation import direction_of
from tests.annotation.pages.walking import arrive, begun, item_page, post_answer, start
from tests.factories import make_item, make_persona, make_study

pytestmark = pytest.mark.django_db

LISTED = (
    "Two things:\n\n- *first*\n- `second`\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n```\nx = 1\n```"
)


def test_markdown_of_responses_is_shown_to_people_and_sent_to_judges_as_it_is():
    study = make_study(show_markdown=True, items_per_annotator=1)
    item = make_item(study=study, r1={"text": LISTED}, r2={"text": "Plain\nlines"})
    before = item.content_hash

    html = item_page(start(study), study).content.decode()

    for part in ("<li><em>first</em></li>", "<td>2</td>", "<pre><code>x = 1", "Plain<br>"):
        assert part in html
    item = Item.objects.select_related("persona", "study").get()
    assert LISTED in build_prompt(item, setting="certainty", shown_first="r1")
    assert item.content_hash == before


def test_without_the_setting_markdown_stays_text():
    study = make_study(items_per_annotator=1)
    make_item(study=study, r1={"text": LISTED})

    html = item_page(start(study), study).content.decode()

    assert "- *first*" in html
    assert "rendered" not in html


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ('<img src=x onerror="alert(1)">', "&lt;img src=x onerror="),
        ("[go](https://example.org/a?b&c)", "go (https://example.org/a?b&amp;c)"),
        ("<https://example.org>", "<p>https://example.org</p>"),
        ("[go](javascript:alert(1))", "[go](javascript:alert(1))"),
        ('[go](https://example.org "onclick=1")', "go (https://example.org)"),
        ('![a"<b>](https://example.org/p.png)', "a&#34;&lt;b&gt; (https://example.org/p.png)"),
        ("![x](data:image/png;base64," + "A" * 500 + ")", "AAAA…)"),
        ("[a]: https://example.org\n\n[text][a]", "text (https://example.org)"),
        ("# Heading", "<p><strong>Heading</strong></p>"),
        ("```html\n</code></pre><b>x</b>\n```", "&lt;/code&gt;&lt;/pre&gt;&lt;b&gt;x"),
    ],
)
def test_markdown_leads_nowhere_and_loads_nothing(text, shown):
    html = render_response(text)

    assert shown.replace("&#34;", '"') in html.replace("&#34;", '"').replace("&quot;", '"')
    assert set(re.findall(r"<(\w+)([^>]*)>", html)) <= {
        (tag, "") for tag in ("p", "pre", "code", "strong")
    }


def test_marks_that_change_the_direction_are_shown_in_markdown_too():
    study = make_study(show_markdown=True, items_per_annotator=1)
    make_item(study=study, r1={"text": "**a\u202eb** & c"})

    html = item_page(start(study), study).content.decode()

    assert "\u202e" not in html
    assert re.search(r"<strong>a<span [^>]*>U\+202E</span>b</strong> &amp; c", html)


def test_a_question_and_its_responses_have_one_direction():
    study = make_study(items_per_annotator=1)
    make_item(
        study=study,
        question="ماذا أطبخ اليوم للعائلة؟",
        r1={"text": "Spaghetti هي الأسهل دائما"},
        r2={"text": "حساء العدس مع الخبز"},
    )

    html = item_page(start(study), study).content.decode()

    assert re.findall(r'class="[^"]*imported" lang="en" dir="(\w+)"', html) == ["rtl"] * 3


@pytest.mark.parametrize(
    ("texts", "direction"),
    [(("",), "ltr"), (("12 %",), "ltr"), (("שלום", "a"), "rtl"), (("Say שלום to them",), "ltr")],
)
def test_most_letters_decide_the_direction(texts, direction):
    assert direction_of(*texts) == direction


def with_profile(**fields):
    study = make_study(items_per_annotator=1, **fields)
    names = ("age", "sex", "work", "hobby", "town")
    facts = [{"key": n, "label": n, "value": f"v-{n}", "text": f"It is {n}."} for n in names]
    make_item(study=study, persona=make_persona(study=study, features=facts))
    return study


@pytest.mark.parametrize("style", ["facts", "sentences"])
def test_phones_show_the_features_that_the_study_calls_important(style):
    study = with_profile(phone_features="age, work", persona_style=style)

    html = item_page(start(study), study).content.decode()

    assert html.count('class="is-more"') == 3
    assert 'data-more="Show the whole profile"' in html


@pytest.mark.parametrize("features", ["", "age, sex, work", "other"])
def test_a_short_profile_or_one_without_these_features_is_not_folded(features):
    study = with_profile(phone_features=features)

    assert "is-more" not in item_page(start(study), study).content.decode()


def test_a_feature_that_no_profile_has_is_refused():
    study = with_profile()
    study.phone_features = "age, wrk"

    with pytest.raises(ValidationError, match="No profile has the feature “wrk”"):
        study.full_clean()


@pytest.mark.parametrize(("allowed", "marked"), [(True, 0), (False, 4)])
def test_a_study_can_ask_browsers_not_to_translate_what_is_judged(allowed, marked):
    study = make_study(allow_translation=allowed, items_per_annotator=1)
    make_item(study=study)

    html = item_page(start(study), study).content.decode()

    assert html.count('translate="no"') == marked


def test_what_was_translated_is_stored_exported_and_flagged():
    study, client = begun(3)
    page = item_page(client, study)
    for said in ("texts", "page", "nonsense"):
        page = client.get(post_answer(client, page, translated=said)["Location"])
    first = client.get(f"/s/{study.slug}/task/1/")
    post_answer(client, first, translated="", choice="b")  # a change does not undo it

    assert [*Annotation.objects.values_list("translated", flat=True)] == ["texts", "page", ""]
    assert {row["translated"] for row in annotation_rows(study)} == {"texts", "page", None}
    (quality,) = quality_of(study).values()
    flags = {flag.rule: str(flag) for flag in quality.flags}
    assert flags == {"translated": "Gave 2 answers on a page that was translated; flagged from 1."}


@pytest.mark.nightly
def test_two_people_in_one_browser_are_noticed_once():
    study = make_study(items_per_annotator=1)
    make_item(study=study, seats_needed=3)
    make_item(study=study, seats_needed=3)
    client = Client()
    for pid in ("a" * 24, "b" * 24, "a" * 24):
        arrive(study, pid, client)
    alone = start(study, "c" * 24)
    for pid in ("a" * 24, "b" * 24):
        post_answer(start(study, pid, client), item_page(client, study))
    post_answer(alone, item_page(alone, study))

    first, second, third = Annotator.objects.all()
    seen = {who.pk: [e.detail for e in who.events.filter(event="same browser")] for who in (first,)}
    assert seen == {first.pk: [{"with": second.pseudonym}]}
    found = quality_of(study)
    assert [found[who.pk].same_browser for who in (first, second, third)] == [1, 1, 0]
    assert "same_browser" in found[first.pk].rules
    assert found[third.pk].rules == ()


def test_other_studies_in_the_same_browser_are_not_mixed_up():
    client = Client()
    for study in (make_study(), make_study()):
        make_item(study=study)
        arrive(study, client=client)

    assert Study.objects.count() == Annotator.objects.count() == 2
    assert not Annotator.objects.filter(events__event="same browser").exists()
