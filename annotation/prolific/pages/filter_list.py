"""Prolific's current list of filters, as the launch plan offers them."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.core.cache import cache

from annotation.prolific.api.account import connect
from annotation.prolific.api.errors import ProlificError
from annotation.prolific.api.types import Filter

# A page waits no longer for the list: without it, names can be typed.
_PATIENCE = 2.0
_SECONDS = 600
_MOST_FOUND = 20


@dataclass(frozen=True)
class FilterList:
    """The filters, or the reason why they could not be read."""

    filters: Sequence[Filter] = ()
    problem: str = ""

    def search(self, words: str) -> list[Filter]:
        """Filters with all of the words in title, question or choices, by title."""
        wanted = words.casefold().split()
        found = [
            one
            for one in self.filters
            if wanted
            and one.is_choice
            and all(
                word in " ".join([one.title, one.question, *one.choices.values()]).casefold()
                for word in wanted
            )
        ]
        return sorted(found, key=lambda one: one.title.casefold())[:_MOST_FOUND]


def read_filters(workspace: str) -> FilterList:
    """The filters of a workspace; a list of the last ten minutes is not read again."""
    try:
        client = connect(patience=_PATIENCE)
        key = f"prolific-filters {client.origin} {client.token_fragment} {workspace}"
        found: Sequence[Filter] | None = cache.get(key.replace(" ", "-"))
        if found is None:
            found = client.filters(workspace=workspace)
            cache.set(key.replace(" ", "-"), found, _SECONDS)
    except ProlificError as error:
        return FilterList(problem=str(error))
    return FilterList(found)
