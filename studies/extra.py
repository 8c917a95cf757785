"""What the core and each extra add to Thirdperson: a manifest for each, and lists of their entries.

A manifest names its entries as “module:NAME”. An entry is imported when its list is first read, so
a process that does not use it pays nothing.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from django.conf import settings

logger = logging.getLogger(__name__)

Group = Literal["people", "judges", "analyses", "files", "recruiting", "installation"]


class Placed(NamedTuple):
    """An entry that is not simply the last of its kind: `at` names one of the kind's lists.

    It comes after the entry named `after`, or last if that one is missing.
    """

    entry: str
    at: str = ""
    after: str = ""


Entries = Sequence[str | Placed]


@dataclass(frozen=True, kw_only=True)
class Extra:
    """Everything that one extra adds. The names of entries start in the extra's own package."""

    name: str
    title: str
    # One sentence: what a study gets, and who needs it.
    summary: str
    group: Group
    # Names of extras of earlier versions that are part of it.
    former: Sequence[str] = ()

    analyses: Mapping[str, str] | None = None
    """Names of analyses that a plan can list, with their titles."""
    reasons: Mapping[str, str] | None = None
    """Codes of reasons why a number of the report is undefined, with their words."""
    addresses: Mapping[str, str] | None = None
    """Prefixes of addresses, each with the module of its patterns."""
    sections: Mapping[str, str] | None = None
    """Names of addresses, or namespaces with a colon, each with its section of the navigation."""

    importers: Entries = ()
    """How files are read. At `items` and `judgments`: a format. At `sets`: a released data set. At
    `rows`: an option of an import. At `answers`: what else is imported about answers. At
    `wordings`: where wordings can be taken from."""
    holdings: Entries = ()
    """Which rows are a study's or a person's. At `settings`: settings of a study in a table of
    their own, a subclass of `AddedSettings`. At `needed`: what has to end before the extra can be
    turned off. At `person`: what is stored of a person. At `study`:
    what is deleted with a study. At `copies`, `removals`: what a copy of a study gets, and what to
    do before items are removed. At `related`, `kinds_of_copies`: other
    studies that belong with one. At `rights`: what a member has given
    out. At `locked_settings`: settings that can no longer change. At
    `seen_items`: which items somebody or a model has seen. At `identities`: ids of people on
    other platforms that are deleted with those of Prolific."""
    files: Entries = ()
    """Files that are written. At `kinds`: a kind of stored files, with their retention. At `study`:
    a file of a study as a folder. At `report`, `article`: files next to a report. At `bundle`,
    `descriptions`: files of the export of everything. At `media`: who reads, keeps and shows
    pictures and sounds."""
    exports: Entries = ()
    """A table that can be exported. At `formats`: a format of tables. At `folders`: an export that
    is a folder."""
    parts: Entries = ()
    """A fragment or link on a page of the core. At `studies`, `person_pages`, `item`, `item_page`,
    `report`, `campaign`, `import`: where it stands. At `main`, `sign_in`, `administration`: a link
    outside studies. At `item_preview`: how an item is shown to researchers."""
    routes: Entries = ()
    """Routes of the API below `/api/v1/`, as a router of Django Ninja."""
    seat_rules: Entries = ()
    """Who gets which items. At `versions`: items that one annotator must not get together. At
    `same_items`: items that an annotator must get. At `later`: items that appear while people take
    part."""
    events: Entries = ()
    """What follows when something happens. At `ended`: an annotator ended. At `arrived`: somebody
    arrived. At `imported`: items were imported. At `state`: a study's
    state changed. At `seats`: the seats of a study change. At `created`: a study was created from a
    preset."""
    steps: Entries = ()
    """What participants meet: a page after the items, before their comments. At `questions`: what
    is asked with every item. At `notes`: a note on the last page. At `again`: items that are shown
    a second time."""
    recruiting: Entries = ()
    """What recruiting offers, mostly on Prolific. At `actions`, `pages`: a command's action and a
    part of a page. At `trials`: a trial of a launch. At `settling`, `follow_ups`: where one
    approves and pays. At `platforms`: other platforms that send people, and how they go back."""
    runs: Entries = ()
    """How runs are answered. At `deliveries`: another way than by requests of workers. At
    `observers`: what watches runs and requests while workers ask, such as a tracer."""
    probes: Entries = ()
    """A bias probe of judges."""
    protocols: Entries = ()
    """What a judge is asked, and how its reply is read."""
    backends: Entries = ()
    """A way to reach a model."""
    chapters: Entries = ()
    """A chapter of the report. At a chapter's name: a part of that chapter."""
    reports: Entries = ()
    """Other ways to report. At `pages`: a page of its own made from report.json. At `several`:
    reports on several studies. At `plans`: who keeps analysis plans. At `links`: what was given out
    of a report."""
    readers: Entries = ()
    """Data of a design for the analysis. At `words`: what researchers' pages show of answers. At
    `item_sets`, `notes`: items that the page of disagreements can show, and what is noted on
    them."""
    workbench: Entries = ()
    """What a study's pages show now, as a function of the study. At `marks`, `tasks`, `needs`,
    `cards`, `launch_parts`, `launch_routes`, `launch_checks`: where. At `column_NAME`: cells of the
    list of studies, as a function of studies."""
    navigation: Entries = ()
    """Pages of the second row of the navigation, as a function of the study."""

    @property
    def is_for_studies(self) -> bool:
        """Whether each study turns it on or off. Others belong to the installation."""
        return self.group != "installation"

    @property
    def changes_results(self) -> bool:
        """Whether it adds to what is asked or reported, so that turning it on late matters."""
        asked = (self.steps, self.seat_rules, self.protocols, self.probes)
        return any(asked) or bool(self.chapters or self.readers)


_NO_ENTRIES = {
    "name",
    "title",
    "summary",
    "group",
    "former",
    "analyses",
    "reasons",
    "addresses",
    "sections",
}
KINDS = tuple(field.name for field in fields(Extra) if field.name not in _NO_ENTRIES)
CORE = "core"


class Manifest(NamedTuple):
    """A manifest, and the package in which its entries are looked up; empty for the core."""

    extra: Extra
    package: str

    def full(self, entry: str) -> str:
        return f"{self.package}.{entry}" if self.package else entry


@cache
def manifests() -> tuple[Manifest, ...]:
    """Those of `settings.MANIFESTS`, the core's first. One that cannot be read is left out."""
    read = []
    for address in settings.MANIFESTS:
        try:
            extra = resolve_name(address)
        except Exception:
            logger.exception("The extra %s was left out: its manifest cannot be read.", address)
            continue
        package = "" if extra.name == CORE else address.partition(":")[0].rpartition(".")[0]
        read.append(Manifest(extra, package))
    return tuple(read)


def extras() -> dict[str, Extra]:
    """Every extra of the installation, by name."""
    return {extra.name: extra for extra, _ in manifests() if extra.name != CORE}


def extras_for_studies() -> dict[str, Extra]:
    """Those that a study turns on and off, by name."""
    return {name: extra for name, extra in extras().items() if extra.is_for_studies}


@cache
def _renamed() -> dict[str, str]:
    return {former: name for name, extra in extras().items() for former in extra.former}


def current_name(name: str) -> str:
    """What an extra that an earlier version had is called now."""
    return _renamed().get(name, name)


@cache
def of_installation() -> frozenset[str]:
    """Names of those that are on in every study."""
    return frozenset(name for name, extra in extras().items() if not extra.is_for_studies)


def extras_of_new_studies() -> list[str]:
    """Names of those that are on in a study that is created."""
    wanted = [*map(current_name, settings.EXTRAS_OF_NEW_STUDIES)]
    return [name for name in extras_for_studies() if name in wanted or wanted == ["all"]]


def folders(name: str) -> Iterator[Path]:
    """The folder `name` of each extra that has one."""
    for _, package in manifests():
        if package:
            spec = resolve_name(package).__spec__
            for place in (spec and spec.submodule_search_locations) or ():
                if (folder := Path(place) / name).is_dir():
                    yield folder


@cache
def extra_of_module(module: str) -> Extra | None:
    """The extra whose package has this module; None for the core."""
    for extra, package in manifests():
        if package and f"{module}.".startswith(f"{package}."):
            return extra
    return None


@cache
def mapped(kind: Literal["analyses", "reasons", "sections"]) -> dict[str, str]:
    """The pairs that all manifests have under `kind`."""
    pairs: dict[str, str] = {}
    for extra, _ in manifests():
        pairs |= getattr(extra, kind) or {}
    return pairs


def addresses() -> Iterator[tuple[str, str]]:
    """Prefixes of addresses of extras, each with its module of patterns."""
    for manifest in manifests():
        for prefix, module in (manifest.extra.addresses or {}).items():
            yield prefix, manifest.full(module)


class StudyWithExtras(Protocol):
    slug: str

    def has_extra(self, name: str) -> bool: ...


Entry = TypeVar("Entry")
Result = TypeVar("Result")


class _Resolved(NamedTuple, Generic[Entry]):
    entry: Entry
    after: str
    extra: str


class Kind(Generic[Entry]):
    """The entries of one kind, or of one of its lists: those of the core, then those of extras.

    An entry may be a tuple of several. Those of extras that are off are not imported.
    """

    def __init__(self, kind: str, at: str = "") -> None:
        if kind not in KINDS:
            raise ValueError(f"An extra has no entries of the kind {kind!r}.")
        self._kind, self._at = kind, at
        self._of: tuple[Manifest, ...] | None = None
        self._places: list[tuple[Manifest, Placed]] = []
        self._names: tuple[str, ...] = ()
        # By the names of the extras that are on: a page of a participant asks twenty kinds.
        self._lists: dict[frozenset[str], list[_Resolved[Entry]]] = {}

    def _read(self, is_on: Callable[[str], bool] = lambda extra: True) -> list[_Resolved[Entry]]:
        """The entries of the core and of extras that are on, in their order."""
        if self._of is not manifests():
            self._of, self._lists = manifests(), {}
            self._places = list(self._placed())
            self._names = tuple({manifest.extra.name for manifest, _ in self._places} - {CORE})
        on = frozenset(filter(is_on, self._names))
        if on not in self._lists:
            resolved = (
                entry
                for manifest, place in self._places
                if manifest.extra.name in {CORE, *on}
                for entry in _resolved(manifest, place)
            )
            self._lists[on] = _in_order(list(resolved))
        return self._lists[on]

    def _placed(self) -> Iterator[tuple[Manifest, Placed]]:
        for manifest in manifests():
            for entry in getattr(manifest.extra, self._kind):
                place = Placed(entry) if isinstance(entry, str) else entry
                if place.at == self._at:
                    yield manifest, place

    def __iter__(self) -> Iterator[Entry]:
        return (resolved.entry for resolved in self._read())

    def of(self, study: StudyWithExtras) -> list[Entry]:
        """Those of the core, of the installation, and of the extras that are on in the study."""
        return self.where(study.has_extra)

    def where(self, is_on: Callable[[str], bool]) -> list[Entry]:
        """Those of the core, and of the extras of which `is_on` says so."""
        return [entry.entry for entry in self._read(is_on)]

    def added(self, is_on: Callable[[str], bool]) -> list[Entry]:
        """Those of extras, of which `is_on` says so."""
        return [entry.entry for entry in self._read(is_on) if entry.extra != CORE]

    def among(self, own: Iterable[Entry], is_on: Callable[[str], bool]) -> list[Entry]:
        """Those that are on, each at its place among `own` entries of the core."""
        core = [_Resolved(entry, "", CORE) for entry in own]
        return [source.entry for source in _in_order([*core, *self._read(is_on)])]

    def extra_of(self, name: str) -> str:
        """The extra that has the entry of this name; empty if it is the core's or unknown."""
        owners = {entry.entry.name: entry.extra for entry in self._read()}  # type: ignore[attr-defined]
        return "" if (owner := owners.get(name, CORE)) == CORE else owner

    def without_place(self) -> list[str]:
        """Entries that come after one that is not there."""
        names = {"", *(getattr(entry.entry, "name", "") for entry in self._read())}
        return [place.entry for _, place in self._places if place.after not in names]


def _resolved(manifest: Manifest, place: Placed) -> Iterator[_Resolved[Any]]:
    """What an entry names; nothing if it cannot be imported."""
    try:
        entry = resolve_name(manifest.full(place.entry))
    except Exception:
        if settings.FAILURES_OF_EXTRAS_STOP:
            raise
        # One broken package must not take the page or the report with it.
        logger.exception("%s of “%s” is missing.", place.entry, manifest.extra.title)
        return
    for one in entry if isinstance(entry, tuple) else (entry,):
        yield _Resolved(one, place.after, manifest.extra.name)


def _in_order(read: Sequence[_Resolved[Entry]]) -> list[_Resolved[Entry]]:
    """Entries with an `after` moved there; those that follow the same one stay in their order."""
    names = {_name(resolved) for resolved in read if not resolved.after}
    moved = [resolved for resolved in read if resolved.after and resolved.after in names]
    ordered = [resolved for resolved in read if resolved not in moved]
    for resolved in reversed(moved):
        place = next(n for n, other in enumerate(ordered) if _name(other) == resolved.after)
        ordered.insert(place + 1, resolved)
    return ordered


def _name(resolved: _Resolved[Any]) -> str:
    return getattr(resolved.entry, "name", "")


def results(kind: Kind[Callable[..., Iterable[Result]]], study: StudyWithExtras) -> list[Result]:
    """What the functions of a kind return for the study; one of an extra that fails is left out."""
    results: list[Result] = []
    for source in kind.of(study):
        try:
            results += source(study)
        except Exception:
            if settings.FAILURES_OF_EXTRAS_STOP or extra_of_module(source.__module__) is None:
                raise
            logger.exception("%s failed for the study %s.", source.__module__, study.slug)
    return results
