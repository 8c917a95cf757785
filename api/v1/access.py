"""What a token may do, the study it may access, and exceptions of the apps as problems."""

from collections.abc import Iterator
from typing import Any, cast

from django.contrib.auth.models import User
from django.core.exceptions import (
    NON_FIELD_ERRORS,
    ObjectDoesNotExist,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
    ValidationError,
)
from django.db import InterfaceError, OperationalError
from django.forms import BaseForm
from django.http import Http404, HttpRequest
from ninja.errors import HttpError
from ninja.errors import ValidationError as BadShape
from ninja.security import HttpBearer

from analysis.errors import AnalysisError, PlanIsFrozen
from annotation.errors import AnnotationError
from api.problems import Problem
from judging.errors import FieldError, JudgingError
from studies.errors import FrozenStudy, OpeningRefused, StaleVersion, StudyError
from studies.importers.files.faults import Refused
from studies.models import AccessToken, Membership, Study
from studies.pages.listing import role_of
from studies.selectors import get_study

READ, WRITE = AccessToken.Scope.READ, AccessToken.Scope.WRITE
SPEND, EXPORT = AccessToken.Scope.SPEND, AccessToken.Scope.EXPORT


class AccessTokenBearer(HttpBearer):
    """Checks the scopes of the token that `api.requests` has found."""

    def __init__(self, *scopes: str) -> None:
        super().__init__()
        self.scopes = scopes

    def __call__(self, request: HttpRequest) -> AccessToken:
        token: AccessToken = request.access_token  # type: ignore[attr-defined]
        missing = [scope for scope in self.scopes if scope not in token.scopes]
        if missing:
            raise Problem(
                403,
                f"This token lacks the scope {' and '.join(missing)}. Create a token that has it.",
                code="insufficient_scope",
            )
        return token

    def authenticate(self, request: HttpRequest, token: str) -> Any:
        raise NotImplementedError("api.requests authenticates, before the route is known")


def needs(*scopes: str) -> AccessTokenBearer:
    return AccessTokenBearer(*scopes)


VIEWER, EDITOR = Membership.Role.VIEWER, Membership.Role.EDITOR
OWNER = Membership.Role.OWNER


def user_of(request: HttpRequest) -> User:
    return cast(User, request.user)


def study_of(request: HttpRequest, slug: str, role: str = VIEWER) -> Study:
    """The study `slug` for a user with at least `role`; otherwise 404."""
    return get_study(request.user, slug, role=role)


def owns(request: HttpRequest, study: Study) -> bool:
    return role_of(request.user, study) == OWNER


_CONFLICTS = (FrozenStudy, StaleVersion, OpeningRefused, PlanIsFrozen)
_REFUSALS = (StudyError, AnnotationError, JudgingError, AnalysisError)
_INVALID = "The request is not valid. See errors."
_MOST_FAULTS = 200


def problem_of(error: Exception) -> Problem | None:
    """The problem for an exception; None if it is an error of the program."""
    match error:
        case Problem():
            return error
        case BadShape():
            return Problem(422, _INVALID, errors=list(_of_shape(error)))
        case HttpError(__cause__=Problem() as cause):
            return cause  # of our parser, which Ninja replaces by a sentence without a reason
        case HttpError():
            return Problem(error.status_code, str(error))
        case Http404() | ObjectDoesNotExist():  # deleted since it was found
            return Problem(404, "There is nothing at this address, or this token may not see it.")
        case PermissionDenied():
            return Problem(403, "Your account may not do this. Ask an administrator.")
        case RequestDataTooBig():
            return Problem(413, "The body is larger than the server accepts.")
        case SuspiciousOperation():
            return Problem(400, "The request could not be read.")
        case OperationalError() | InterfaceError():
            return Problem(
                503,
                "The database is busy or unavailable. Send the request again.",
                headers={"Retry-After": "5"},
            )
        case Refused():
            faults = [
                {"field": fault.field, "message": str(fault)}
                for fault in error.faults[:_MOST_FAULTS]
            ]
            return Problem(422, "The file has faults, so nothing was stored.", errors=faults)
        case ValidationError():
            return Problem(422, _INVALID, errors=list(_of_model(error)))
        case FieldError():
            return Problem(422, str(error), errors=[{"field": error.field, "message": str(error)}])
        case _ if isinstance(error, _CONFLICTS):
            return Problem(409, str(error))
        case _ if isinstance(error, _REFUSALS):
            return Problem(422, str(error))
    return None


def refuse_form(form: BaseForm) -> None:
    """Raise a problem for each fault of a form."""
    errors = [
        {"field": "" if name == NON_FIELD_ERRORS else name, "message": " ".join(map(str, texts))}
        for name, texts in form.errors.items()
    ]
    raise Problem(422, _INVALID, errors=errors)


def _of_shape(error: BadShape) -> Iterator[dict[str, str]]:
    for fault in error.errors:
        # The first two parts are the place of the value and the name of our parameter.
        where = [str(part) for part in fault["loc"]]
        field = ".".join(where[2:] or where[-1:])
        yield {"field": field, "message": str(fault["msg"])}


def _of_model(error: ValidationError) -> Iterator[dict[str, str]]:
    if not hasattr(error, "error_dict"):
        yield {"field": "", "message": " ".join(error.messages)}
        return
    for name, texts in error.message_dict.items():
        field = "" if name == NON_FIELD_ERRORS else name
        yield {"field": field, "message": " ".join(texts)}
