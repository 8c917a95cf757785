"""Nothing asks which backend a judge has: what a backend can do is stated in its capabilities."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from judging.backends import kinds

ROOT = Path(__file__).parents[2]
APPS = ("analysis", "annotation", "benchmarks", "config", "demo", "judging", "studies")
NAMES = {*kinds.names(), "jury"}
KINDS = {type(kind).__name__ for kind in kinds.BACKENDS}
BACKENDS = {name.replace("Kind", "Backend") for name in KINDS}
LOOKUPS = {"filter", "exclude", "get", "Q"}
# What a comparison needs; reading the words of a file takes less time than parsing it.
MENTIONED = re.compile("|".join(sorted({"backend", *NAMES, *KINDS, *BACKENDS})))
FIELD = re.compile(r"(?:\w+__)?backend(?:__\w+)?$")


def is_name(node: ast.AST | None) -> bool:
    """Whether an expression is a name of a backend, or a collection of such names."""
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return any(is_name(each) for each in node.elts)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.value.id in KINDS and node.attr == "name"
    return isinstance(node, ast.Constant) and node.value in NAMES


def comparisons(tree: ast.AST) -> Iterator[ast.AST]:
    """Every place that takes one way for one backend and another way for others."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(is_name(s) or getattr(s, "attr", "") == "backend" for s in sides):
                yield node
        elif isinstance(node, ast.MatchValue) and is_name(node.value):
            yield node
        elif isinstance(node, ast.Dict) and node.keys and all(map(is_name, node.keys)):
            yield node
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called == "isinstance" and {
                getattr(each, "attr", getattr(each, "id", "")) for each in ast.walk(node.args[1])
            } & (BACKENDS | KINDS):
                yield node
            if called in LOOKUPS:
                yield from (
                    k.value for k in node.keywords if FIELD.match(k.arg or "") and is_name(k.value)
                )


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("app", APPS)
def test_no_code_compares_the_name_of_a_backend(app):
    own = ROOT / "judging/backends"
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in (ROOT / app).rglob("*.py")
        if "migrations" not in path.parts and path.parent != own
        if MENTIONED.search(text := path.read_text(encoding="utf-8"))
        for node in comparisons(ast.parse(text))
    ]

    assert not found


def test_no_template_compares_the_name_of_a_backend():
    tags = re.compile(r"\{%-?\s*(?:el)?if[^%]*\bbackend\b[^%]*%\}")
    pages = [*(ROOT / "templates").rglob("*.html")]

    assert pages
    assert not [page.name for page in pages if tags.search(page.read_text(encoding="utf-8"))]
