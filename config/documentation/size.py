"""The size of the program: `python -m config.documentation.size` prints a Markdown table.

Lines are those of tracked Python files without migrations. A reader of a module is another module
that imports it; Django is a reader of modules that it finds by their place.
"""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = ("studies", "annotation", "judging", "analysis", "api", "config", "thirdperson")
SHORT = 110
# Found by name or place, without an import.
_PLACED = re.compile(
    r"(^|/)(admin|apps|models|tasks|urls|\w+_urls|views|\w+_views|__main__|__init__|conftest)\.py$"
    r"|/management/commands/|/templatetags/|/settings/|/models/"
)


def tracked() -> dict[str, str]:
    """The text of every tracked Python file, by its path."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "*.py"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = filter(None, listed.stdout.split("\0"))
    return {path: (ROOT / path).read_text("utf-8") for path in paths if (ROOT / path).exists()}


def size(texts: Mapping[str, str], *tops: str) -> tuple[int, int]:
    """Lines and files below the folders `tops`, without migrations."""
    counted = [text for path, text in texts.items() if path.startswith(tops) and _counts(path)]
    return sum(text.count("\n") for text in counted), len(counted)


def _counts(path: str) -> bool:
    return "/migrations/" not in path


def product(texts: Mapping[str, str]) -> dict[str, str]:
    tops = tuple(f"{name}/" for name in (*CORE, "extras"))
    return {path: text for path, text in texts.items() if path.startswith(tops) and _counts(path)}


def imports(text: str) -> Iterator[str]:
    """Names of modules that a file imports, and of what it imports from them."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def read_once(texts: Mapping[str, str]) -> list[str]:
    """Short modules with a single reader."""
    readers: Counter[str] = Counter()
    for text in texts.values():
        readers.update(set(imports(text)))
    return sorted(
        path
        for path, text in texts.items()
        if readers[path.removesuffix(".py").replace("/", ".")] == 1
        and text.count("\n") < SHORT
        and not _PLACED.search(path)
    )


def repeated_names(texts: Mapping[str, str]) -> dict[str, int]:
    """Names of classes and types at the top of modules that occur more than once."""
    names = Counter(
        name for text in texts.values() for node in ast.parse(text).body for name in _named(node)
    )
    return {name: count for name, count in sorted(names.items()) if count > 1}


def _named(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.ClassDef) and node.name not in ("Command", "Migration"):
        yield node.name
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript | ast.BinOp):
        # `Rows = Sequence[…]` and `Answer = str | None`; constants are in capitals.
        for target in node.targets:
            if isinstance(target, ast.Name) and re.fullmatch(r"[A-Z][a-z]\w*", target.id):
                yield target.id


def rows(texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    def shown(size: tuple[int, int]) -> str:
        return f"{size[0]:,} lines in {size[1]:,} files"

    core = [f"{name}/" for name in CORE]
    yield "core", shown(size(texts, *core))
    yield "extras", shown(size(texts, "extras/"))
    for name in sorted({path.split("/")[1] for path in texts if path.startswith("extras/")}):
        if not name.endswith(".py"):
            yield f"extra `{name}`", shown(size(texts, f"extras/{name}/"))
    own = product(texts)
    yield f"modules under {SHORT} lines with one reader", f"{len(read_once(own)):,}"
    yield "classes and types that share a name", _listed(repeated_names(own))
    moves = [text for path, text in texts.items() if re.search(r"/migrations/\d", path)]
    yield "migrations", f"{sum(t.count(chr(10)) for t in moves):,} lines in {len(moves)} files"
    yield "tests", shown(size(texts, "tests/"))
    yield "demo", shown(size(texts, "demo/"))


def _listed(sizes: Mapping[str, int]) -> str:
    most = sorted(sizes.items(), key=lambda pair: -pair[1])[:8]
    listed = ", ".join(f"{name} {count}" for name, count in most)
    return f"{len(sizes)} names" + (f" (most: {listed})" if sizes else "")


def table(lines: Iterable[tuple[str, str]]) -> str:
    return "\n".join(["| | now |", "| --- | --- |", *(f"| {a} | {b} |" for a, b in lines)]) + "\n"


if __name__ == "__main__":
    sys.stdout.write(table(rows(tracked())))
