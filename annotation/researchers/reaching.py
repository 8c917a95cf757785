"""Reaching annotators: groups of them, and the pages on which extras write to them."""

from collections.abc import Callable
from dataclasses import dataclass

from django.db.models import QuerySet

from annotation.models import Annotator
from studies.extra import Kind
from studies.models import Study


@dataclass(frozen=True)
class Audience:
    """A group of annotators who can be written to, and the text that a draft begins with.

    One person is the audience “annotator-” and their pseudonym.
    """

    name: str
    title: str
    find: Callable[[Study], QuerySet[Annotator]]
    draft: Callable[[Study], str] = lambda study: ""


AUDIENCES: Kind[Audience] = Kind("recruiting", "audiences")
ONE_PERSON = "annotator-"


@dataclass(frozen=True)
class WritingPage:
    """A page to write to an audience; the address is empty if it cannot reach a study's people."""

    name: str
    address: Callable[[Study, str], str]


WRITING_PAGES: Kind[WritingPage] = Kind("recruiting", "writing")


def address_to_write(study: Study, audience: str) -> str:
    """The page to write to the audience with this name; empty if there is none."""
    addresses = (page.address(study, audience) for page in WRITING_PAGES)
    return next(filter(None, addresses), "")
