"""What extras show participants: pages before the feedback, lines of the last page, items again.

Every process imports this to add some, so it loads no pages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from studies.additions import Additions

if TYPE_CHECKING:
    from django.db.models import QuerySet
    from django_stubs_ext import StrPromise

    from annotation.models import Annotator
    from studies.models import Item, Study


@dataclass(frozen=True)
class AddedStep:
    """A page that comes before the feedback in studies that it `is_in`.

    `first_at` is its address as long as the annotator has not finished it, then empty. Researchers
    preview it under its name, with the template `annotation/NAME.html` and the context `preview`.
    """

    name: str
    title: str | StrPromise
    is_in: Callable[[Study], bool]
    first_at: Callable[[Annotator], str]
    preview: Callable[[Study], Mapping[str, Any]]


@dataclass(frozen=True)
class EndNote:
    """What the page of somebody who completed says further.

    `shown` is empty, or the template's context under the name `note`.
    """

    name: str
    template: str
    shown: Callable[[Annotator], Mapping[str, Any]]


@dataclass(frozen=True)
class ShownAgain:
    """Items that an annotator is shown after the end; their pictures and sounds are sent then."""

    name: str
    items: Callable[[Annotator], QuerySet[Item]]


STEPS: Additions[AddedStep] = Additions()
NOTES: Additions[EndNote] = Additions()
AGAIN: Additions[ShownAgain] = Additions()
