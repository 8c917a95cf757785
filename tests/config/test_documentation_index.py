"""The index of the documentation, and the reference that is made of the code."""

import re

import pytest

from config.documentation import reference
from config.documentation.pages import INDEX, ROOT, pages, text_of


def test_the_index_leads_to_every_page_and_lists_nothing_twice():
    targets = re.findall(r"\]\(([^)#]+\.md)\)", text_of(INDEX))
    linked = {(ROOT / target).resolve() for target in targets}
    # Folders with an index of their own.
    indexed = {path.parent for path in linked if path.name == "README.md"}
    missing = [
        name
        for name, path in pages().items()
        if name != INDEX and path not in linked and path.parent not in indexed
    ]

    assert len(targets) == len(set(targets))
    assert missing == [], "name the page in docs/README.md"


@pytest.mark.parametrize("name", ["addresses", "statistics"])
def test_the_reference_matches_the_code(name):
    written = (ROOT / "reference" / f"{name}.md").read_text("utf-8")

    assert written == reference.pages()[name], "run `make docs`"


def test_every_address_has_a_description():
    silent = [address for address, view in reference.views() if not reference.first_sentence(view)]

    assert silent == [], "give the view a docstring, then run `make docs`"
