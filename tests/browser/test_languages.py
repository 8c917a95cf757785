"""A whole participation on a phone in every language: everything fits, and no English is left."""

import json
import re

import pytest
from django.utils import translation
from playwright.sync_api import Page, expect

from annotation.content.comprehension import questions_of, set_questions, standard_questions
from annotation.content.texts import TEXTS, placeholders, ready_practice, template_for
from annotation.models import Annotation
from annotation.seats.quotas import Quota, set_quotas
from annotation.seats.ready_questions import READY, ready_question
from studies.models import Study
from studies.pages.settings_views import TRANSLATED
from tests.browser.annotators import enter, make_everyday_study
from tests.browser.conftest import PHONE, fits_and_reads_well
from tests.factories import make_item, make_persona

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
CONTACT = "a@b.example"
# What a reader sees or hears, and what scripts show later.
WORDS = """() => {
  const named = ["aria-label", "title", "alt", "placeholder", "data-text", "data-texts"];
  const texts = [document.title];
  for (const element of document.body.querySelectorAll("*:not(script, noscript, style)")) {
    for (const name of named) texts.push(element.getAttribute(name) ?? "");
    for (const node of element.childNodes)
      if (node.nodeType === Node.TEXT_NODE) texts.push(node.data);
  }
  return texts.filter((text) => text.trim()).join("\\n");
}"""
ENGLISH = re.compile(
    r"\b(?:the|and|your|you|with|this|that|which|answer|response|seconds|from)\b", re.IGNORECASE
)
# Where no letters are Latin but those of names, and of codes in capitals or with digits.
LATIN = re.compile(r"(?<![A-Za-z0-9])(?=[A-Z]*[a-z])[A-Za-z]{2,}(?![A-Za-z0-9])")
NAMES = {"Prolific", "Enter"}


def make_translated_study(language: str) -> Study:
    """A study with every ready-made text of its language, and its practice items as items."""
    study = make_everyday_study(
        items=0, items_per_annotator=1, language=language, title="1", contact=CONTACT
    )
    for name in TEXTS:
        text = template_for(study, name)
        for left in placeholders(text):
            text = text.replace(f"[[{left}]]", "…")
        setattr(study, name, text)
    study.save()
    asked = [ready_question(study, key) for key in READY]
    set_quotas(study_id=study.pk, questions=asked, groups=[Quota(1)])
    set_questions(study_id=study.pk, questions=standard_questions(study))
    for line in ready_practice(study).read_text("utf-8").splitlines():
        item = json.loads(line)
        r1, r2 = item["responses"]
        persona = make_persona(study=study, features=item["persona"]["features"])
        for split in ("main", "practice"):
            make_item(
                study=study,
                key=f"{split}-{item['id']}",
                split=split,
                persona=persona,
                question=item["question"],
                r1=r1,
                r2=r2,
                language=language,
            )
    return study


def english_in(text: str, language: str) -> list[str]:
    if language not in ("ar", "zh-hans"):
        return ENGLISH.findall(text)
    return [word for word in LATIN.findall(text) if word not in NAMES]


@pytest.mark.nightly
@pytest.mark.parametrize("language", [code for code, _ in TRANSLATED if code != "en"])
def test_a_study_speaks_its_language_from_the_link_to_the_code(open_page, live_server, language):
    study = make_translated_study(language)
    page = open_page(viewport=PHONE, locale="en-GB")
    page.route("https://app.prolific.com/**", lambda route: route.fulfill(body="-"))
    left: dict[str, list[str]] = {}

    def look(page: Page, address: str) -> None:
        page.wait_for_url(f"**/{address}")
        if english := english_in(page.evaluate(WORDS).replace(CONTACT, ""), language):
            left[address] = english
        fits_and_reads_well(page)

    def answer() -> None:
        page.check("#choice-a")
        page.fill("#certainty", "72")
        page.click("#submit")

    enter(page, study)
    look(page, "consent/")
    for box in page.locator("main input[type=checkbox]").all():
        box.check()
    page.click("#consent-yes")
    look(page, "about/")
    for key in READY:
        page.check(f"#attr_{key}-0")
    page.click("#submit")
    look(page, "instructions/")
    page.click("#submit")
    for number, question in enumerate(questions_of(study), start=1):
        look(page, f"quiz/{number}/")
        page.check(f"#answer-{question.right}")
        page.click("#submit")
    for _ in range(2):
        look(page, "practice/")
        answer()
        page.wait_for_selector("button[name=understood]")
        look(page, "practice/")
        page.click("#submit")
    look(page, "task/1/")
    item = page.url
    for address in ("help/", "pause/", "withdraw/", "consent/copy/"):
        page.goto(f"/s/{study.slug}/{address}")
        look(page, address)
    page.goto(item)
    page.check("#choice-a")
    page.fill("#certainty", "72")
    with translation.override(language):
        band = translation.gettext("Confident")
    expect(page.locator("[data-band-spoken]")).to_contain_text(band)
    page.click("#submit")
    look(page, "feedback/")
    page.click("#submit")
    page.wait_for_url("**/done/")
    page.keyboard.press("Tab")  # stays on the page
    look(page, "done/")

    assert left == {}
    assert Annotation.objects.count() == 1
