"""From a file to a verdict by a researcher's hand: from a new installation to export by clicks.

Real processes, the simulated Prolific, the simulated LLM server and Chromium. Every click and every
field that the researcher needs is counted; docs/workbench.md gives the numbers.
"""

import csv
import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Error, Frame, Locator, Page, sync_playwright

from demo.annotators import SimulatedAnnotator
from demo.prolific.server import TOKEN, SimulatedProlific, start
from demo.truth import World
from tests.browser.conftest import DESKTOP, PATIENCE_MS, launch
from tests.e2e.stack import Stack

pytestmark = [pytest.mark.e2e, pytest.mark.sqlite]

ROOT = Path(__file__).resolve().parents[2]
STUDY, PASSWORD = "everyday-choices", "a good long secret"
PEOPLE = (1, 8, 14, 20)  # two women and two men
ITEMS = 30
PLANS = ("an evening with a book at home", "a dance in the square with everybody")


def foreign_file(folder: Path) -> Path:
    """Items as a spreadsheet of somebody who has never seen our formats."""
    rows = io.StringIO()
    lines = csv.writer(rows)
    lines.writerow(["Nr", "Age group", "Likes", "Wording", "Option A", "Option B", "gold"])
    for n in range(ITEMS):
        question = f"What shall I do on evening number {n + 1}?"
        plans = [f"I suggest {plan}, on evening {n + 1}." for plan in PLANS]
        lines.writerow([n, "35-44", PLANS[n % 2], question, *plans, "AB"[n % 2]])
    path = folder / "evenings.csv"
    path.write_text(rows.getvalue(), "utf-8")
    return path


class Person(SimulatedAnnotator):
    """A simulated annotator who reads what the person likes, and chooses accordingly."""

    def _answer(self, page):
        if "the response that begins with" in " ".join(page.texts):
            return super()._answer(page)
        profile = " ".join(text for text in page.texts if "I suggest" not in text)
        likes = next(plan for plan in PLANS if plan in profile)
        side = "a" if likes in page.by_id["text-a"] else "b"
        form = page.form_with("choice")
        time = self._take_time(form, " ".join(page.texts))
        return self._browser.send(form, choice=side, certainty="80", **time)


class Hand:
    """What a researcher does in the browser, counted by step."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks: Counter[str] = Counter()
        self.fields: Counter[str] = Counter()
        self.step = ""
        self.pages: set[tuple[str, str]] = set()
        page.on("framenavigated", self._count)

    def _count(self, frame: Frame) -> None:
        """Count a page once in a step: one that follows a job reloads itself."""
        if frame == self.page.main_frame and frame.url.startswith("http"):
            self.pages.add((self.step, urlsplit(frame.url).path))

    def button(self, name: str) -> None:
        self.click(self.page.get_by_role("button", name=name))

    def link(self, name: str) -> None:
        self.click(self.page.get_by_role("link", name=name))

    def click(self, target: Locator) -> None:
        target.first.click()
        self.page.wait_for_load_state()
        self.clicks[self.step] += 1

    def counted(self) -> dict[str, tuple[int, int]]:
        return {step: (self.clicks[step], self.fields[step]) for step in self.clicks}

    def write(self, label: str, text: str) -> None:
        self.page.get_by_label(label, exact=True).first.fill(text)
        self.fields[self.step] += 1

    def attach(self, label: str, file: Path) -> None:
        self.page.get_by_label(label).set_input_files(file)
        self.fields[self.step] += 1

    def sees(self, words: str) -> None:
        try:
            self.page.get_by_text(words).first.wait_for()
        except Error:
            shown = self.page.inner_text("main")
            raise AssertionError(f"{self.page.url} does not say “{words}”:\n{shown}") from None

    def choose(self, label: str, option: str) -> None:
        self.page.get_by_label(label, exact=True).first.select_option(option)
        self.fields[self.step] += 1


@pytest.fixture
def prolific(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimulatedProlific]:
    """A simulated Prolific that the processes started after it use."""
    simulated = SimulatedProlific()
    http = start(simulated)
    monkeypatch.setenv("PROLIFIC_BASE_URL", f"http://127.0.0.1:{http.server_address[1]}")
    yield simulated
    http.shutdown()
    http.server_close()


@pytest.fixture
def hand(prolific: SimulatedProlific, stack: Stack) -> Iterator[Hand]:
    """The browser of a researcher on an installation that is new."""
    stack.start()
    with sync_playwright() as playwright:
        browser = launch(playwright)
        context = browser.new_context(base_url=stack.base_url, viewport=DESKTOP)
        context.set_default_timeout(PATIENCE_MS)
        yield Hand(context.new_page())
        browser.close()


def first_account(hand: Hand, terminal: str) -> None:
    """The first visitor has the code that the program printed when it started."""
    hand.step = "First account"
    hand.page.goto("/")
    hand.write("Code from the terminal", terminal.partition("code: ")[2].split()[0])
    hand.write("User name", "ada")
    hand.write("Password", PASSWORD)
    hand.write("Password confirmation", PASSWORD)
    hand.button("Create account")


def create(hand: Hand) -> None:
    """From a preset; the sentences of the consent text that only the researcher knows."""
    hand.step = "Create the study"
    hand.link("Create study")
    hand.button("Pilot")
    hand.write("Title", "Everyday choices")
    hand.write("Contact address", "ada@example.org")
    hand.write("Researchers", "Ada Lovelace, University of Exampleton")
    hand.write("Data storage", "On servers of the university, for ten years")
    hand.write("Ethics approval", "Ethics Committee 2026/17")
    hand.button("Create study")


def import_items(hand: Hand, file: Path) -> None:
    """The page guesses six of seven columns."""
    hand.step = "Import items"
    hand.link("Next: Items")
    hand.attach("Item files", file)
    hand.button("Import items")
    hand.choose("Field of Likes", "Persona feature")
    hand.button("Import items")
    hand.sees(f"Imported {ITEMS} items and 2 personas")


def add_checks(hand: Hand) -> None:
    hand.step = "Checks and practice"
    hand.link("Next: Checks")
    hand.button("Add the standard checks")
    hand.sees("5 comprehension questions, 2 practice items, 2 attention checks")


def set_quota(hand: Hand) -> None:
    hand.step = "Quota"
    hand.link("Places and quota")
    hand.link("Set up a quota")
    hand.button("Ask for gender")
    hand.button("Save quota")
    hand.sees("Quota saved: 2 groups for 4 annotators.")


def enter_token(hand: Hand) -> None:
    hand.step = "Token of Prolific"
    hand.link("Next step")
    hand.write("Token", TOKEN)
    hand.button("Test and store token")
    hand.sees("Used by this study")


def add_judge(hand: Hand, address: str) -> None:
    hand.step = "Judge"
    hand.link("Next step")
    hand.write("Model", "demo-steady")
    hand.write("Address", address)
    hand.button("Add and test")
    hand.sees("The judge works.")


def launch_study(hand: Hand) -> None:
    """One page with every check and the cost, then the amount once more."""
    hand.step = "Launch"
    hand.link("Next step")
    hand.write("Why do you open the study despite the advice?", "A rehearsal")
    hand.button("Open study and create draft on Prolific")
    hand.write("Type the amount to confirm", hand.page.inner_text("#sum-hint"))
    hand.button("Publish and spend")
    hand.sees("Study published.")


def everybody_answers(prolific: SimulatedProlific, base_url: str) -> None:
    """They take places on Prolific, answer here at the same time, and hand in their codes."""
    (recruiting,) = prolific.world.studies
    places = [prolific.world.arrive(recruiting) for _ in PEOPLE]
    world = World()

    def work(number: int, place: dict[str, str]) -> None:
        person = Person(number, STUDY, base_url, world, link=place["url"])
        person.arrive()
        person.take_seat()
        prolific.world.finish(place["submission"], person.finish(), seconds=600)

    with ThreadPoolExecutor(len(PEOPLE)) as pool:
        list(pool.map(work, PEOPLE, places))


def run_judge(hand: Hand) -> None:
    hand.step = "Runs"
    hand.link("Judges")
    hand.link("New runs")
    hand.button("Estimate cost")
    hand.sees("1 run, 60 questions")
    hand.button("Send test question")
    hand.button("Start runs")
    hand.sees("60 of 60")


def watch(hand: Hand) -> None:
    hand.step = "Monitor"
    hand.link("Overview")
    hand.sees("60 of 60 answers")


def pay(hand: Hand) -> None:
    hand.step = "Approve and pay"
    hand.link("Annotators")
    hand.link("Approve and pay")
    hand.button("Refresh from Prolific")
    hand.button("Approve selected")
    hand.button("Approve 4 and pay $9.00")
    hand.sees("Approved: 4.")


def read_verdict(hand: Hand) -> None:
    hand.step = "Report"
    hand.link("Report")
    hand.button("Build report")
    hand.sees("Majority of people: correct on 100.0 % of 30 items")
    hand.sees("demo-steady: correct on")


def compare(hand: Hand) -> None:
    """Items on which people and model differ; the first of them with everybody's answers."""
    hand.step = "Disagreements"
    hand.link("Disagreements")
    hand.sees("Annotators right, judge wrong")


def export(hand: Hand) -> list[str]:
    """The names of the files in the export of everything."""
    hand.step = "Export"
    hand.link("Exports")
    hand.button("Create export")
    with hand.page.expect_download() as download:
        hand.link("Download")
    return zipfile.ZipFile(download.value.path()).namelist()


def test_a_file_becomes_a_verdict_without_a_command_line(prolific, stack, hand):
    first_account(hand, stack.run("-m", "manage", "account").stdout)
    create(hand)
    import_items(hand, foreign_file(stack.folder))
    add_checks(hand)
    set_quota(hand)
    enter_token(hand)
    add_judge(hand, stack.llm_url)
    launch_study(hand)
    everybody_answers(prolific, stack.base_url)
    run_judge(hand)
    watch(hand)
    pay(hand)
    read_verdict(hand)
    compare(hand)
    files = export(hand)

    assert [s.status for s in prolific.world.submissions.values()] == ["APPROVED"] * len(PEOPLE)
    assert {"annotations.csv", "judgments.csv"} <= {name.rsplit("/", 1)[-1] for name in files}
    assert hand.counted() == documented()
    # The way that costs money, from the file to paid people, and everything after it.
    to_pay = list(hand.clicks)[: list(hand.clicks).index("Approve and pay") + 1]
    assert sum(hand.clicks[step] for step in to_pay) <= 45
    assert sum(hand.fields[step] for step in to_pay) <= 25
    assert len([step for step, _ in hand.pages if step in to_pay]) <= 35


def documented() -> dict[str, tuple[int, int]]:
    """Clicks and fields of each step in docs/workbench.md."""
    text = (ROOT / "docs" / "workbench.md").read_text("utf-8")
    rows = re.findall(r"^\| \d+ \| ([^|]+?) \|.*\| (\d+) \| (\d+) \|$", text, re.MULTILINE)
    return {step: (int(clicks), int(fields)) for step, clicks, fields in rows}
