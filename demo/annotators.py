"""Simulated annotators, who answer through the study's real pages.

They read the page, find persona, question and replies in the text bank, and give their answer from
the truth model. They follow the instructions and pass attention checks. They have no access to the
database.
"""

import hashlib
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

from django.core.signing import BadSignature

from annotation.models import Assignment
from annotation.participants.forms import assignment_token, read_assignment_token
from demo.browser import Browser, Form, Page
from demo.planted import BEHAVIOURS, DROP_OUT_AT, active_ms, planted_answer, signals
from demo.truth import Answer, DemoItem, World, uniform

# The quota grid, gender × politics, with the annotators who fill its thirty places.
QUOTA: tuple[tuple[dict[str, str], int], ...] = (
    ({"gender": "woman", "politics": "democrat"}, 7),
    ({"gender": "woman", "politics": "republican"}, 6),
    ({"gender": "man", "politics": "democrat"}, 6),
    ({"gender": "man", "politics": "republican"}, 7),
)
EVERYONE_ELSE = 4
_OTHERS = (
    {"gender": "non_binary", "politics": "democrat"},
    {"gender": "woman", "politics": "independent"},
    {"gender": "man", "politics": "independent"},
    {"gender": "man", "politics": "prefer_not_to_say"},
)
TIE_ANNOTATORS = range(101, 107)  # six annotators × 12 items = 24 true ties × 3
PHONE_SHARE = 0.4
PHONE = "Mozilla/5.0 (simulated; Mobile)"
DESKTOP = "Mozilla/5.0 (simulated)"
PREFERS_NOT_TO_SAY = "prefer_not_to_say"

# Right answers to the comprehension questions on the standard instructions.
UNDERSTOOD = {
    "The one that fits the person in the profile",
    "I choose my best guess and give a low number",
    "I choose my best guess",
    "I choose “No clear difference”",
    "Yes, until I finish",
    "No, guessing from the profile is the task",
    "I skip it under “Help”, which costs me nothing",
}
PRACTICE = {"choice": "a", "certainty": "60"}
CHECK_CERTAINTY = "100"

_BEFORE_ITEMS = ("instructions", "quiz", "practice")
_STARTS_ITEMS = "Start with the first item"

_CHECK = re.compile(r"choose the response that begins with “(\w+)”")
_LOOKS = 24
_CODE = re.compile(r"\b[A-Z0-9]{6,20}\b")


class UnexpectedPage(RuntimeError):
    """The study showed a page that a simulated annotator cannot answer."""


def attributes(number: int) -> dict[str, str]:
    """The annotator's (from 1) data about themselves; 1-30 fill the quota grid exactly."""
    people = [criteria for criteria, places in QUOTA for _ in range(places)] + list(_OTHERS)
    return people[(number - 1) % len(people)]


@dataclass
class Acknowledged:
    """An answer that the server has confirmed as stored."""

    item: str
    choice: str
    certainty: int | None


def participant_id(name: str) -> str:
    """An id in Prolific's format, always the same for `name`."""
    return hashlib.sha256(name.encode()).hexdigest()[:24]


def pseudonym(number: int) -> str:
    return f"simulated-{number:03}"


@dataclass
class SimulatedAnnotator:
    """One simulated annotator in one study, with their `link` if a platform gave them one.

    With `planted` some behave badly on purpose.
    """

    number: int
    slug: str
    base_url: str
    world: World
    link: str = ""
    planted: bool = False
    on_answer: Callable[[], None] = lambda: None
    acknowledged: list[Acknowledged] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.phone = uniform(self.world.seed, "phone", self.number) < PHONE_SHARE
        self._browser = Browser(self.base_url, user_agent=PHONE if self.phone else DESKTOP)

    @property
    def pid(self) -> str:
        return self._ids["PROLIFIC_PID"]

    @property
    def session(self) -> str:
        return self._ids["SESSION_ID"]

    @property
    def _ids(self) -> dict[str, str]:
        if self.link:
            return {name: values[0] for name, values in parse_qs(urlsplit(self.link).query).items()}
        return {
            "PROLIFIC_PID": pseudonym(self.number),
            "STUDY_ID": "simulated-study",
            "SESSION_ID": f"simulated-session-{self.number}",
        }

    def arrive(self) -> None:
        """Enter and proceed to the instructions, or to the page where an earlier visit ended."""
        page = self._browser.get(f"/s/{self.slug}/", **self._ids)
        while page.step in ("consent", "about"):
            page = self._pass(page)
        self._page = page

    def prepare(self) -> None:
        """Proceed to the last page before the items, through comprehension check and practice."""
        while self._page.step in _BEFORE_ITEMS and _STARTS_ITEMS not in self._page.texts:
            self._page = self._pass(self._page)

    def take_seat(self) -> None:
        """Proceed to the items, where this annotator gets seats."""
        self.prepare()
        while self._page.step in _BEFORE_ITEMS:
            self._page = self._pass(self._page)

    def answer_some(self, count: int) -> None:
        """Answer `count` items and stop there."""
        for _ in range(count):
            self._page = self._pass(self._page)

    def continue_late(self) -> None:
        """Continue after a time-out, as the ending's page offers."""
        page = self._browser.get(f"/s/{self.slug}/task/")
        if page.step == "done" and "submit" in page.by_id:
            page = self._browser.get(self._go_on(page))
        self._page = page

    def finish(self) -> str:
        """Answer all remaining items and return the completion code; a drop-out has none."""
        page = self._page
        while page.step != "done" and not self._leaves():
            page = self._pass(page)
        # Where many finish at once, Prolific is asked about some of them a little later.
        for _ in range(_LOOKS):
            if "Look again" not in page.texts:
                break
            time.sleep(5)
            page = self._browser.get(page.url)
        self._page = page
        self._browser.close()
        return "" if self._leaves() else completion_code(page)

    def behaves(self, behaviour: str) -> bool:
        return self.planted and BEHAVIOURS[self.number] == behaviour

    def _leaves(self) -> bool:
        return self.behaves("drop_out") and len(self.acknowledged) == DROP_OUT_AT - 1

    def _pass(self, page: Page) -> Page:
        """Fill in the page and proceed to the next one."""
        step = {
            "consent": self._consent,
            "about": self._about,
            "instructions": self._go_on,
            "quiz": self._understand,
            "practice": self._practise,
            "task": self._answer,
            "feedback": self._go_on,
        }.get(page.step)
        if step is None:
            raise UnexpectedPage(f"annotator {self.number} does not know the page “{page.url}”")
        return self._browser.get(step(page))

    def _consent(self, page: Page) -> str:
        return self._browser.send(page.form_with("consent"), consent="yes")

    def _about(self, page: Page) -> str:
        form = next(form for form in page.forms if any(map(_is_attribute, form.options)))
        own = {f"attr_{key}": value for key, value in attributes(self.number).items()}
        answers = {
            name: own[name] if own.get(name) in values else PREFERS_NOT_TO_SAY
            for name, values in form.options.items()
            if _is_attribute(name)
        }
        return self._browser.send(form, **answers)

    def _go_on(self, page: Page) -> str:
        return self._browser.send(page.forms[-1])

    def _understand(self, page: Page) -> str:
        form = page.form_with("answer")
        options = form.options["answer"]
        right = [value for value in options if page.labels.get(f"answer-{value}") in UNDERSTOOD]
        if len(right) != 1:
            raise UnexpectedPage(f"{page.url} has {len(right)} answers that follow instructions")
        return self._browser.send(form, answer=right[0])

    def _practise(self, page: Page) -> str:
        for form in page.forms:
            if "understood" in form.options:
                return self._browser.send(form, understood=form.options["understood"][0])
        form = page.form_with("choice")
        return self._browser.send(form, **{k: v for k, v in PRACTICE.items() if _asks(form, k)})

    def _take_time(self, form: Form, name: str) -> dict[str, str]:
        """The time that the annotator takes.

        The page is backdated by it, so nobody waits. A server with another key uses its own clock
        and counts real time.
        """
        spent = active_ms(self.world, self.number, name, planted=self.planted)
        counted = {}
        if "signals" in form.fields:
            counted["signals"] = signals(
                self.world, self.number, name, phone=self.phone, planted=self.planted
            )
        try:
            token = read_assignment_token(form.fields["assignment"])
        except BadSignature:
            return {"active_ms": str(spent), **counted}
        assignment = Assignment(pk=token.assignment_id, annotator_id=token.annotator_id)
        shown_at = token.shown_at - timedelta(milliseconds=spent)
        return {
            "assignment": assignment_token(
                assignment, shown_at=shown_at, earlier_ms=token.earlier_ms
            ),
            "active_ms": str(spent),
            **counted,
        }

    def _answer(self, page: Page) -> str:
        if check := _CHECK.search(" ".join(page.texts)):
            return self._pass_check(page, check[1])
        form = page.form_with("choice")
        item, first = recognise(self.world, page)
        if self.planted:
            answer = planted_answer(self.world, self.number, item.id, first)
        else:
            answer = self.world.answer(self.number, item.id, first)
        fields = {
            "choice": _as_displayed(answer, first),
            **self._take_time(form, item.id),
        }
        if answer.certainty is not None:
            fields["certainty"] = str(answer.certainty)
        _require(form, answer)
        target = self._browser.send(form, **fields)
        self.acknowledged.append(Acknowledged(item.id, answer.choice, answer.certainty))
        self.on_answer()
        return target

    def _pass_check(self, page: Page, word: str) -> str:
        """Follow the instruction of an attention check, unless this annotator never reads one."""
        told = "a" if page.by_id["text-a"].startswith(word) else "b"
        form = page.form_with("choice")
        fields = {
            "choice": {"a": "b", "b": "a"}[told] if self.behaves("inattentive") else told,
            "certainty": CHECK_CERTAINTY,
            **self._take_time(form, f"check {word}"),
        }
        return self._browser.send(form, **{k: v for k, v in fields.items() if _asks(form, k)})


def recognise(world: World, page: Page) -> tuple[DemoItem, str]:
    """The item that the page shows, and the reply (r1 or r2) on side A."""
    texts, text = set(page.texts), " ".join(page.texts)
    matches = [
        item
        for item in world.by_id.values()
        if item.topic.question in text
        and all(
            feature["text"] in texts or feature["value"] in texts
            for feature in world.profile(item.person)
        )
    ]
    if len(matches) != 1:
        raise UnexpectedPage(f"{page.url} shows {len(matches)} items of the text bank, not one")
    in_a = [reply in page.by_id.get("text-a", "") for reply in matches[0].topic.replies]
    if sum(in_a) != 1:
        raise UnexpectedPage(f"{page.url} does not show one reply on side A")
    return matches[0], "r1" if in_a[0] else "r2"


def completion_code(page: Page) -> str:
    """The code on the page of an ending. Raises `UnexpectedPage` when it shows none."""
    code = _CODE.search(page.code)
    if code is None:
        raise UnexpectedPage(f"{page.url} shows no completion code")
    return code[0]


def _as_displayed(answer: Answer, first: str) -> str:
    if answer.choice == "tie":
        return "tie"
    return "a" if answer.choice == first else "b"


def _require(form: Form, answer: Answer) -> None:
    """Stop if the page does not offer what the answer needs."""
    wanted = {"a", "b", *(["tie"] if answer.choice == "tie" else [])}
    if not wanted <= set(form.options["choice"]):
        raise UnexpectedPage(f"{form.action} offers {form.options['choice']}, not {wanted}")
    if answer.certainty is not None and "certainty" not in form.fields:
        raise UnexpectedPage(f"{form.action} asks for no certainty")


def _asks(form: Form, name: str) -> bool:
    return name in form.fields or name in form.options


def _is_attribute(name: str) -> bool:
    return name.startswith("attr_")
