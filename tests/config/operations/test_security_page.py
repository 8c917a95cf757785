"""Each line of the threat model names a test, and the test exists."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / "docs/security.md", *ROOT.glob("extras/*/docs/*.md")]


def threats() -> list[list[str]]:
    """The cells of each row of the tables of threats."""
    texts = [path.read_text("utf-8") for path in PAGES]
    tables = [text.partition("\n## Threats\n")[2].partition("\n## ")[0] for text in texts]
    lines = [[row for row in table.splitlines() if row.startswith("| ")] for table in tables]
    rows = [row for found in lines for row in found[2:]]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def functions_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_each_threat_names_a_test_that_exists():
    rows = threats()
    named = [re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", row[2]) for row in rows]

    assert len(rows) > 25
    assert [row[0] for row, found in zip(rows, named, strict=True) if not found] == []
    missing = [
        f"{path}::{name}"
        for found in named
        for path, name in found
        if not (ROOT / path).is_file() or name not in functions_of(ROOT / path)
    ]
    assert missing == []
