"""What extras show participants: pages before the feedback, notes on the last page, past items.

Every process imports this to register some, so it loads no pages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from studies.extra import Kind

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django_stubs_ext import StrPromise

    from annotation.models import Annotator
    from studies.models import Item, Study


@dataclass(frozen=True)
class AddedStep:
    """A page before the feedback, in studies that it `is_in`.

    `first_at` is its address until the annotator has finished it, then empty. Researchers preview
    it by its name, with the template `annotation/NAME.html` and the context `preview`.
    """

    name: str
    title: str | StrPromise
    is_in: Callable[[Study], bool]
    first_at: Callable[[Annotator], str]
    preview: Callable[[Study], Mapping[str, Any]]


@dataclass(frozen=True)
class EndNote:
    """A note on the page of somebody who completed.

    `shown` returns the template's context `note`, or nothing.
    """

    name: str
    template: str
    shown: Callable[[Annotator], Mapping[str, Any]]


@dataclass(frozen=True)
class ShownAgain:
    """Items shown to an annotator after the end, whose pictures and sounds may then be sent."""

    name: str
    items: Callable[[Annotator], QuerySet[Item]]


STEPS: Kind[AddedStep] = Kind("steps")
NOTES: Kind[EndNote] = Kind("steps", "notes")
AGAIN: Kind[ShownAgain] = Kind("steps", "again")
