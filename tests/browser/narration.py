"""What a screen reader gets of a page: Chromium's accessibility tree, and what must be in it."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from playwright.sync_api import Page

from tests.browser.conftest import DESKTOP, SMALL_PHONE, scrolls_sideways

# 1280 x 1024 at 400 %.
ZOOMED = {"width": 320, "height": 256}
NAMED = {
    *("button", "link", "textbox", "searchbox", "spinbutton", "combobox", "listbox", "slider"),
    *("radio", "checkbox", "switch", "tab", "DisclosureTriangle", "progressbar", "meter", "image"),
    *("radiogroup", "navigation", "region", "dialog", "table"),
}


@dataclass(frozen=True)
class Heard:
    """One node: what it is, its name, its value, and the properties that matter here."""

    role: str
    name: str
    value: str
    properties: dict[str, Any]


def heard(page: Page) -> list[Heard]:
    """The nodes of the page that a screen reader meets, in its order."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    return [
        Heard(
            role=node["role"]["value"],
            name=node.get("name", {}).get("value", "").strip(),
            value=str(node.get("value", {}).get("value", "")),
            properties={one["name"]: one["value"].get("value") for one in node["properties"]},
        )
        for node in nodes
        if not node["ignored"] and "properties" in node
    ]


def narrated(page: Page) -> dict[str, list[Heard]]:
    """Fail where the page is incomplete for a screen reader; return its nodes by role."""
    page.wait_for_load_state()
    nodes = heard(page)
    by_role: dict[str, list[Heard]] = {}
    for node in nodes:
        by_role.setdefault(node.role, []).append(node)

    unnamed = [node for node in nodes if node.role in NAMED and not node.name]
    assert not unnamed, f"{page.url}: without a name: {unnamed}"
    levels = [node.properties["level"] for node in by_role["heading"]]
    assert levels.count(1) == 1, f"{page.url}: {by_role['heading']}"
    assert all(after <= before + 1 for before, after in pairwise(levels)), (
        f"{page.url}: a level of headings is skipped: {by_role['heading']}"
    )
    assert all(node.name for node in by_role["heading"])
    assert len(by_role["main"]) == 1
    assert len(by_role.get("banner", [])) <= 1
    assert by_role["link"][0].name.startswith("Skip to")
    return by_role


def fits_small_windows(page: Page) -> None:
    """Fail where a small phone, or a desktop at 400 %, scrolls sideways."""
    for size in (SMALL_PHONE, ZOOMED, DESKTOP):
        page.set_viewport_size(size)
        assert not scrolls_sideways(page), (page.url, size)
