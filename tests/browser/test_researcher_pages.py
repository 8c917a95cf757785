"""Researchers' pages in a real browser: they work, fit, and read well by axe's rules."""

import re

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import expect

from studies.models import ImportJob, Item, Study
from tests.browser.conftest import (
    PHONE,
    fits_and_reads_well,
    is_well_in_both_themes,
    scrolls_sideways,
    until,
)
from tests.config.test_access import PAGES
from tests.config.test_hostile_requests import path
from tests.factories import make_item, make_study
from tests.sampling import some
from tests.studies.files import jsonl, raw_item

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("study"),
]


def parameters(route: str) -> set[str]:
    return set(re.findall(r"<(\w+)>", route))


@pytest.fixture
def study():
    User.objects.create_superuser("ada", password="a good long secret")
    make_study(slug="draft", state="draft")
    study = make_study(slug="one", title="Everyday choices", is_simulated=True)
    make_item(study=study, key="a-rather-long-key-" + "x" * 60, question="Tea or coffee? " * 8)
    return study


def test_every_page_fits_and_passes_axe(signed_in):
    page = signed_in()
    key = Item.objects.get().key

    for name, arguments in [
        ("list", []),
        ("new", []),
        ("settings", ["one"]),
        ("detail", ["one"]),
        ("detail", ["draft"]),
        ("launch", ["draft"]),
        ("import", ["one"]),
        ("items", ["one"]),
        ("item", ["one", key]),
    ]:
        page.goto(reverse(f"studies:{name}", args=arguments), wait_until="networkidle")
        is_well_in_both_themes(page)
    page.goto(f"{reverse('studies:import', args=['one'])}?set=opinionqa")
    is_well_in_both_themes(page)
    for section in ("people:list", "analysis:list"):  # those with the most pages
        page.goto(reverse(section, args=["one"]))
        assert page.locator(".section-pages").bounding_box()["height"] < 45


def test_a_phone_reaches_every_place_without_a_swipe_or_a_script(signed_in):
    page = signed_in(viewport=PHONE, javascript=False)
    page.goto(reverse("studies:item", args=["one", Item.objects.get().key]))
    assert page.locator("h1").bounding_box()["y"] < 200
    page.goto(reverse("studies:items", args=["one"]))
    assert page.locator("h1").bounding_box()["y"] < 200

    for fold, place in (
        ("Menu", "Documentation"),
        ("Section: Items", "Settings"),
        ("Page: All items", "Import"),
    ):
        link = page.get_by_role("link", name=place, exact=True)
        expect(link).to_be_hidden()
        page.locator("summary", has_text=fold).press("Enter")
        expect(link).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("button", name="Sign out")).to_be_in_viewport(ratio=1)
    assert not scrolls_sideways(page)


def test_no_page_breaks_its_policy_or_throws(signed_in):
    """Those that need no more than a study and an item; `open_page` fails on console errors."""
    page = signed_in()
    known = {"slug": "one", "key": Item.objects.get().key}
    addresses = {path(route, known) for route in PAGES if parameters(route) <= known.keys()}
    answers = {address: page.request.get(address) for address in sorted(addresses)}
    pages = [at for at, answer in answers.items() if answer.ok and "<html" in answer.text()]
    assert len(pages) > 50
    for address in some(pages, keep=20):
        page.goto(address)
        assert page.locator("script:not([type])").count() == 0, address


@pytest.mark.nightly
def test_unfair_checks_fit_and_pass_axe(signed_in, study):
    make_item(study=study, split="attention_check", check_answer="r1")
    page = signed_in()

    for rest in ("people/checks/", "people/preview/"):
        page.goto(f"/studies/one/{rest}", wait_until="networkidle")
        page.get_by_text("Unfair checks").wait_for()
        is_well_in_both_themes(page)


def test_an_import_that_goes_on_fits_and_passes_axe(signed_in, study):
    job = ImportJob.objects.create(
        study=study,
        file_name="items.jsonl",
        task="preference",
        state="running",
        progress=40,
        message="Reading and checking the file: 40 % of its rows.",
    )
    page = signed_in(viewport=PHONE)

    page.goto(reverse("studies:import-job", args=["one", job.public_id]))

    page.get_by_text("40 % of its rows").wait_for()
    fits_and_reads_well(page)
    item = {"asked": "Tea?", "r1": "Yes", "r2": "No", "own": "tie", "person": "35-44"}
    report = {"facts": [["Left out", "ties 3"]], "preview": [item]}
    ImportJob.objects.update(state="done", message="Imported 3 items.", progress=100, report=report)
    page.get_by_text("Imported 3 items.").wait_for()
    fits_and_reads_well(page)


def test_the_sign_in_page_passes_axe_and_takes_the_form_of_a_real_browser(study, open_page):
    page = open_page(viewport=PHONE)
    page.goto(reverse("login"))
    fits_and_reads_well(page)

    page.get_by_label("User name").fill("ada")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()

    page.get_by_role("heading", name="There is a problem").wait_for()
    assert page.title().startswith("Error:")
    fits_and_reads_well(page)
    page.get_by_label("Password").fill("a good long secret")
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**" + reverse("studies:list"))


def monitor(page):
    return page.locator(f'[data-src="{reverse("studies:monitor", args=["one"])}"]')


def test_the_monitor_is_there_at_once_says_when_and_can_be_paused(signed_in):
    page = signed_in()
    page.goto(reverse("studies:detail", args=["one"]))

    for title in ("Quota", "Annotators", "Items by number of answers", "Judges", "Money"):
        expect(monitor(page).get_by_role("heading", name=title, exact=True)).to_be_visible()
    page.get_by_text("Updated").wait_for()
    pause = page.get_by_role("button", name="Pause updates")
    pause.click()

    assert pause.get_attribute("aria-pressed") == "true"


def test_the_monitor_fits_one_screen(signed_in):
    page = signed_in(viewport={"width": 1280, "height": 800})
    page.goto(reverse("studies:detail", args=["one"]))

    box = monitor(page).bounding_box()

    assert box["y"] + box["height"] <= 800


def test_the_monitor_follows_what_happens_without_a_reload(signed_in, study):
    page = signed_in()
    page.goto(reverse("studies:detail", args=["one"]))
    slot = monitor(page)
    before = slot.inner_text()
    page.mouse.move(10, 10)

    Item.objects.update(seats_taken=1, answered=1)

    until(page, "([slot, before]) => slot.innerText !== before", [slot.element_handle(), before])


def test_a_monitor_that_cannot_be_loaded_stays_and_says_so(signed_in):
    page = signed_in()
    address = reverse("studies:monitor", args=["one"])
    page.route(f"**{address}", lambda route: route.fulfill(status=500, body=""))

    page.goto(reverse("studies:detail", args=["one"]))
    page.mouse.move(10, 10)

    page.get_by_text("Could not load “Monitor”.").wait_for()
    expect(monitor(page).get_by_role("heading", name="Quota")).to_be_visible()


def test_without_scripts_the_monitor_is_part_of_the_page(signed_in):
    page = signed_in(javascript=False)
    page.goto(reverse("studies:detail", args=["one"]))

    expect(monitor(page).get_by_text("answers", exact=False).first).to_be_visible()
    expect(page.get_by_text("Pause updates")).to_be_hidden()


def test_a_study_is_paused_by_its_button(signed_in):
    page = signed_in()
    page.goto(reverse("studies:detail", args=["one"]))

    page.get_by_role("button", name="Pause study", exact=True).click()

    page.get_by_text("The study is paused.").wait_for()
    assert Study.objects.get(slug="one").state == "paused"


def test_a_broken_file_is_explained_and_its_faults_can_be_downloaded(signed_in, tmp_path):
    path = tmp_path / "items.jsonl"
    path.write_bytes(jsonl(raw_item(1), raw_item(2, question=None), "not json"))
    page = signed_in()
    page.goto(reverse("studies:import", args=["one"]))

    page.get_by_label("Item files").set_input_files(path)
    page.get_by_role("button", name="Import items", exact=True).click()

    expect(page.locator(".error-summary")).to_be_focused()
    fits_and_reads_well(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download all errors as CSV").click()
    text = download.value.path().read_text()
    assert "items.jsonl,2,question,question is missing" in text
    assert len(text.splitlines()) == 3
