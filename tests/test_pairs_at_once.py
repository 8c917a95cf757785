"""Every button that changes a study, pressed at the moment of each other one on the same object.

The buttons are found on the pages of a study, so a new page is tried without a line here. A pair
ends without a server error, and the doctor finds nothing afterwards.
"""

import itertools
import re
from collections.abc import Iterator
from functools import cache
from html import unescape
from typing import Any, NamedTuple

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, resolve, reverse

from annotation.content.comprehension import set_questions, standard_questions
from annotation.seats.quotas import Quota, QuotaQuestion, set_quotas
from judging.models import PromptTemplate
from judging.runs.campaigns import CampaignPlan, start_campaign
from studies.models import Membership, Study
from studies.pages.addressed import form_views, viewed
from studies.services.accounts.team import invite
from tests.extras import access
from tests.factories import make_item, make_items, make_study, walk_in
from tests.invariants import broken_invariants
from tests.judging.conftest import make_judge
from tests.sampling import examples, some
from tests.together import run_together

_serial = itertools.count(1)
SHARDS = 4
# What is typed into fields that are empty on the page.
TYPED = {
    "confirmation": "{slug}",
    "title": "A copy",
    "slug": "{slug}-copy",
    "identities_days": "30",
    "delete_on": "2099-01-01",
    "email": "a@example.org",
    "url": "https://example.org/hook",
    "name": "{slug}-name",
    "target-0": "3",
    "template": "{{{{ persona }}}} {{{{ question }}}} {{{{ response_a }}}} {{{{ response_b }}}} "
    "Answer [[A]] or [[B]].",
    "reason": "Wrong person.",
    "text": "A note.",
}
# Views that no button of this study reaches, and why.
LEFT_OUT = {
    "recruiting on Prolific, tried with the simulated one": r"people:prolific",
    "a file that is uploaded": r"studies:import",
    "asks a model at once": r"judging:judge test",
    "changes nothing": r"people:text-preview|studies:providers decide",
    "needs data that this study does not have": r"people:invitations|"
    r"judging:(extend|run structured)|"
    r"exports:(delete|list (again|stale))|"
    r"people:(list release|person|faulty-items)|studies:(items|team remove|team-hand-over)|"
    r"analysis:",
    "needs data of an extra": "|".join(filter(None, (each.NEEDS_DATA for each in access()))) or "$",
}


class Button(NamedTuple):
    """The button of a form: the page it is on, what it changes, and which of the forms it is.

    `view` is the name of an address, with what the field `action` says where forms have own views.

    `stage` is how far the study is: 0 with items, 1 with a run of a judge, 2 with an annotator.
    """

    stage: int
    page: str
    view: str
    form: int
    name: str
    value: str


def patterns(found: Any = None, space: str = "") -> Iterator[tuple[str, URLPattern]]:
    for pattern in get_resolver().url_patterns if found is None else found:
        if isinstance(pattern, URLResolver):
            yield from patterns(pattern.url_patterns, pattern.namespace or space)
        elif pattern.name:
            yield f"{space}:{pattern.name}", pattern


def world(stage: int) -> tuple[Study, dict[str, Any]]:
    """A study with one of each object; the arguments of its addresses."""
    number = next(_serial)
    study = make_study(slug=f"pair{number}", state="draft", items_per_annotator=4)
    make_items(study, 6)
    make_item(study=study, key="one")
    question = QuotaQuestion("gender", "Gender?", {"woman": "Woman", "man": "Man"})
    set_quotas(study_id=study.pk, questions=[question], groups=[Quota(9, {"gender": "woman"})])
    set_questions(study_id=study.pk, questions=standard_questions(study))
    wording = PromptTemplate.objects.create(
        study=study, name="w", setting="standard", version=1, template="Choose."
    )
    viewer = User.objects.create_user(f"viewer{number}")
    Membership.objects.create(user=viewer, study=study, role="viewer")
    invite(study_id=study.pk, role="viewer", by=User.objects.create_superuser(f"boss{number}"))
    judge = make_judge(name=f"judge{number}", base_url="http://127.0.0.1:9/v1")
    free = make_judge(name=f"free{number}", base_url="http://127.0.0.1:9/v1")
    arguments = {
        "slug": study.slug,
        "key": "one",
        "wording_id": wording.public_id,
        "judge_id": free.pk,
    }
    if stage > 0:
        plan = CampaignPlan(name="Campaign 1", judges=[judge.name], limit=2)
        campaign = start_campaign(study_id=study.pk, plan=plan, enqueue=False)
        arguments["run_id"] = campaign.runs.get().public_id
        arguments["campaign_id"] = campaign.public_id
    if stage > 1:
        Study.objects.filter(pk=study.pk).update(state="open")
        walk_in(study, gender="woman")
        Study.objects.filter(pk=study.pk).update(state="paused")
    return study, arguments


def users(study: Study) -> list[Client]:
    found = []
    for number in range(2):
        user = User.objects.create_superuser(f"{study.slug}-{number}")
        Membership.objects.create(user=user, study=study, role="owner")
        client = Client(raise_request_exception=False)
        client.force_login(user)
        found.append(client)
    return found


def forms(page: str) -> Iterator[tuple[str, dict[str, list[str]], list[tuple[str, str]]]]:
    """Each form of a page that posts: its address, what is in its fields, and its buttons."""
    for head, body in re.findall(r"<form\b([^>]*)>(.*?)</form>", page, re.S):
        if 'method="post"' not in head:
            continue
        fields: dict[str, list[str]] = {}
        buttons = []
        for kind, tag, inner in re.findall(
            r"<(input|button)\b([^>]*)>|<(?:textarea|select)\b([^>]*>.*?)</(?:textarea|select)>",
            body,
            re.S,
        ):
            name = re.search(r'\bname="([^"]*)"', tag or inner.partition(">")[0])
            value = re.search(r'\bvalue="([^"]*)"', tag)
            if kind == "button":
                buttons.append((name[1] if name else "", unescape(value[1]) if value else ""))
            elif name and inner:
                text = inner.partition(">")[2]
                chosen = re.search(r'value="([^"]*)"[^>]*selected', text)
                is_select = "<option" in text
                fields.setdefault(name[1], []).append(
                    unescape(chosen[1] if chosen else "" if is_select else text)
                )
            elif name and not (re.search('type="(radio|checkbox)"', tag) and " checked" not in tag):
                fields.setdefault(name[1], []).append(unescape(value[1]) if value else "")
        action = re.search(r'action="([^"]*)"', head)
        yield unescape(action[1]) if action else "", fields, buttons or [("", "")]


@cache
def all_buttons() -> list[Button]:
    """Every button of a study in each of its stages."""
    return [one for stage in range(3) for one in _buttons(stage)]


def _buttons(stage: int) -> list[Button]:
    study, arguments = world(stage)
    client = users(study)[0]
    found: dict[tuple[str, str, str], Button] = {}
    for name, pattern in patterns():
        wanted = set(pattern.pattern.converters) | set(
            getattr(getattr(pattern.pattern, "regex", None), "groupindex", {})
        )
        wanted |= {"slug"}
        if not wanted <= set(arguments) or name.startswith(("annotation:", "api", ":")):
            continue
        try:
            page = reverse(name, kwargs={key: arguments[key] for key in wanted})
        except Exception:  # noqa: BLE001  an address of something else
            continue
        if not page.startswith("/studies/"):
            continue
        answer = client.get(page)
        if answer.status_code != 200 or answer.streaming:
            continue
        for number, (address, fields, buttons) in enumerate(forms(answer.content.decode())):
            try:
                match = resolve(re.split("[?#]", address)[0] or page)
            except Exception:  # noqa: BLE001  a form of something else
                continue
            for label, value in buttons:
                action = value if label == "action" else fields.get("action", [""])[-1]
                view = match.view_name
                if action in form_views(match.func):
                    view = f"{view} {action}"
                # The same button of several rows is tried once.
                button = Button(stage, name, view, number, label, value)
                found.setdefault((view, label, value), button)
    return [one for one in found.values() if not _reason(one.view)]


def _reason(view: str) -> str:
    reasons = [LEFT_OUT, *(each.LEFT_OUT for each in access())]
    found = (why for each in reasons for why, names in each.items() if re.match(names, view))
    return next(found, "")


def press(client: Client, button: Button, arguments: dict[str, Any]) -> Any:
    """What a press on the button sends, as its page is now; nothing if it is no longer there."""
    wanted = {"slug", *_needs(button.page)}
    page = reverse(button.page, kwargs={key: arguments[key] for key in wanted})
    shown = list(forms(client.get(page).content.decode()))
    if button.form >= len(shown):
        return None
    action, fields, _ = shown[button.form]
    for name, text in TYPED.items():
        if fields.get(name) == [""]:
            fields[name] = [text.format(slug=arguments["slug"])]
    if button.name:
        fields[button.name] = [button.value]
    return lambda: client.post(action.partition("#")[0] or page, fields)


def _needs(name: str) -> set[str]:
    return set(dict(patterns())[name].pattern.converters)


def check(pair: tuple[Button, Button]) -> list[str]:
    """Press both at once on a new study, and return what is wrong then."""
    study, arguments = world(pair[0].stage)
    clients = users(study)
    presses = [press(client, one, arguments) for client, one in zip(clients, pair, strict=True)]
    if not all(presses):
        return []
    answers: dict[int, int] = {}
    errors = run_together(lambda n: answers.update({n: presses[n]().status_code}), [0, 1])
    wrong = [f"{error!r}" for error in errors]
    wrong += [f"{pair[n].view} answers {code}" for n, code in answers.items() if code >= 500]
    wrong += broken_invariants("annotator_checks", "judge_checks")
    return wrong


@pytest.fixture
def quiet(monkeypatch, settings):
    """Nothing is sent to workers."""
    settings.JUDGE_HOSTS = ["127.0.0.1"]
    monkeypatch.setattr("celery.app.task.Task.apply_async", lambda *_, **__: None)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("shard", range(SHARDS))
def test_two_buttons_at_once_harm_nothing(shard, quiet):
    buttons = all_buttons()
    first = {(one.stage, one.view): one for one in reversed(buttons)}.values()
    pairs = [(one, one) for one in buttons]
    pairs += [
        (one, other) for one, other in itertools.combinations(first, 2) if one.stage == other.stage
    ]

    for pair in some(pairs[shard::SHARDS], keep=3) * examples(1, every=5):
        assert check(pair) == [], pair


@pytest.mark.django_db
def test_every_view_that_changes_a_study_is_tried_or_left_out_for_a_reason(quiet):
    tried = {button.view for button in all_buttons()}

    missing = [
        names
        for names in _changing()
        if not any(name in tried or _reason(name) for name in names)
        and not names[0].startswith((":", "annotation:", "administration:"))
        and names[0] != "studies:new"
    ]
    assert not missing


def _changing() -> Iterator[list[str]]:
    """The views that take a POST by their names; of one for forms, all that `action` may say."""
    for name, pattern in patterns():
        if "POST" in _methods(viewed(pattern.callback)):
            yield [name]
        actions: dict[Any, list[str]] = {}
        for action, form in form_views(pattern.callback).items():
            actions.setdefault(form, []).append(f"{name} {action}")
        yield from actions.values()


def _methods(view: Any) -> set[str]:
    while view is not None:
        for cell in getattr(view, "__closure__", None) or ():
            found = cell.cell_contents
            if (
                isinstance(found, (list, tuple))
                and found
                and all(isinstance(one, str) and one.isupper() for one in found)
            ):
                return set(found)
        view = getattr(view, "__wrapped__", None)
    return set()
