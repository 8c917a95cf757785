"""The guided set-up: the overview of a study that was never opened, as a list in any order."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.urls import reverse

from studies.models import Item, Study
from studies.pages.listing import study_figures
from studies.pages.workbench.registry import TASKS, SetupTask, TaskState, setup_tasks

_MOST_URGENT = (TaskState.ATTENTION, TaskState.NOT_STARTED, TaskState.DONE)


@dataclass(frozen=True)
class Setup:
    """The tasks in their usual order, and the one that the page suggests next."""

    tasks: list[SetupTask]

    @property
    def needed(self) -> list[SetupTask]:
        """Without those that are optional."""
        return [task for task in self.tasks if not task.is_optional]

    @property
    def done(self) -> int:
        return sum(task.state == TaskState.DONE for task in self.needed)

    @property
    def next(self) -> SetupTask | None:
        return next((task for task in self.needed if task.state != TaskState.DONE), None)


def setup(study: Study) -> Setup:
    """One task for each key; of several with the same key the one that needs most."""
    found = setup_tasks.of(study)
    tasks = []
    for key in TASKS:
        own = [task for task in found if task.key == key]
        if own:
            tasks.append(min(own, key=lambda task: _MOST_URGENT.index(task.state)))
    return Setup(tasks)


def study_tasks(study: Study) -> Iterator[SetupTask]:
    """The tasks about what is judged, and how annotators and judges are asked."""
    figures = study_figures(study)
    settings = reverse("studies:settings", args=[study.slug])
    yield _items(study, figures.items)
    yield SetupTask(
        "profile",
        "Person profile",
        TaskState.DONE if figures.personas else TaskState.NOT_STARTED,
        f"{figures.personas:,} personas, shown as {study.get_persona_style_display()}"
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
    yield _texts(study, settings)
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


def _texts(study: Study, settings: str) -> SetupTask:
    """Instructions have a default; the consent text needs facts that only researchers know."""
    title = "Instructions, consent, debrief"
    facts = {
        "contact": ("a contact address", study.contact),
        "researchers": ("who asks", study.researchers or study.consent),
        "storage": ("where answers are kept", study.storage or study.consent),
        "ethics": ("the ethics approval", study.ethics or study.consent),
    }
    missing = {name: words for name, (words, value) in facts.items() if not value}
    if not missing:
        words = "Your own consent text" if study.consent else "The standard texts with your details"
        texts = reverse("people:texts", args=[study.slug])
        return SetupTask("texts", title, TaskState.DONE, words, texts)
    words = f"Not stated yet: {', '.join(missing.values())}"
    state = TaskState.NOT_STARTED if len(missing) == len(facts) else TaskState.ATTENTION
    return SetupTask("texts", title, state, words, f"{settings}#id_{next(iter(missing))}")


def register() -> None:
    setup_tasks.register(study_tasks)
