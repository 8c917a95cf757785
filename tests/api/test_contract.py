"""The API as it is described: to people in docs/api.md, to programs in OpenAPI."""

import re
from pathlib import Path

from django.test import Client

from tests.api.test_roles import OPERATIONS, RULES

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "docs/api.md", *sorted(ROOT.glob("extras/*/docs/*.md"))]
ROW = re.compile(
    r"^\| `(GET|POST|PUT|PATCH|DELETE) ([^`]+)` \|[^|]*\| ([^|]+) \| ([^|]+) \|$", re.MULTILINE
)
ROWS = [row for page in PAGES for row in ROW.findall(page.read_text("utf-8"))]


def test_every_route_is_documented_with_its_role_and_scopes():
    documented = {(method, path): (role, scopes) for method, path, role, scopes in ROWS}
    described = {
        route: (role, ", ".join(scopes))
        for name, route in OPERATIONS.items()
        for role, _, scopes in [RULES[name]]
    }
    of_accounts = {route: documented[route][0] for route, rule in described.items() if not rule[0]}

    assert set(documented) == set(described)
    assert set(of_accounts.values()) == {"–", "may create studies"}
    assert {
        route: documented[route]
        for route, rule in described.items()
        if documented[route] != (rule[0] or documented[route][0], rule[1])
    } == {}


def test_the_description_for_programs_needs_no_token(db):
    found = Client().get("/api/v1/openapi.json")

    assert found.status_code == 200
    described = found.json()
    assert described["openapi"].startswith("3.1")
    for path in described["paths"].values():
        for operation in path.values():
            assert operation["description"]
            problem = operation["responses"]["default"]["content"]
            assert list(problem) == ["application/problem+json"]
            _, _, scopes = RULES[operation["operationId"]]
            assert operation["security"] == [{"AccessTokenBearer": scopes}]
