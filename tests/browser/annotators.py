"""What the browser tests of the participants' pages share."""

from playwright.sync_api import Page

from annotation.content.comprehension import set_questions, standard_questions
from annotation.models import DemographicQuestion, QuotaGroup
from studies.models import Study
from tests.annotation.pages.walking import start
from tests.factories import make_item, make_persona, make_study

PERSONA = [
    ("age", "Age", "35–44", "The person is 35–44 years old."),
    ("sex", "Sex", "Female", "The person is female."),
    ("residence", "Lives in", "Spain", "The person lives in Spain."),
    ("work", "Work", "Full-time", "The person works full-time."),
    ("education", "Education", "Bachelor’s degree", "The person has a bachelor’s degree."),
    ("marital", "Marital status", "Married", "The person is married."),
    ("religion", "Religion", "None", "The person has no religion."),
    ("hobby", "Free time", "Repairs old bicycles", "The person repairs old bicycles."),
]
CYCLE = (
    "Take the river path by bicycle: it is flat and quiet, and there are racks at the station. "
    "You will need about twenty-five minutes, whatever the traffic does, and you arrive awake. "
    "In winter, lights and a good jacket are enough."
)
CAR = (
    "Drive, and leave before seven: the ring road is still empty then and you will park without "
    "a search. Keep a podcast ready for the way back, which takes longer. If two colleagues live "
    "near you, share the car and the cost."
)


def make_everyday_study(*, items: int = 3, **overrides) -> Study:
    """A study that looks like a real one."""
    study = make_study(
        **{
            "title": "Everyday choices",
            "items_per_annotator": items,
            "contact": "study@example.org",
            "persona_style": "facts",
        }
        | overrides
    )
    features = [{"key": k, "label": n, "value": v, "text": t} for k, n, v, t in PERSONA]
    for _ in range(items):
        make_item(
            study=study,
            persona=make_persona(study=study, features=features),
            question="What is the best way to get to work across town?",
            r1={"text": CYCLE},
            r2={"text": CAR},
        )
    return study


def add_quota(study: Study) -> None:
    """Two questions about the person, and room for everybody."""
    for position, (key, label, options) in enumerate(
        [
            ("gender", "What is your gender?", ["Woman", "Man", "Non-binary"]),
            ("politics", "Which party do you lean to?", ["Democrat", "Republican", "Independent"]),
        ]
    ):
        DemographicQuestion.objects.create(
            study=study,
            key=key,
            label=label,
            position=position,
            options=[{"value": option.lower(), "label": option} for option in options],
        )
    QuotaGroup.objects.create(study=study, is_everyone_else=True, target=1000)


def add_checks(study: Study) -> None:
    """One question on the instructions, and one item to try."""
    set_questions(study_id=study.pk, questions=standard_questions(study)[:1])
    example = study.all_items.first()
    make_item(
        study=study,
        split="practice",
        key="try",
        persona=example.persona,
        r1=example.r1,
        r2=example.r2,
    )


def enter(page: Page, study: Study, pid: str = "5f1d3b2c4a6e7d8091a2b3c4") -> None:
    page.goto(f"/s/{study.slug}/?PROLIFIC_PID={pid}&STUDY_ID=st1&SESSION_ID=se1")


def enter_items(page: Page, study: Study, pid: str = "5f1d3b2c4a6e7d8091a2b3c4") -> None:
    """Open the first item of a study that asks nothing about the person.

    The pages before it are sent without the browser, which takes a quarter of a second for each.
    """
    cookies = start(study, pid).cookies.values()
    page.context.add_cookies(
        [
            {"name": one.key, "value": one.value, "domain": "localhost", "path": "/"}
            for one in cookies
        ]
    )
    page.goto(f"/s/{study.slug}/task/1/")


def press_until(page: Page, wanted: str, *keys: str, limit: int = 40) -> None:
    """Tab to the control with id `wanted`, then press `keys`."""
    for _ in range(limit):
        if page.evaluate("document.activeElement.id") == wanted:
            for key in keys:
                page.keyboard.press(key)
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{wanted} was not reached on {page.url}")
