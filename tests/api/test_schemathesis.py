"""Requests made from the OpenAPI description, valid and not: no server errors, and no surprises.

Every operation gets requests with the ids of things that exist and with others. What a request
changes is undone after it.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections, transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode, checks
from schemathesis.core.parameters import ParameterLocation

from studies.models import Study
from tests.api.conftest import program
from tests.api.test_roles import OPERATIONS
from tests.sampling import examples

pytestmark = pytest.mark.django_db
site = get_wsgi_application()
CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
]
# Proxies and browsers add headers, so those that are not described are no fault.
_HEADERS = {ParameterLocation.HEADER}

limits = settings(
    max_examples=examples(5, every=50),
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    database=None,
)


def whole(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """The program, with files read and closed."""
    body = site(environ, start_response)
    try:
        return [b"".join(body)]
    finally:
        body.close()


@pytest.fixture(scope="module")
def described() -> Iterator[Any]:
    """The description, whose requests leave the connection of the test open."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield schemathesis.openapi.from_wsgi("/api/v1/openapi.json", whole)
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.mark.sampled(keep=6)
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_response_matches_its_description(described, world, name, mode, settings):
    settings.API_REQUESTS_PER_MINUTE = 0
    owner = program(Study.objects.get(slug="s"), "owner")
    headers = {"Authorization": f"Bearer {owner.token}"}
    method, path = OPERATIONS[name]
    operation = described[f"/api/v1/{path}"][method]
    cases = operation.as_strategy(generation_mode=mode)

    @limits
    @given(case=cases, is_known=st.booleans())
    def check(case: Any, is_known: bool) -> None:
        if is_known:
            case.path_parameters = {key: world[key] for key in case.path_parameters or {}}
        with transaction.atomic():
            response = case.call(headers=headers)
            transaction.set_rollback(True)
        wrong = {place for place, found in case.meta.components.items() if found.mode.is_negative}
        asked = CHECKS[:-1] if wrong <= _HEADERS else CHECKS
        case.validate_response(response, checks=asked)

    check()
