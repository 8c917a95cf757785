"""The overview of a study: guided set-up, then a monitor; and its opening."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from studies.errors import OpeningRefused, StudyError
from studies.models import Item, Membership, Study
from studies.pages.listing import role_of, study_figures
from studies.pages.responses import LAUNCH
from studies.pages.workbench import (
    TASKS,
    MonitorCard,
    Need,
    SetupTask,
    TaskState,
    cards,
    launch_parts,
    launch_routes,
    needs,
    once,
    setup_tasks,
)
from studies.selectors import get_study
from studies.services.related_studies import related_to
from studies.services.studies import (
    LaunchCheck,
    StateNote,
    open_draft,
    opening_note,
    registered_checks,
    sort_checks,
)
from studies.services.studies import change_state as set_state_everywhere
from studies.services.whole_studies import planned

_MOST_URGENT = (TaskState.ATTENTION, TaskState.NOT_STARTED, TaskState.DONE)


@dataclass(frozen=True)
class Setup:
    """The tasks in their usual order, and the one that the page suggests next."""

    tasks: list[SetupTask]

    @property
    def needed(self) -> list[SetupTask]:
        """The tasks that are not optional."""
        return [task for task in self.tasks if not task.is_optional]

    @property
    def done(self) -> int:
        return sum(task.state == TaskState.DONE for task in self.needed)

    @property
    def next(self) -> SetupTask | None:
        return next((task for task in self.needed if task.state != TaskState.DONE), None)


def setup(study: Study) -> Setup:
    """One task for each key; of several, the one that needs most work."""
    all_tasks = list(setup_tasks.of(study))
    replaced = {key for task in all_tasks for key in task.instead_of}
    keys = [*TASKS]
    for task in all_tasks:
        if task.key not in keys:
            keys.insert(keys.index(task.after) + 1, task.key)
    tasks = []
    for key in (key for key in keys if key not in replaced):
        own = [task for task in all_tasks if task.key == key]
        if own:
            tasks.append(min(own, key=lambda task: _MOST_URGENT.index(task.state)))
    return Setup(tasks)


def study_tasks(study: Study) -> Iterator[SetupTask]:
    """The tasks about the items, and how annotators and judges are asked."""
    figures = study_figures(study)
    settings = reverse("studies:settings", args=[study.slug])
    yield _items(study, figures.items)
    yield SetupTask(
        "profile",
        "Person profile",
        TaskState.DONE if figures.personas else TaskState.NOT_STARTED,
        f"{figures.personas:,} persona{'' if figures.personas == 1 else 's'}, "
        f"shown as {study.get_persona_style_display()}"
        if figures.personas
        else "The personas come with the items",
        f"{settings}#id_persona_style" if figures.personas else _import(study),
    )
    certainty = "a certainty" if study.ask_certainty else "no certainty"
    tie = f", or “{study.get_tie_meaning_display()}”" if study.allow_tie else ""
    order = "; whole sets of responses are put in order" if study.shows_whole_sets else ""
    words = f"{study.get_task_display().capitalize()}: a choice and {certainty}{tie}{order}"
    yield SetupTask(
        "question", "Question and certainty", TaskState.DONE, words, f"{settings}#id_task"
    )
    yield _texts(study)
    ready = "Check everything, then open the study" if figures.items else "Import items first"
    launch = reverse("studies:launch", args=[study.slug])
    yield SetupTask("launch", "Launch", TaskState.NOT_STARTED, ready, launch)


def _import(study: Study) -> str:
    return reverse("studies:import", args=[study.slug])


def _items(study: Study, number: int) -> SetupTask:
    if not number:
        words = "Import a file or a data set"
        return SetupTask("items", "Items", TaskState.NOT_STARTED, words, _import(study))
    own = Item.objects.filter(study=study).exclude(first_person="").count()
    address = reverse("studies:items", args=[study.slug])
    if not own:
        words = f"{number:,} items, none with the persona’s own answer: accuracy cannot be computed"
        return SetupTask("items", "Items", TaskState.ATTENTION, words, address)
    words = f"{number:,} items, {own:,} with the persona’s own answer"
    return SetupTask("items", "Items", TaskState.DONE, words, address)


def _texts(study: Study) -> SetupTask:
    """Instructions have a default, but the consent text needs facts that only researchers know."""
    title = "Instructions, consent, debrief"
    facts = {
        "contact": ("a contact address", study.contact),
        "researchers": ("who runs the study", study.researchers or study.consent),
        "storage": ("where answers are kept", study.storage or study.consent),
        "ethics": ("the ethics approval", study.ethics or study.consent),
    }
    missing = {name: words for name, (words, value) in facts.items() if not value}
    texts = reverse("people:texts", args=[study.slug])
    if not missing:
        words = "Your own consent text" if study.consent else "The standard texts with your details"
        return SetupTask("texts", title, TaskState.DONE, words, texts)
    words = f"Not stated yet: {', '.join(missing.values())}"
    state = TaskState.NOT_STARTED if len(missing) == len(facts) else TaskState.ATTENTION
    return SetupTask("texts", title, state, words, f"{texts}#id_{next(iter(missing))}")


_TITLES = {
    "answers": "Answers",
    "quota": "Quota",
    "funnel": "Annotators",
    "coverage": "Items by number of answers",
    "judges": "Judges",
    "money": "Money",
}
_SIDE = ("money",)  # below what waits
_MOST_NEEDS = 3


@dataclass(frozen=True)
class CardGroup:
    """A card of the page, made of parts that apps contribute."""

    key: str
    title: str
    parts: list[MonitorCard]


@dataclass(frozen=True)
class Monitor:
    """The content of the page. The first needs are visible, `more` on request."""

    main: list[CardGroup]
    side: list[CardGroup]
    needs: list[Need]
    more: list[Need]

    @property
    def number(self) -> int:
        return len(self.needs) + len(self.more)


def monitor(study: Study, *, may_edit: bool) -> Monitor:
    """The cards in order, and what needs the researcher, urgent things first."""
    waiting = [need for need in needs.of(study) if may_edit or not need.for_editors]
    waiting.sort(key=lambda need: not need.is_urgent)
    parts = cards.of(study)
    groups = [
        CardGroup(key, title, [part for part in parts if part.key == key])
        for key, title in _TITLES.items()
    ]
    main = [group for group in groups if group.key not in _SIDE]
    side = [group for group in groups if group.key in _SIDE]
    return Monitor(main, side, waiting[:_MOST_NEEDS], waiting[_MOST_NEEDS:])


@require_GET
@login_required
def detail(request: HttpRequest, slug: str) -> HttpResponse:
    """A draft shows what to set up; a study that was opened shows its monitor."""
    study = get_study(request.user, slug)
    figures = study_figures(study)
    once(study, "items", lambda: figures.items)  # saves the navigation a second count
    context: dict[str, Any] = {
        "study": study,
        "figures": figures,
        "may_edit": _may_edit(request, study),
        "entry_url": settings.PUBLIC_BASE_URL + _entry(study),
        "deletions": [deletion for deletion in planned(study) if deletion.is_near],
        "related": related_to(study, request.user),
        "log": study.log.select_related("user")[:10],
    }
    if study.state == Study.State.DRAFT:
        context["setup"] = setup(study)
    else:
        context["monitor"] = monitor(study, may_edit=context["may_edit"])
        context["note"] = opening_note(study)
    return render(request, "studies/detail.html", context)


@require_GET
@login_required
def monitor_panel(request: HttpRequest, slug: str) -> HttpResponse:
    """The monitor alone, which the overview fetches every few seconds."""
    study = get_study(request.user, slug)
    state = monitor(study, may_edit=_may_edit(request, study))
    return render(request, "studies/_monitor.html", {"study": study, "monitor": state})


@require_GET
@login_required
def next_step(request: HttpRequest, slug: str) -> HttpResponse:
    """Redirect to the first set-up task that is not done."""
    study = get_study(request.user, slug)
    task = setup(study).next if study.state == Study.State.DRAFT else None
    return redirect(task.address if task else reverse("studies:detail", args=[slug]))


@require_GET
@login_required
def launch(request: HttpRequest, slug: str) -> HttpResponse:
    """Everything that stands between a draft and its annotators, and the button that launches."""
    study = get_study(request.user, slug)
    may_edit, is_draft = _may_edit(request, study), study.state == Study.State.DRAFT
    routes = launch_routes.of(study) if is_draft and may_edit else []
    route = routes[0] if routes else None
    panels = [
        _with_way_back(check) for check in (route.checks if route else registered_checks(study))
    ]
    context = {
        "study": study,
        "checks": sort_checks(panels),
        "may_edit": may_edit,
        "route": route if route and route.address else None,
        "may_open": is_draft and may_edit and not sort_checks(registered_checks(study)).blocking,
        "parts": [*launch_parts.of(study), *(route.parts if route else ())],
    }
    return render(request, "studies/launch.html", context)


def _with_way_back(check: LaunchCheck) -> LaunchCheck:
    """The check with an address whose page returns to the launch page when it has saved."""
    page, hash_sign, field = check.fix.partition("#")
    return replace(check, fix=f"{page}?back={LAUNCH}{hash_sign}{field}") if page else check


class StateForm(forms.Form):
    state = forms.ChoiceField(
        choices=[(s, s) for s in (Study.State.OPEN, Study.State.PAUSED, Study.State.CLOSED)]
    )
    reason = forms.CharField(required=False, max_length=1_000)


@require_POST
@login_required
def change_state(request: HttpRequest, slug: str) -> HttpResponse:
    """Open, pause or close; a draft opens only if its launch checks allow it."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    form = StateForm(request.POST)
    if not form.is_valid():
        return HttpResponse("Choose open, paused or closed.", status=400, content_type="text/plain")
    user, state = cast(User, request.user), form.cleaned_data["state"]
    notes: list[StateNote] = []
    try:
        if study.state == Study.State.DRAFT and state == Study.State.OPEN:
            study = open_draft(study=study, reason=form.cleaned_data["reason"], user=user)
        else:
            study, notes = set_state_everywhere(study_id=study.pk, state=state, user=user)
    except OpeningRefused as error:
        messages.error(request, str(error))
        return redirect("studies:launch", slug)
    except StudyError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"The study is {study.state}.")
        for note in notes:
            (messages.warning if note.is_problem else messages.success)(request, note.text)
    return redirect("studies:detail", slug)


def _may_edit(request: HttpRequest, study: Study) -> bool:
    return role_of(request.user, study) != Membership.Role.VIEWER


def _entry(study: Study) -> str:
    """The participants' address, with the placeholders that Prolific fills in."""
    path = reverse("annotation:entry", args=[study.slug])
    if study.entry != Study.Entry.PROLIFIC:
        return path
    names = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
    return path + "?" + "&".join(f"{name}={{{{%{name}%}}}}" for name in names)
