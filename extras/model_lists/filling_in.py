"""The buttons that list a server's models, and find servers, on the page that adds a judge."""

import json
from collections.abc import Callable
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.views.decorators.debug import sensitive_variables

from extras.model_lists.listing import local_servers, models_at
from extras.model_lists.server_models import ListedModel
from judging.backends.presets import public_price
from judging.errors import JudgingError
from judging.pages.judge_forms import JudgeForm
from judging.pages.workbench import AddingHelp
from studies.models import Study

# What a model of a list fills in: of the form, and of the model.
_FILLED = {
    "model": "name",
    "price_input": "price_input",
    "price_output": "price_output",
    "price_cached_input": "price_cached_input",
    "takes_images": "images",
    "takes_audio": "audio",
}
_MOST_LISTED = 100  # models on one page


@sensitive_variables()
def take(
    request: HttpRequest, study: Study, form: JudgeForm, form_class: Callable[..., JudgeForm]
) -> tuple[JudgeForm, dict[str, Any]] | None:
    """The form with the models of its server, or with the one that was chosen of them."""
    entered, user = request.POST, cast(User, request.user)
    if "find" in entered:
        return form_class(None), _found(request, study, user)
    # The return key, while no model is chosen.
    is_unnamed = "enter" in entered and ("part" in entered or not entered.get("model"))
    if not (is_unnamed or {"list", "choose"} & entered.keys()):
        return None
    access = form.access()
    if access is None:
        return form, {}
    if "choose" in entered and not is_unnamed:
        values = _filled_in(entered["choose"])
        shown = form_class(None, start=form.entered() | values)
        price = public_price(access["fields"]["base_url"], str(values.get("model", "")))
        return shown, {"chosen": values.get("model"), "price": price}
    try:
        listed = models_at(study=study, user=user, **access)
    except JudgingError as error:
        form.show(error)
        return form, {}
    part = entered.get("part", "").strip()[:200]
    fitting = [model for model in listed.models if part.lower() in model.name.lower()]
    shown = form_class(None, start=form.entered())
    return shown, {
        "listed": listed,
        "part": part,
        "n_fitting": len(fitting),
        "models": [(model, _filled_by(model)) for model in fitting[:_MOST_LISTED]],
    }


def _found(request: HttpRequest, study: Study, user: User) -> dict[str, Any]:
    try:
        port = int(request.META["SERVER_PORT"])
        return {"found": local_servers(study=study, user=user, own_port=port)}
    except JudgingError as error:
        messages.error(request, str(error))
        return {}


def _filled_by(model: ListedModel) -> str:
    """What a model of a list fills in, as the value of the button that chooses it."""
    values = {name: getattr(model, source) for name, source in _FILLED.items()}
    return json.dumps({n: str(v) if n.startswith("price") else v for n, v in values.items() if v})


def _filled_in(text: str) -> dict[str, Any]:
    """The values that such a button brings back; the form checks them like typed ones."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    known = values if isinstance(values, dict) else {}
    return {n: known[n] for n in _FILLED if isinstance(known.get(n), (str, bool))}


ADDING = AddingHelp(
    name="model lists",
    below_own_servers="model_lists/find.html",
    below_presets="model_lists/found.html",
    below_server="model_lists/list.html",
    take=take,
)
