"""The OpenAPI description, with what every route has in common."""

from collections.abc import Iterable
from typing import Any

from ninja import NinjaAPI, Router

from api.problems import MEDIA_TYPE
from api.v1.scopes import AccessTokenBearer

PREFIX = "/api/v1"
_PROBLEM = {
    "title": "Problem",
    "description": "Problem details (RFC 9457).",
    "type": "object",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "The kind of error, for programs."},
        "detail": {"type": "string", "description": "What is wrong and how to fix it."},
        "errors": {
            "type": "array",
            "description": "Each value at fault.",
            "items": {
                "type": "object",
                "required": ["field", "message"],
                "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
}
_ANY_PROBLEM = {
    "description": "A problem. Nothing of the request was stored.",
    "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": r"^[!-~]+$"},
    "description": "Any text that is used once. The same request again is answered as before.",
}


def describe(api: NinjaAPI, routers: Iterable[Router]) -> dict[str, Any]:
    """The schema of Ninja, with problems, idempotency keys and scopes of the routes."""
    schema: dict[str, Any] = dict(api.get_openapi_schema(path_prefix=f"{PREFIX}/"))
    schema.setdefault("components", {}).setdefault("schemas", {})["Problem"] = _PROBLEM
    scopes = _scopes(routers)
    for path in schema["paths"].values():
        for method, operation in path.items():
            # OpenAPI 3.1 takes the names of roles here, whatever the kind of security.
            names = scopes[operation["operationId"]]
            operation["security"] = [dict.fromkeys(operation["security"][0], names)]
            operation["responses"]["default"] = _ANY_PROBLEM
            if method == "post":
                operation.setdefault("parameters", []).append(_KEY)
    return schema


def _scopes(routers: Iterable[Router]) -> dict[str, list[str]]:
    """The scopes that each operation needs, by its id."""
    return {
        str(operation.operation_id): [*map(str, bearer.scopes)]
        for router in routers
        for view in router.path_operations.values()
        for operation in view.operations
        for bearer in operation.auth_callbacks
        if isinstance(bearer, AccessTokenBearer)
    }
