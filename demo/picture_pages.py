"""All pages in order, for screenshots: each generator opens a page and yields its name."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from demo.annotators import UNDERSTOOD

if TYPE_CHECKING:
    from playwright.sync_api import Page

STUDY = "everyday-choices"
_PATIENCE_MS = 300_000  # of a worker on a busy machine
_ENDINGS = ("decline", "time_out", "mark_returned", "reject", "withdraw")


def participant_pages(page: "Page", person: str) -> Iterator[str]:
    """The pages from the link to the code, then the other endings."""
    from annotation import services
    from annotation.models import Annotator, Assignment, ProlificIdentity
    from demo.annotators import participant_id
    from studies.models import Study

    page.goto(f"/s/{STUDY}/")
    yield "no-id"
    _enter(page, person)
    yield "consent"
    page.goto(f"/s/{STUDY}/consent/copy/")
    yield "consent-copy"
    page.goto(f"/s/{STUDY}/consent/")
    page.click("#consent-yes")
    page.wait_for_url("**/about/")
    yield "about-you"
    page.check("#attr_gender-0")
    page.check("#attr_politics-0")
    page.click("#submit")
    page.wait_for_url("**/instructions/")
    yield "instructions"
    annotator = Annotator.objects.get(prolific_identity__pid=participant_id(person))
    page.click("#submit")
    page.wait_for_url(lambda url: not url.endswith("/instructions/"))
    number = 0
    while "/task/" not in page.url:
        number += 1
        name = page.url.rstrip("/").split(f"/{STUDY}/")[1].replace("/", "-")
        yield f"check-{number}-{name.split('-')[0]}"
        _pass_on(page)
    yield "task-untouched"
    page.click("#submit")
    page.wait_for_selector(".error-summary")
    yield "task-error"
    page.goto(f"/s/{STUDY}/task/")
    page.check("#choice-b")
    page.fill("#certainty", "72")
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    size = page.viewport_size
    assert size  # noqa: S101 - every picture has a size
    page.set_viewport_size({"width": size["width"], "height": 1040})
    yield "task-page"
    page.set_viewport_size(size)
    page.click("[data-opens=help]")
    yield "help-sheet"
    page.keyboard.press("Escape")
    item = Assignment.objects.get(annotator=annotator, position=1).item
    item.warnings = ["illness of a close relative"]
    item.save(update_fields=["warnings"])
    page.evaluate("localStorage.clear()")
    page.goto(f"/s/{STUDY}/task/")
    yield "task-warning"
    for side_page in ("pause", "help", "withdraw"):
        page.goto(f"/s/{STUDY}/{side_page}/")
        yield side_page
    for assignment in annotator.assignments.all():
        entered = services.EnteredAnswer(choice="a", certainty=61)
        services.record_answer(annotator=annotator, assignment_id=assignment.pk, entered=entered)
    # Prolific would know somebody who came by its link.
    known = {"is_signed": True, "unknown_since": None}
    ProlificIdentity.objects.filter(annotator=annotator).update(**known)
    page.goto(f"/s/{STUDY}/feedback/")
    yield "feedback"
    page.click("#submit")
    page.wait_for_url("**/done/")
    yield "ending-completed"
    for ending in _ENDINGS:
        page.context.clear_cookies()
        _enter(page, f"{person}-{ending}")
        left = Annotator.objects.get(prolific_identity__pid=participant_id(f"{person}-{ending}"))
        getattr(services, ending)(annotator_id=left.pk)
        page.goto(f"/s/{STUDY}/done/")
        yield f"ending-{ending.replace('_', '-')}"
    page.context.clear_cookies()
    _enter(page, f"{person}-stopped")
    for ending in ("quota_full", "disqualified"):
        Annotator.objects.filter(prolific_identity__pid=participant_id(f"{person}-stopped")).update(
            state=ending
        )
        page.goto(f"/s/{STUDY}/done/")
        yield f"ending-{ending.replace('_', '-')}"
    page.context.clear_cookies()
    study = Study.objects.filter(slug=STUDY)
    for state in ("paused", "closed"):
        study.update(state=state)
        _enter(page, f"{person}-late")
        yield f"study-{state}"
    study.update(state="open", entry="link")
    page.goto(f"/s/{STUDY}/")
    yield "start"
    study.update(entry="prolific")


def researcher_pages(page: "Page", password: str) -> Iterator[str]:
    """The pages from signing in to the report."""
    page.goto("/accounts/login/")
    yield "sign-in"
    page.fill("#id_username", "demo")
    page.fill("#id_password", password)
    page.click("main button[type=submit]")
    yield "studies"
    page.goto("/studies/new/?preset=paper")
    yield "study-new"
    page.goto("/admin/components/")
    yield "components"
    page.goto(f"/studies/{_draft()}/")
    yield "study-setup"
    page.goto(f"/studies/{_draft()}/launch/")
    yield "study-launch"
    page.goto(f"/studies/{STUDY}/")
    yield "study"
    page.goto(f"/studies/{STUDY}/settings/")
    yield "study-settings"
    for path, name in (
        ("items/", "items"),
        ("import/", "import"),
        ("people/", "people"),
        ("people/places/", "places"),
        ("people/codes/", "codes"),
        ("people/checks/", "checks"),
        ("people/preview/", "preview"),
        ("people/preview/attention/", "preview-attention"),
        ("people/prolific/", "prolific"),
        ("people/prolific/plan/", "prolific-plan"),
        ("people/prolific/settle/", "prolific-settle"),
        ("people/prolific/bonuses/", "prolific-bonuses"),
        ("reports/", "reports"),
        ("reports/plan/", "report-plan"),
        ("exports/", "exports"),
        ("judges/", "judges"),
        ("judges/new/", "judges-ask"),
        ("judges/available/", "judges-available"),
        ("judges/available/add/", "judge-add"),
        ("disagreements/", "disagreements"),
        ("team/", "team"),
        ("activity/", "activity"),
        ("reports/annotators/", "annotators-and-judges"),
    ):
        page.goto(f"/studies/{STUDY}/{path}")
        yield name
    page.click("tbody a")
    yield "annotator"
    page.goto(f"/studies/{STUDY}/items/?split=main")
    page.click("tbody a")
    yield "item"
    page.goto(f"/studies/{STUDY}/judges/panel/")
    page.click("tbody a")
    yield "judge-run"
    page.goto(page.url.rstrip("/") + "/extend/")
    yield "judge-run-extend"
    yield from _deciding_pages(page)
    page.goto(f"/studies/{STUDY}/reports/")
    page.click("tbody a")
    yield "report-in-app"
    page.goto(page.url.rstrip("/") + "/report.html")
    yield "report"
    for section in ("certainty", "agreement"):
        page.locator(f"section#{section} > details > summary").click()
        page.locator(f"section#{section}").evaluate("element => element.scrollIntoView()")
        yield f"report-{section}"


def _deciding_pages(page: "Page") -> Iterator[str]:
    """Which items people and judges get."""
    page.goto(f"/studies/{STUDY}/reports/draw/")
    yield "items-for-annotators"


def _draft() -> str:
    """The short name of a study that is being set up."""
    from studies.models import Membership, Study
    from studies.services.studies import create_study

    if not Study.objects.filter(slug="new-study").exists():
        owner = Membership.objects.filter(study__slug=STUDY, role="owner").earliest("pk").user
        title = "Which reply would they prefer?"
        create_study(slug="new-study", owner=owner, title=title, contact="ada@example.org")
    return "new-study"


def _enter(page: "Page", person: str) -> None:
    from demo.annotators import participant_id

    pid = participant_id(person)
    page.goto(f"/s/{STUDY}/?PROLIFIC_PID={pid}&STUDY_ID={pid}&SESSION_ID={pid}")


def _pass_on(page: "Page") -> None:
    """Answer a comprehension question correctly, or a practice item arbitrarily, and continue."""
    if page.locator("[name=choice]").count():
        page.locator("[name=choice]").first.check()
    if page.locator("#certainty:visible").count():
        page.fill("#certainty", "60")
    for label in page.locator("label.option").all():
        if label.inner_text().strip() in UNDERSTOOD:
            label.click()
    page.click("#submit")
    page.wait_for_load_state()
