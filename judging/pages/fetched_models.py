"""The button “Fetch models” on the page that adds a judge, with the rules of adding a judge."""

import datetime as dt
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.views.decorators.debug import sensitive_variables

from judging.backends.backend import check_endpoint
from judging.backends.model_lists import offered_models
from judging.catalog.access import with_access
from judging.catalog.connection_test import explained_fault
from judging.engine.interface import BackendFault
from judging.errors import BadJudge, JudgingError
from judging.models import Judge
from judging.pages.judge_forms import JudgeForm
from judging.worker.endpoints import kind_of, settings_of
from studies.models import Study, StudyLog
from studies.services.accounts.sign_ins import Limit, minutes
from studies.services.studies import record

LIMIT = Limit(30, dt.timedelta(minutes=10))
_FETCHED = "models listed"


@sensitive_variables()
def fetch_models(*, study: Study, user: User, access: dict[str, Any]) -> list[str]:
    """Ask the server that a form names for its models. Raises `JudgingError`."""
    fields = access["fields"]
    named = {
        name: fields[name] for name in ("backend", "base_url", "api_key_env") if name in fields
    }
    named["base_url"] = named["base_url"].strip()
    judge = Judge(name=urlsplit(named["base_url"]).hostname or "")
    keys = {"key": access.get("key", ""), "key_of": access.get("key_of")}
    for name, value in with_access(judge, named, study=study, user=user, **keys).items():
        setattr(judge, name, value)
    asked = settings_of(judge)
    check_endpoint(asked)
    if wait := LIMIT.wait(StudyLog.objects.filter(user=user, event=_FETCHED)):
        raise BadJudge(
            f"You have fetched models {LIMIT.attempts} times in ten minutes. Wait {minutes(wait)} "
            "min, or enter the model’s name yourself."
        )
    record(study, _FETCHED, user=user, address=judge.base_url)
    try:
        return offered_models(kind_of(judge), asked, seconds=8)
    except BackendFault as fault:
        what, advice = explained_fault(fault, judge, asked)
        if 300 <= (fault.status or 0) < 500 and fault.status not in (401, 402, 403, 429):
            what, advice = (
                "The server has no list of models at this address.",
                "Does it end in /v1?",
            )
        raise BadJudge(f"{what} {advice} Or enter the model’s name yourself.") from None


@sensitive_variables()
def take(
    request: HttpRequest, study: Study, user: User, form: JudgeForm, make: Callable[..., JudgeForm]
) -> tuple[JudgeForm, dict[str, Any]] | None:
    """The form with the models of its server, or with the chosen one; None for another button."""
    entered = request.POST
    if not (
        {"list", "choose"} & entered.keys() or ("enter" in entered and not entered.get("model"))
    ):
        return None
    if (access := form.access()) is None:
        return form, {}
    if "choose" in entered:
        return make(None, start=form.entered() | {"model": entered["choose"][:200]}), {}
    try:
        models = fetch_models(study=study, user=user, access=access)
    except JudgingError as error:
        form.show(error)
        return form, {}
    return make(None, start=form.entered()), {"models": models}
