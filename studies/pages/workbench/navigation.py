"""The navigation of a study: the same seven sections on every page."""

from dataclasses import dataclass

from django.urls import reverse

from studies.models import Item, Study
from studies.pages.workbench.registry import (
    Mark,
    SectionPage,
    marks,
    once,
    register_pages,
    section_of,
    section_pages,
)
from studies.statements.kept_figures import kept

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


def navigation(study: Study, *, view_name: str, path: str) -> list[NavigationLink]:
    """The sections of `study`, seen from the page at `path`."""
    found = marks.of(study)
    here = section_of(view_name)
    links = []
    for section, (title, name) in _SECTIONS.items():
        address = reverse(name, args=[study.slug])
        current = ("page" if address == path else "true") if section == here else ""
        own = [mark for mark in found if mark.section == section]
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
    found = [
        page
        for page in section_pages.of(study)
        if page.section == here and (may_edit or not page.for_editors)
    ]
    if len(found) < 2:
        return []
    above = [page.address for page in found if path.startswith(page.address)]
    nearest = max(above, key=len, default="")
    return [
        SectionLink(
            page.title,
            page.address,
            ("page" if page.address == path else "true") if page.address == nearest else "",
        )
        for page in found
    ]


def item_pages(study: Study) -> list[SectionPage]:
    return [
        SectionPage("items", "All items", reverse("studies:items", args=[study.slug])),
        SectionPage("items", "Import", reverse("studies:import", args=[study.slug]), True),
    ]


def settings_pages(study: Study) -> list[SectionPage]:
    pages = {
        "studies:settings": "Settings",
        "studies:team": "Team",
        "studies:providers": "Items and providers",
        "studies:activity": "Activity",
        "studies:whole": "Copy, archive, delete",
    }
    return [
        SectionPage("settings", title, reverse(name, args=[study.slug]))
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


def register() -> None:
    """What this app adds to its own pages."""
    marks.register(items_mark)
    section_pages.register(item_pages)
    register_pages("items", "studies:items", "studies:item", "studies:import")
    register_pages("items", "studies:import-job", "studies:import-columns")
    register_pages("items", "studies:item-edit", "studies:item-persona", "studies:item-delete")
    register_pages("items", "studies:items-delete")
    section_pages.register(settings_pages)
    register_pages(
        "settings", "studies:settings", "studies:providers", "studies:activity", "studies:whole"
    )
    register_pages(
        "settings", "studies:copy", "studies:delete", "studies:retention", "studies:team"
    )
    register_pages("settings", "studies:team-invite")
