"""Studies that belong together: waves, studies about the same people, copies with other items."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q

from studies.extra import Kind
from studies.models import Study
from studies.selectors import studies_for


@dataclass(frozen=True)
class AssociatedStudy:
    """Another study that belongs with this one, and what it is to it: “wave 2”."""

    study: Study
    words: str


@dataclass(frozen=True)
class KindOfCopy:
    """Copies whose source has a `note` with the short name of the study they are `from`.

    `copy` says what the copy is to its origin, and `origin` the other way.
    """

    note: str
    copy: str
    origin: str


# Studies that rows of an app tie to a study.
RELATED: Kind[Callable[[Study], Iterable[AssociatedStudy]]] = Kind("holdings", "related")
COPIES: Kind[KindOfCopy] = Kind("holdings", "kinds_of_copies")


def related_studies(study: Study) -> list[AssociatedStudy]:
    """Every study that belongs with this one directly."""
    return [*_made_by_copying(study), *(relation for find in RELATED for relation in find(study))]


def related_to(study: Study, user: User | AnonymousUser) -> list[AssociatedStudy]:
    """The related studies that a user may see."""
    related_to_it = related_studies(study)
    mine = set(studies_for(user).values_list("pk", flat=True)) if related_to_it else ()
    return [related for related in related_to_it if related.study.pk in mine]


def all_related(study: Study) -> set[int]:
    """The ids of all studies that belong with this one, directly or through others."""
    known, new = {study.pk}, [study]
    while new:
        others = {
            relation.study.pk: relation.study for one in new for relation in related_studies(one)
        }
        new = [other for pk, other in others.items() if pk not in known]
        known.update(others)
    return known - {study.pk}


def _made_by_copying(study: Study) -> Iterable[AssociatedStudy]:
    origins = {kind.note: slug for kind in COPIES if (slug := _origin(study, kind.note))}
    wanted = Q(slug__in=origins.values())
    for kind in COPIES:
        wanted |= Q(**{f"source__{kind.note}__from": study.slug})
    for other in Study.objects.filter(wanted).exclude(pk=study.pk).order_by("pk"):
        for kind in COPIES:
            if _origin(other, kind.note) == study.slug:
                yield AssociatedStudy(other, kind.copy)
            elif origins.get(kind.note) == other.slug:
                yield AssociatedStudy(other, kind.origin)


def _origin(study: Study, note: str) -> str:
    """The short name in a note; a source can come from a file, with any content."""
    noted = study.source.get(note)
    slug = noted.get("from") if isinstance(noted, dict) else None
    return slug if isinstance(slug, str) else ""
