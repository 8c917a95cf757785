"""The participants' scripts and styles use nothing newer than the browsers of docs/browsers.md."""

import re
from pathlib import Path

import pytest
from django.conf import settings

STATIC = Path(settings.BASE_DIR, "static")
SCRIPTS = sorted(STATIC.glob("js/annotator*.js"))
STYLES = [STATIC / "css/base.css", STATIC / "css/annotator.css"]
# What came after Chrome 92, Firefox 91 or Safari 15.0, and breaks a script that uses it.
TOO_NEW_IN_SCRIPTS = {
    r"AbortSignal\s*\.": "Chrome 103, Firefox 100, Safari 15.4",
    r"\bstructuredClone\b": "Chrome 98, Firefox 94, Safari 15.4",
    r"\brequestSubmit\b": "Safari 16",
    r"\.(at|findLast|findLastIndex|toSorted|toReversed|toSpliced|with)\(": "Safari 15.4 and 16",
    r"\bObject\.(hasOwn|groupBy)\b|\bMap\.groupBy\b": "Safari 15.4 and 17.4",
    r"\bArray\.fromAsync\b|\bPromise\.(withResolvers|try)\b": "Chrome 119, Safari 17.4",
    r"\brandomUUID\b": "Firefox 95, Safari 15.4",
    r"\bstatic\s*\{": "Chrome 94, Firefox 93, Safari 16.4",
    r"#\w+ in \b": "Safari 15",
    r"\(\?<[=!]": "Safari 16.4",
    r"/[a-uw-z]*v[a-uw-z]*[,;)]": "Chrome 112, Safari 17",
    r"\.aria[A-Z]\w*\s*=": "Firefox 119",
    r"\b(checkVisibility|showPopover|requestIdleCallback|scrollend)\b": "Safari 17 and 26",
    r"\bURL\.(canParse|parse)\b|\bCSS\.registerProperty\b": "Safari 16.4 and 17",
    r"\bSet\(.*\)\.(union|intersection|difference)\b": "Chrome 122",
    r"\bBroadcastChannel\b|\bnavigator\.locks\b": "Safari 15.4",
    r"\bimport\b.*\b(with|assert)\s*\{": "Chrome 91, Safari 17",
}
# A rule whose selector or block a browser does not know is left out as a whole. Properties and
# values that only adorn (`text-wrap`, `clip`) are left out alone, and may be used.
TOO_NEW_IN_STYLES = {
    r":has\(": "Chrome 105, Firefox 121, Safari 15.4; write it in :is()",
    r"@(layer|container|scope|property|starting-style)\b": "Chrome 99, Safari 15.4",
    r"\d(dvh|svh|lvh|dvw|svw|cqw|cqi)\b": "Chrome 108, Firefox 101, Safari 15.4",
    r"\b(color-mix|light-dark|oklch|oklab|lch|lab)\(": "Chrome 111, Safari 15.4",
    r"^\s*&|\{[^{}]*&[ .:>]": "Chrome 112, Safari 16.5: nesting",
    r"\(\s*(width|height)\s*[<>]|[<>]=?\s*\d+px": "Chrome 104, Safari 16.4: media ranges",
    r":(user-invalid|user-valid|popover-open|state\()": "Chrome 119, Safari 16.5",
    r"\bsubgrid\b": "Chrome 117, Safari 16",
    r"(?<![-\w])(translate|scale|rotate):": "Chrome 104",
}
# In `:is()` a selector that a browser does not know is left out alone.
FORGIVING = re.compile(r":is\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")


def uses(text: str, too_new: dict[str, str]) -> list[str]:
    """What of `too_new` a file uses, with the line and the browsers that lack it."""
    text = re.sub(r"/\*.*?\*/", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)
    text = FORGIVING.sub(":is()", text)
    lines = [re.sub(r"(^|\s)//.*", "", line) for line in text.splitlines()]
    return [
        f"line {number}: {line.strip()} (from {since})"
        for number, line in enumerate(lines, 1)
        for pattern, since in too_new.items()
        if "@supports" not in line and re.search(pattern, line)
    ]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_a_script_needs_no_newer_browser(path):
    assert uses(path.read_text("utf-8"), TOO_NEW_IN_SCRIPTS) == []


@pytest.mark.parametrize("path", STYLES, ids=lambda path: path.name)
def test_a_style_sheet_needs_no_newer_browser(path):
    assert uses(path.read_text("utf-8"), TOO_NEW_IN_STYLES) == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_a_dialog_opens_without_browser_support(path):
    text = path.read_text("utf-8")

    assert len(re.findall(r"\.showModal\(\)", text)) == text.count("if (sheet.showModal) sheet.")


def test_only_features_that_older_browsers_support_or_ignore_are_allowed():
    style = ".card:is(.is-chosen, :is(:has(:checked))) { text-wrap: balance; inset: 0; }"
    style += "@supports not selector(:has(*)) { a > b { width: 1px; } }"

    assert uses(style.replace(", :is(", ":is("), TOO_NEW_IN_STYLES) == []
    assert uses("const a = b?.c ?? d.replaceAll('e', ''); // .at(0)", TOO_NEW_IN_SCRIPTS) == []
