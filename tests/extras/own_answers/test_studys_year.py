"""A study's year in Chromium, on the simulated Prolific: what each page does meets the others.

From the launch under a frozen plan to the closing of the account that ran it.
"""

import json
import re
import zipfile
from hashlib import sha256

import pytest
from django.contrib.auth.models import Permission, User
from django.core.management import call_command, get_commands
from django.test import Client
from django.urls import reverse

from analysis.exports.study_export import write_queued
from analysis.lifecycle.build_job import build_queued
from analysis.models import Report
from annotation.models import Annotation, Annotator, Ending, ProlificStudy
from annotation.prolific.sync.polling import follow_all
from annotation.seats.flow import code_for
from judging.models import JudgeRun
from judging.runs.study_content import ledger_use
from studies.models import Item, Membership, Study
from tests.analysis.builders import judge_item, make_run
from tests.annotation.prolific.conftest import prolific  # noqa: F401  a fixture
from tests.annotation.prolific.life import make_recruiting, time_to_read
from tests.invariants import broken_invariants
from tests.stored import everywhere

for needed in ("extras.privacy", "extras.prolific_tools"):
    pytest.importorskip(needed)
share_links = pytest.importorskip("extras.report_readers.models")
# With --all: less than a minute in Chromium.
pytestmark = [
    pytest.mark.browser,
    pytest.mark.nightly,
    pytest.mark.django_db(transaction=True),
]
PEOPLE = 6  # fill 10 items × 3 answers, 5 items each


class Researcher:
    """A signed-in researcher at the pages of one study."""

    def __init__(self, page, live_server, name: str) -> None:
        client = Client()
        client.force_login(User.objects.get(username=name))
        cookie = {"name": "sessionid", "value": client.cookies["sessionid"].value}
        page.context.add_cookies([{**cookie, "url": live_server.url}])
        self.page = page

    def open(self, name: str, *args: object, query: str = "") -> None:
        self.page.goto(reverse(name, args=args or ["year"]) + query)

    def press(self, button: str, says: str = "") -> None:
        self.page.get_by_role("button", name=re.compile(button)).first.click()
        self.page.wait_for_load_state()
        if says:
            self.page.get_by_text(says).first.wait_for()

    def write(self, **fields: str) -> None:
        for name, text in fields.items():
            self.page.locator(f"[name={name}]").fill(text)

    def reads(self) -> str:
        return self.page.locator("main").inner_text()

    def publish(self, slug: str) -> ProlificStudy:
        self.open("studies:launch", slug)
        if (reason := self.page.get_by_label("Why do you open the study")).count():
            reason.fill("A trial.")
        self.press("Open study and create draft")
        self.page.wait_for_url("**/publish/")
        button = self.page.get_by_role("button", name=re.compile("Publish and spend"))
        amount = re.search(r"[\d.]+$", button.inner_text())
        self.page.get_by_label("Type the amount to confirm").fill(amount[0])
        self.press("Publish and spend", "ublished")
        return ProlificStudy.objects.get(study__slug=slug)

    def pay(self, slug: str) -> None:
        time_to_read()
        follow_all()
        self.open("people:prolific-settle", slug)
        self.press("Approve selected")
        self.press(r"Approve \d+ and pay", "Approvals requested")

    def build(self, button: str = "Build report") -> Report:
        """The report that a press asks for, as a worker builds it."""
        self.press(button)
        report = Report.objects.latest("number")
        build_queued(report_id=report.pk)
        report.refresh_from_db()
        assert report.state == Report.State.DONE, report.message
        return report


class Participant:
    """Somebody of Prolific in a browser of their own."""

    def __init__(self, open_page, prolific, row: ProlificStudy, who: str = "") -> None:  # noqa: F811
        self.prolific, self.row = prolific, row
        self.slug = row.study.slug
        arrived = prolific.world.arrive(str(row.prolific_id), *([who] if who else []))
        self.pid, self.session = arrived.get("participant", who), arrived["submission"]
        self.page = open_page()
        self.page.goto(
            f"/s/{self.slug}/?PROLIFIC_PID={self.pid}&STUDY_ID={row.prolific_id}"
            f"&SESSION_ID={self.session}"
        )

    @property
    def annotator(self) -> Annotator:
        return Annotator.objects.get(study=self.row.study, prolific_identity__pid=self.pid)

    def answer(self, limit: int = 9) -> None:
        """From wherever they are, until that many items are answered or the part is over."""
        answered = 0
        while "/done/" not in (at := self.page.url):
            if "/task/" in at:
                answered += 1
                self.page.check(f"#choice-{'ab'[answered % 2]}")
                self.page.fill("#certainty", "72")
            is_asked = self.page.locator("#consent-yes").count()
            self.page.click("#consent-yes" if is_asked else "#submit")
            self.page.wait_for_url(lambda url, at=at: url != at)
            if answered == limit:
                return

    def finish(self) -> None:
        self.answer()
        self.page.context.close()
        code = code_for(study_id=self.row.study_id, ending=Ending.COMPLETED)
        self.prolific.world.finish(self.session, code)


def year_study() -> Study:
    """Ada's study, which Bob edits, with a plan that was frozen before anything else."""
    texts = {
        "consent": "Take *part*.",
        "researchers": "Ada",
        "storage": "Here",
        "ethics": "Board 1",
    }
    study = make_recruiting(
        items=10, per_person=5, slug="year", entry="prolific", state="draft", **texts
    )
    for name, role in (("ada", Membership.Role.OWNER), ("bob", Membership.Role.EDITOR)):
        user = User.objects.create_user(name, first_name=name, last_name="Roe")
        Membership.objects.create(study=study, user=user, role=role)
    may_create = Permission.objects.get(codename="add_study")
    User.objects.get(username="ada").user_permissions.add(may_create)
    if "freeze_plan" in get_commands():
        options = {"analyses": "accuracy", "judge": ["one", "two"], "bootstrap": 100}
        call_command("freeze_plan", study.slug, **options)
    return study


def judged(study: Study, name: str) -> None:
    key = sha256(name.encode()).hexdigest()
    run = make_run(study=study, judge=name, key=key, prompt_hash="")
    for n, item in enumerate(Item.objects.filter(study=study).order_by("key")):
        judge_item(run, item, "r1" if n % 3 else "r2", 70)
    nano, tokens, retries = ledger_use(run.pk)
    JudgeRun.objects.filter(pk=run.pk).update(spent_nano=nano, tokens=tokens, retries=retries)


def correct_an_item(ada: Researcher, faulty: Item, folder) -> None:
    """Take the item out and import a corrected one by reference."""
    ada.open("people:faulty-items", query=f"?item={faulty.key}")
    ada.write(reason="Both responses say the same.")
    ada.press("Take out", f"{faulty.key} is out of the analysis.")
    row = {
        "id": "corrected",
        "persona": {"id": faulty.persona.key, "features": faulty.persona.features},
        "question": faulty.question,
        "responses": [{"text": "Walk."}, {"text": "Cycle."}],
        "replaces": faulty.key,
    }
    (folder / "corrected.jsonl").write_text(json.dumps(row))
    ada.open("studies:import")
    ada.page.locator("input[type=file]").first.set_input_files(folder / "corrected.jsonl")
    ada.press("Import items", "Imported 1 item")


def amend_the_consent(ada: Researcher) -> None:
    ada.open("consents:versions")
    ada.write(consent="Take *part*. Data are kept for ten years.", note="The board asked for it.")
    ada.page.get_by_label("They read the new version").check()
    ada.press("Save new version", "1 person is asked again")


def find(ada: Researcher, words: str) -> str:
    ada.open("privacy:find")
    ada.write(ids=words)
    ada.page.locator("main").get_by_role("button", name="Find").click()
    ada.page.get_by_role("heading", name="Found").wait_for()
    return ada.reads()


def files_of(page) -> dict[str, bytes]:
    """The zip file that a share link offers, by path in it."""
    with page.expect_download() as download:
        page.get_by_role("link", name="Download all files").click()
    with zipfile.ZipFile(download.value.path()) as archive:
        return {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}


def test_a_year_of_a_study(prolific, open_page, live_server, settings, tmp_path):  # noqa: F811
    settings.VAR_DIR = tmp_path / "var"
    study = year_study()
    ada = Researcher(open_page(), live_server, "ada")

    # Launch, and people; one of them is under way when the item and the consent change.
    ada.open("people:prolific-plan")
    ada.page.get_by_label("Places", exact=True).fill(str(PEOPLE))
    ada.press("Save launch plan")
    row = ada.publish("year")
    people = [Participant(open_page, prolific, row) for _ in range(4)]
    for one in people[:3]:
        one.finish()
    people[3].answer(2)
    for name in ("one", "two"):
        judged(study, name)
    waiting = people[3].annotator.assignments.filter(annotation=None)
    shown = int(people[3].page.url.split("/")[-2])
    faulty = waiting.exclude(position=shown).first().item
    correct_an_item(ada, faulty, tmp_path)
    amend_the_consent(ada)
    people[3].answer(1)  # The page that was open.
    people[3].page.get_by_role("heading", name="The information has changed").wait_for()
    people[3].finish()
    people += [Participant(open_page, prolific, row) for _ in range(2)]
    for one in people[4:]:
        one.finish()
    ada.open("consents:versions")
    assert "3 people have agreed to it, 1 of them after an earlier version" in ada.reads()
    ada.pay("year")

    # A report with a link for blind review, an exclusion, a third judge, another report.
    ada.open("analysis:list")
    first = ada.build()
    ada.open("share_links:links", "year", first.public_id)
    ada.page.get_by_label("For blind review").check()
    ada.page.get_by_label("With all files").check()
    ada.press("Create share link")
    write_queued(export_id=share_links.ShareLink.objects.get().bundle.pk)
    link = re.search(r"/shared/[^\"<\s]+", ada.page.content())[0].replace("&amp;", "&")
    ada.open("people:person", query=f"?rater={people[0].annotator.pseudonym}")
    ada.page.get_by_label("Reason for the exclusion").fill("Answered in two seconds.")
    ada.press("Exclude from analysis", "is excluded from the analysis")
    judged(study, "three")
    ada.open("analysis:list")
    ada.build()

    # The reviewer asks for the excluded person, and for the report without another one.
    gone = people[1].annotator
    ada.open("analysis:view")
    ada.write(name="Reviewer 2", without_people=gone.pseudonym)
    ada.page.get_by_label("Count the people whom you excluded").check()
    view = ada.build("Build this view")
    assert view.result["view"]["filters"]["with_excluded"]
    bundle = tmp_path / "bundle"
    call_command("export", "year", what="all", out=bundle, licence="CC-BY-4.0")

    # A person's deletion, after all of that.
    words = [gone.pseudonym, people[1].pid, people[1].session]
    assert gone.pseudonym in find(ada, people[1].pid)
    ada.page.get_by_role("link", name=gone.pseudonym).click()
    ada.page.locator("#sure").check()
    ada.press("Delete this person", "5 answers to items and all other data")
    named = ada.reads()
    for copy in ("Report v1", "Link to report v1", "Report v2", "Report v3", "“all” by a command"):
        assert copy in named
    assert "Export “Everything for blind review" in named
    found = everywhere(words, settings.VAR_DIR)
    assert {each.partition(":")[0] for each in found} <= {"analysis.Report", "reports"}
    time_to_read()
    follow_all()
    assert everywhere(words, settings.VAR_DIR) == found
    ada.open("analysis:view", query=f"?without_people={gone.pseudonym}")
    assert "has no annotator" in ada.reads()
    ada.open("analysis:list")
    ada.build()
    ada.open("analysis:list")
    assert ada.reads().count("superseded") == 3

    # The list of deviations is the list of what was done, and nothing else.
    if "freeze_plan" in get_commands():
        ada.open("frozen_plans:deviations")
        done = (
            "1 person is excluded",
            f"1 item is taken out: {faulty.key}",
            "1 added: corrected",
            "5 answers of 1 person deleted",
            "three (certainty, all)",
            "other view",
            "1 asked again",
        )
        assert [what for what in done if what not in ada.reads()] == []
        assert ada.page.locator("section.panel").count() == len(done)

    # The next wave, with its own money.
    ada.open("own_people:waves")
    ada.press("Create draft", "The next wave is a draft")
    ada.press("Invite who completed", "Invited: 4.")
    second = ada.publish("year-2")
    for one in people[2:4]:
        Participant(open_page, prolific, second, one.pid).finish()
    ada.pay("year-2")
    came = Annotator.objects.filter(study__slug="year-2").values_list("pseudonym", flat=True)
    assert set(came) == {one.annotator.pseudonym for one in people[2:4]}
    asked = Annotation.objects.filter(assignment__annotator__study__slug="year-2")
    assert not asked.filter(assignment__item__key=faulty.key).exists()

    # The study changes hands with its wave, and the account of the first owner is closed.
    ada.open("studies:team-hand-over")
    assert "Link to report 1" in ada.reads()
    assert "(year-2)" in ada.reads()
    ada.page.get_by_label("New owner").select_option(label="bob (editor)")
    ada.press("Hand over", "The study was handed over")
    User.objects.create_superuser("carol")
    User.objects.filter(username="ada").update(is_active=False)
    carol = Researcher(open_page(), live_server, "carol")
    owners = Membership.objects.filter(role=Membership.Role.OWNER)
    assert dict(owners.values_list("study__slug", "user__username")) == {
        "year": "bob",
        "year-2": "bob",
    }
    reviewer = open_page()
    reviewer.goto(link)
    assert "The files are not available" in reviewer.inner_text("main")
    bob = Researcher(open_page(), live_server, "bob")
    bob.open("share_links:links", "year", first.public_id)
    bob.press("Write files again", "Waiting for a worker")
    write_queued(export_id=share_links.ShareLink.objects.get().bundle.pk)
    reviewer.reload()
    blind = files_of(reviewer)
    names = re.compile(rb"\b(Ada|ada|bob|Roe|lab@example\.org|Board 1)\b")
    assert not names.search(b"".join((reviewer.content().encode(), *blind.values())))
    bob.open("share_links:links", "year", first.public_id)
    bob.press("Reveal names", "shows the report with names now")
    reviewer.reload()
    assert "bob Roe" in reviewer.inner_text("main")
    named_files = files_of(reviewer)
    assert names.search(b"".join(named_files.values()))
    assert all(named_files[each] == blind[each] for each in blind if each.startswith("csv/"))

    # Every cent is the platform's, and nothing is out of order.
    for slug, number in (("year", 6), ("year-2", 2)):
        carol.open("prolific_tools:money", slug)
        carol.press("Refresh Prolific’s figures", "All known figures match")
        paid = carol.page.get_by_role("row", name=re.compile("Rewards paid"))
        assert paid.inner_text().count(f"${4.5 * number:.2f}") == 2
    total = sum(prolific.world.total_cost(450, n) for n in (6, 4))
    assert prolific.world.wallet("1" * 24) == 10_000_000 - total
    assert broken_invariants() == []
