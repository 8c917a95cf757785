"""The frame of every page of a study: seven sections, and what each app adds to them.

A source is a function of the study that returns what an app shows now. Manifests name them.
Sources of marks run for every page of a study, so each makes at most two queries.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

from django.contrib.auth.models import User
from django.db.models import TextChoices
from django.urls import reverse

from studies.extra import Kind, mapped, results
from studies.models import Item, Study
from studies.services.studies import LaunchCheck
from studies.statements.kept_figures import kept

SECTIONS = ("overview", "items", "annotators", "judges", "report", "exports", "settings")
TASKS = (
    "items",
    "profile",
    "question",
    "checks",
    "texts",
    "annotators",
    "recruiting",
    "judges",
    "plan",
    "launch",
)
CARDS = ("answers", "quota", "funnel", "coverage", "judges", "money")


@dataclass(frozen=True)
class Mark:
    """What the navigation shows next to a section.

    `count` is the number of things in the section. `alert` says in two or three words what needs
    the researcher there: “3 to approve”.
    """

    section: str
    count: int | None = None
    alert: str = ""


class TaskState(TextChoices):
    NOT_STARTED = "not_started", "Not started"
    DONE = "done", "Done"
    ATTENTION = "attention", "Needs attention"


@dataclass(frozen=True)
class SetupTask:
    """One line of the list that sets a study up; `key` is one of `TASKS`.

    A line of an extra may have a key of its own: it follows the task `after`, and the tasks
    `instead_of` which it stands are not shown.

    `summary` is one line: what is set, or what to do. `address` is the page for it. If several apps
    register a task with the same key, the list shows the one that needs most work.
    """

    key: str
    title: str
    state: TaskState
    summary: str
    address: str
    is_optional: bool = False
    after: str = ""
    instead_of: tuple[str, ...] = ()


@dataclass(frozen=True)
class Need:
    """Something that needs the researcher: a sentence, and a button that leads there.

    With `sends`, the button posts these fields to the address instead.
    """

    sentence: str
    address: str
    button: str
    is_urgent: bool = False
    for_editors: bool = True
    sends: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SectionPage:
    """A page of a section, in the second row of the navigation.

    The row appears on the pages of the section if it has at least two such pages. With `once`, the
    page is there once the study has something in that section, such as annotators.
    """

    section: str
    title: str
    address: str
    for_editors: bool = False
    once: str = ""


@dataclass(frozen=True)
class MonitorCard:
    """A part of the card `key` of `CARDS`; `template` shows it with `part.context`."""

    key: str
    template: str
    context: Mapping[str, Any] = field(default_factory=dict)


Entry = TypeVar("Entry")


class Sources(Generic[Entry]):
    """Functions of a study that return what its pages show now."""

    def __init__(self, kind: str, at: str = "") -> None:
        self._kind: Kind[Callable[[Study], Iterable[Entry]]] = Kind(kind, at)

    def of(self, study: Study) -> list[Entry]:
        return results(self._kind, study)


marks: Sources[Mark] = Sources("workbench", "marks")
setup_tasks: Sources[SetupTask] = Sources("workbench", "tasks")
needs: Sources[Need] = Sources("workbench", "needs")
cards: Sources[MonitorCard] = Sources("workbench", "cards")
# Parts of the launch page, above the button that opens the study.
launch_parts: Sources[MonitorCard] = Sources("workbench", "launch_parts")
section_pages: Sources[SectionPage] = Sources("navigation")


@dataclass(frozen=True)
class LaunchRoute:
    """How a draft is launched where a platform recruits: a button that posts to `address`.

    `checks` include those of the study. `parts` stand above the button, which is missing while the
    platform does not answer.
    """

    checks: Sequence[LaunchCheck]
    address: str = ""
    button: str = ""
    parts: Sequence[MonitorCard] = ()


launch_routes: Sources[LaunchRoute] = Sources("workbench", "launch_routes")


@dataclass(frozen=True)
class ListCell:
    """What the list of studies shows in one column; an alert names what needs attention.

    `when` is for the column “updated”, which shows the latest moment of any app.
    """

    text: str = ""
    alert: str = ""
    when: datetime | None = None


@dataclass(frozen=True)
class ListPart:
    """A part below the list of studies: `template` with what `context` says of the user."""

    name: str
    template: str
    context: Callable[[User], Mapping[str, Any]]


LIST_PARTS: Kind[ListPart] = Kind("parts", "studies")


@dataclass(frozen=True)
class PersonPage:
    """A page about an annotator: `address` by the study and their name."""

    name: str
    title: str
    address: Callable[[Study, str], str]


# Pages for owners, each by a button.
PERSON_PAGES: Kind[PersonPage] = Kind("parts", "person_pages")


@dataclass(frozen=True)
class ItemLink:
    """A link to a page that changes an item, or all: `address` by the study and the item's key.

    The key is empty for all items, and the address where the page is not for these.
    """

    name: str
    words: str
    address: Callable[[Study, str], str]


ITEM_LINKS: Kind[ItemLink] = Kind("parts", "item")


@dataclass(frozen=True)
class AfterImport:
    """What follows when items were imported: a sentence, and a link to a page of the study."""

    sentence: str
    words: str
    address: Callable[[Study], str]


AFTER_IMPORT: Kind[AfterImport] = Kind("parts", "import")


@dataclass(frozen=True)
class PageLink:
    """A link to a page outside studies; `address` is empty where a server lacks it."""

    name: str
    words: str
    address: Callable[[], str]


# Pages for everybody with an account, linked at the top of each page.
MAIN_LINKS: Kind[PageLink] = Kind("parts", "main")
# Pages for people without an account.
SIGN_IN_LINKS: Kind[PageLink] = Kind("parts", "sign_in")
# Pages for superusers, in place of Django's admin.
ADMINISTRATION: Kind[PageLink] = Kind("parts", "administration")

# The columns that apps fill, by name. A source gets all studies of the page and returns cells by
# the study's id, in a fixed number of queries.
COLUMNS = ("answers", "quota", "judges", "cost", "updated")
_columns: dict[str, Kind[Callable[[Sequence[Study]], Mapping[int, ListCell]]]] = {
    name: Kind("workbench", f"column_{name}") for name in COLUMNS
}


def column_cells(name: str, studies: Sequence[Study]) -> dict[int, list[ListCell]]:
    """The cells of a column, by the study's id; several apps may add to one cell."""
    cells: dict[int, list[ListCell]] = {study.pk: [] for study in studies}
    for source in _columns[name]:
        for pk, cell in source(studies).items():
            cells[pk].append(cell)
    return cells


Found = TypeVar("Found")


def once(study: Study, name: str, find: Callable[[], Found]) -> Found:
    """What `find` returns, called once for this study object: sources of a page share it."""
    known: dict[str, Found] = study.__dict__.setdefault("_found_once", {})
    if name not in known:
        known[name] = find()
    return known[name]


def section_of(view_name: str) -> str:
    """The section that a page belongs to; empty for a page outside all of them."""
    sections = mapped("sections")
    namespace = view_name.partition(":")[0]
    return sections.get(view_name) or sections.get(f"{namespace}:", "")


_SECTIONS = {
    "overview": ("Overview", "studies:detail"),
    "items": ("Items", "studies:items"),
    "annotators": ("Annotators", "people:list"),
    "judges": ("Judges", "judging:list"),
    "report": ("Report", "analysis:list"),
    "exports": ("Exports", "exports:list"),
    "settings": ("Settings", "studies:settings"),
}


@dataclass(frozen=True)
class NavigationLink:
    """A section as the navigation shows it. `current` is the value of aria-current, or empty."""

    title: str
    address: str
    current: str
    count: int | None
    alerts: tuple[str, ...]


def _marks(study: Study) -> list[Mark]:
    return once(study, "marks", lambda: marks.of(study))


def navigation(study: Study, *, view_name: str, path: str) -> list[NavigationLink]:
    """The sections of `study`, seen from the page at `path`."""
    marks = _marks(study)
    here = section_of(view_name)
    links = []
    for section, (title, name) in _SECTIONS.items():
        address = reverse(name, args=[study.slug])
        current = ("page" if address == path else "true") if section == here else ""
        own = [mark for mark in marks if mark.section == section]
        counts = [mark.count for mark in own if mark.count is not None]
        alerts = tuple(mark.alert for mark in own if mark.alert)
        links.append(
            NavigationLink(title, address, current, sum(counts) if counts else None, alerts)
        )
    return links


@dataclass(frozen=True)
class SectionLink:
    """A page of the current section; `current` is the value of aria-current, or empty."""

    title: str
    address: str
    current: str


def pages_here(study: Study, *, view_name: str, path: str, may_edit: bool) -> list[SectionLink]:
    """The pages of the current section, if there are several."""
    here = section_of(view_name)
    begun = {mark.section for mark in _marks(study) if mark.count}
    lists = [
        page
        for page in section_pages.of(study)
        if page.section == here and (may_edit or not page.for_editors)
        if not page.once or page.once in begun or path.startswith(page.address)
    ]
    if len(lists) < 2:
        return []
    above = [page.address for page in lists if path.startswith(page.address)]
    nearest = max(above, key=len, default="")
    return [
        SectionLink(
            page.title,
            page.address,
            ("page" if page.address == path else "true") if page.address == nearest else "",
        )
        for page in lists
    ]


def item_pages(study: Study) -> list[SectionPage]:
    return [
        SectionPage("items", "All items", reverse("studies:items", args=[study.slug])),
        SectionPage("items", "Import", reverse("studies:import", args=[study.slug]), True),
    ]


def settings_pages(study: Study) -> list[SectionPage]:
    pages = {
        "studies:settings": "Settings",
        "studies:extras": "Designs and analyses",
        "studies:team": "Team",
        "studies:providers": "Items and providers",
        "studies:whole": "Copy, archive, delete",
    }
    return [
        SectionPage(
            "settings",
            title,
            reverse(name, args=[study.slug]),
            once="items" if name == "studies:providers" else "",
        )
        for name, title in pages.items()
    ]


def items_mark(study: Study) -> list[Mark]:
    return [Mark("items", once(study, "items", lambda: _items(study)))]


def _items(study: Study) -> int:
    return kept(
        "navigation-items",
        study.pk,
        study.version,
        count=lambda: Item.objects.filter(study=study).count(),
        rows=int,
    )
