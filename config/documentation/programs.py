"""`llms.txt`: what the product is and where its documentation is, for language models."""

import re
from collections.abc import Callable

from django.urls import reverse

from config.documentation.files import INDEX, pages, text_of

_LINK = re.compile(r"\[([^]]+)\]\(([\w./-]+)\.md\)")


def index_for_programs(absolute: Callable[[str], str]) -> str:
    """The index of the documentation with the address of each page's Markdown.

    `absolute` makes a full address of a path.
    """

    def full(found: re.Match[str]) -> str:
        # A page of an extra has the name that it has among the pages.
        name = found[2].rpartition("/docs/")[2]
        if name not in pages():
            return found[1]
        return f"[{found[1]}]({absolute(reverse('documentation:source', args=[name]))})"

    return _LINK.sub(full, text_of(INDEX))
