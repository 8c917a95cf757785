"""Add judges, also from presets, and check that they can be asked."""

from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db import transaction

from judging.backends.backend import (
    LEAVE_OUT,
    JudgeSettings,
    check_endpoint,
    is_openai,
    provider_key,
)
from judging.backends.extra_fields import EXTRA_FIELDS, ExtraFields
from judging.backends.kinds import DEFAULT, backend_kind
from judging.backends.presets import PAPER, TO_REPLACE, presets, public_price
from judging.errors import NOT_ALLOWED, BadJudge, FailureReason, InvalidValue
from judging.models import SAMPLED, Judge, JudgeRun
from judging.worker.endpoints import keep_found, kind_of, settings_of
from studies.statements import clock

LOCAL_SLOTS = 16  # of a model in this process, which uses its memory
# The fields that answers depend on. They cannot change once a run has used the judge.
IDENTITY = (*SAMPLED, "model_options", "own_sources")
PRICES = ("price_input", "price_output", "price_cached_input")

_NEEDS_ADDRESS = FailureReason(
    "needs_address",
    "{names[preset]} {preset} needs {field}: the address of a server that offers {model}, for "
    "example http://gpu1:8000/v1. OpenAI does not.",
)
_CACHED_COSTS_MORE = FailureReason(
    "cached_costs_more",
    "{field} must not be above {names[price_input]}: budgets are kept by the higher price.",
)
_CACHED_ALONE = FailureReason(
    "cached_alone", "{field} needs {names[price_input]} and {names[price_output]} too."
)
_NO_ADDRESSES = FailureReason(
    "no_addresses", "{field}: the backend {backend} has no server, so it has no addresses."
)
_SAME_ADDRESS = FailureReason(
    "same_address", "{field} names {value} twice. Name every address once."
)
_NOT_OWN = FailureReason(
    "not_own", "{field}: {value} is the address of a provider. Its server is not your own."
)
_NEEDS_MODEL = FailureReason(
    "needs_model",
    "{names[preset]} {preset} needs {field}: the name of one of the provider's models.",
)
_TO_REPLACE = FailureReason(
    "to_replace",
    "{field}: replace {part} in {value} by your own. {replace}",
)
_NOT_PRINTABLE = FailureReason(
    "not_printable", "{field} {value} holds a character that cannot be shown. Remove it."
)
_LEADING_DASH = FailureReason(
    "leading_dash",
    "{field} “{value}” starts with a dash, so commands would read it as an option. Start it with "
    "another character.",
)
_LONG_NAME = FailureReason("long_name", "{field} has {length} characters. Use at most {most}.")
_PRICE_STAYS = FailureReason(
    "price_stays",
    "{field}: the costs of runs are recorded by this price, so it cannot be removed. Enter the new "
    "price, or add another judge.",
)
_INCONSISTENT = FailureReason("inconsistent", "{problem}")


def add_judge(*, name: str, preset: str = "", **fields: Any) -> tuple[Judge, bool]:
    """Store a judge and return it with whether it is new.

    Repeated calls change nothing. Address, key, limits and prices of an existing judge can be
    changed; fields that affect answers cannot, once a run has used it. Raises `BadJudge`.
    """
    judge = Judge.objects.filter(name=name).first() or Judge(name=name)
    is_new = judge.pk is None
    if preset:
        brought = _preset_fields(preset)
        if not is_new:
            brought.pop("structured", None)
        if judge.base_url:
            brought.pop("base_url", None)  # a judge that has an address keeps it
        fields = brought | fields
        _need_address(preset, fields.get("base_url", judge.base_url))
        if not fields.get("model", judge.model):
            raise InvalidValue("model", _NEEDS_MODEL, preset=preset)
    if is_new:
        fields = _defaults(fields.get("backend", DEFAULT)) | _first(preset, fields) | fields
    if "model_options" in fields:
        both = _options_that_stay(judge, fields) | fields["model_options"]
        others = {name: of for name, of in both.items() if of != "" and name not in EXTRA_FIELDS}
        fields["model_options"] = others | ExtraFields.of(both).stored
    store_judge(judge, fields)
    if options := kind_of(judge).found_options(settings_of(judge)):
        keep_found(judge, options)
    return judge, is_new


def _first(preset: str, fields_set: dict[str, Any]) -> dict[str, Any]:
    """What a preset adds to a new judge; prices that are given are not mixed with others."""
    if not preset:
        return {}
    fields = first_fields(
        preset, model=fields_set["model"], base_url=fields_set.get("base_url", "")
    )
    if {"price_input", "price_output"} & fields_set.keys():
        fields = {name: value for name, value in fields.items() if not name.startswith("price_")}
    return fields


def _options_that_stay(judge: Judge, fields: dict[str, Any]) -> dict[str, Any]:
    """The options of a judge with new fields; another model has another revision."""
    if fields.get("model", judge.model) == judge.model:
        return judge.model_options
    return {name: value for name, value in judge.model_options.items() if name != "revision"}


def store_judge(judge: Judge, fields: dict[str, Any]) -> None:
    """Change a judge and store it; what runs have recorded stays. Raises `BadJudge`.

    A stored key belongs to its address: with a new address and no new key, it is removed.
    """
    if "base_url" in fields:
        fields = fields | {"base_url": fields["base_url"].strip()}
    fields = {**fields, **backend_kind(fields.get("backend", judge.backend)).always}
    wanted = {**fields, "model_options": _without_address(judge, fields.get("model_options"))}
    before = {"model_options": _without_address(judge, judge.model_options)}
    changed = [
        key
        for key in ("name", *IDENTITY)
        if key in fields and before.get(key, getattr(judge, key)) != wanted[key]
    ]
    if judge.pk is not None and changed and judge.runs.exists():
        raise BadJudge(
            f"Judge “{judge.name}” has runs, so its {changed[0].replace('_', ' ')} can no longer "
            "change. Add a judge with another name."
        )
    if "more_base_urls" in fields:
        addresses = [address.strip() for address in fields["more_base_urls"]]
        fields = fields | {"more_base_urls": addresses}
    if new_addresses(judge, fields):
        fields = {"sealed_key": "", "key_by": None, "sealed_headers": ""} | fields
    if not (judge.pk and judge.runs.exists()) and any(
        name in fields and getattr(judge, name) != fields[name]
        for name in ("backend", "model", "base_url", "model_options")
    ):
        judge.reply_form = {}  # it was found with another server or model
    was_priced, old_addresses = judge.is_priced, judge.base_urls
    prices = [getattr(judge, name) for name in PRICES]
    fields = {"model_options": _options_that_stay(judge, fields)} | fields
    for key, value in fields.items():
        setattr(judge, key, value)
    _check(judge)
    if fields.get("price_day") is None and prices != [getattr(judge, name) for name in PRICES]:
        judge.price_day = _day_of_price(judge)
    make_exact(judge)  # before the transaction, because it can ask a hub
    with transaction.atomic():
        if judge.pk is not None and was_priced != judge.is_priced:
            _keep_recorded_costs(judge)
        if judge.pk is not None:
            _note_addresses(
                judge, [address for address in judge.base_urls if address not in old_addresses]
            )
        judge.save()


def _day_of_price(judge: Judge) -> date | None:
    """The day of a price that was just entered: that of the public one, if it is that."""
    if not judge.is_priced:
        return None
    public = public_price(judge.base_url, judge.model)
    if public and (public.input, public.output) == (judge.price_input, judge.price_output):
        return public.day
    return clock.now().date()


def _without_address(judge: Judge, options: dict[str, Any] | None) -> dict[str, Any]:
    """Options without those that say how a server is reached, which may change like its address."""
    of_address = kind_of(judge).options_of_address
    return {name: value for name, value in (options or {}).items() if name not in of_address}


def make_exact(judge: Judge) -> None:
    """Fill in the options that must not change once a run has used the judge, without storing it.

    Raises `BadJudge` if the exact revision of a local model is not known.
    """
    if judge.pk is None or kind_of(judge).options_of_address or not judge.runs.exists():
        judge.model_options = dict(kind_of(judge).exact_options(settings_of(judge)))


def keep_exact(judge: Judge) -> None:
    """`make_exact` for a stored judge that a run is about to use. Raises `BadJudge`."""
    before = judge.model_options
    if judge.capabilities.is_local:
        make_exact(judge)
        if judge.model_options != before:
            judge.save(update_fields=["model_options"])


def new_addresses(judge: Judge, fields: dict[str, Any]) -> list[str]:
    """The addresses that `fields` add to a judge, which its stored key does not cover."""
    wanted = [
        fields.get("base_url", judge.base_url),
        *fields.get("more_base_urls", judge.more_base_urls),
    ]
    return [address for address in wanted if address not in judge.base_urls]


def _note_addresses(judge: Judge, added: list[str]) -> None:
    if not added:
        return
    for run in judge.runs.filter(state__in=(*JudgeRun.ACTIVE, *JudgeRun.RESUMABLE)):
        run.parameters["later_base_urls"] = [*run.later_base_urls, *added]
        run.save(update_fields=["parameters"])


def _keep_recorded_costs(judge: Judge) -> None:
    """A price applies to future requests: note earlier unpriced usage, and keep a price in use."""
    asked = judge.runs.filter(tokens__gt=0)
    if not judge.is_priced and asked.exists():
        raise InvalidValue("price_input", _PRICE_STAYS)
    for run in asked:
        run.parameters |= {"unpriced_tokens": run.tokens}
        run.save(update_fields=["parameters"])


def _defaults(backend: str) -> dict[str, Any]:
    capabilities = backend_kind(backend).capabilities
    defaults: dict[str, Any] = {}
    if capabilities.is_local:
        defaults["concurrency"] = LOCAL_SLOTS
    if not capabilities.costs_money:
        defaults |= {"price_input": Decimal(0), "price_output": Decimal(0)}
    return defaults


def _preset_fields(preset: str) -> dict[str, Any]:
    """What a judge is by its preset: the same at every call."""
    if preset not in presets():
        raise BadJudge(f"There is no preset “{preset}”. Use one of: {', '.join(presets())}.")
    chosen = presets()[preset]
    fields: dict[str, Any] = {
        "backend": chosen.backend,
        "own_sources": list(chosen.own_sources),
    }
    if chosen.model:
        fields["model"] = chosen.model
    if chosen.group == PAPER:
        fields["structured"] = False  # as the paper asked
    if chosen.base_url:
        fields["base_url"] = chosen.base_url
    return fields


def first_fields(preset: str, *, model: str = "", base_url: str = "") -> dict[str, Any]:
    """What a preset adds to a new judge, which can differ later: key, slots and prices.

    Its key and its prices are for its own address.
    """
    chosen = presets()[preset]
    is_there = base_url in ("", chosen.base_url) or TO_REPLACE in chosen.base_url
    fields: dict[str, Any] = {}
    if chosen.slots:
        fields["concurrency"] = chosen.slots
    if is_there and chosen.key_variable != provider_key(chosen.base_url):
        fields["api_key_env"] = chosen.key_variable
    if chosen.leave_out:
        fields["model_options"] = {LEAVE_OUT: chosen.leave_out}
    if chosen.is_own:
        fields |= {"price_input": Decimal(0), "price_output": Decimal(0)}
    elif price := public_price(base_url or chosen.base_url, model):
        fields |= {"price_input": price.input, "price_output": price.output}
        fields |= {"price_cached_input": price.cached, "price_day": price.day}
    return fields


def _need_address(preset: str, base_url: str) -> None:
    """Raise an error if OpenAI would be asked for a model that it does not offer."""
    chosen = presets()[preset]
    if not chosen.base_url and (not base_url or is_openai(base_url)):
        raise InvalidValue("base_url", _NEEDS_ADDRESS, preset=preset, model=chosen.model)


def check_replaced(field: str, address: str) -> None:
    """Raise `InvalidValue` if an address still has a part of a preset that is to be replaced."""
    if TO_REPLACE not in address:
        return
    part = TO_REPLACE + address.partition(TO_REPLACE)[2].partition("/")[0].partition(".")[0]
    known = (preset.replace for preset in presets().values() if part in preset.base_url)
    reason = {"part": part, "value": address, "replace": next(known, "")}
    raise InvalidValue(field, _TO_REPLACE, **reason)


def check_name(field: str, name: str, *, of: str = "name") -> None:
    """Check that a name is one line of visible characters. Raises `InvalidValue`.

    `of`: the field of a judge that it is stored in.
    """
    most: int = Judge._meta.get_field(of).max_length  # type: ignore[union-attr, assignment]
    if len(name) > most:
        raise InvalidValue(field, _LONG_NAME, length=len(name), most=most)
    if not name.isprintable():
        raise InvalidValue(field, _NOT_PRINTABLE, value=ascii(name))
    if name.startswith("-"):
        raise InvalidValue(field, _LEADING_DASH, value=name)


def _check(judge: Judge) -> None:
    check_name("name", judge.name)
    check_name("model", judge.model, of="model")
    kind = kind_of(judge)
    judge.base_url = judge.base_url or kind.default_base_url
    check_replaced("base_url", judge.base_url)
    settings = settings_of(judge)
    _check_more_addresses(judge, settings)
    kind.check(settings)
    if kind.capabilities.needs_endpoint:
        check_endpoint(settings)
    _check_cached_price(judge)
    _check_own_server(judge)
    judge.check_capabilities()
    try:
        judge.full_clean(validate_unique=False)
    except ValidationError as error:
        field, problems = next(iter(error.message_dict.items()))
        reason = _INCONSISTENT if field == NON_FIELD_ERRORS else NOT_ALLOWED
        raise InvalidValue(field, reason, problem=problems[0]) from None


def _check_more_addresses(judge: Judge, settings: JudgeSettings) -> None:
    if not judge.more_base_urls:
        return
    if not judge.capabilities.needs_endpoint:
        raise InvalidValue("more_base_urls", _NO_ADDRESSES, backend=judge.backend)
    known = {judge.base_url.rstrip("/")}
    for address in judge.more_base_urls:
        if address.rstrip("/") in known:
            raise InvalidValue("more_base_urls", _SAME_ADDRESS, value=address)
        known.add(address.rstrip("/"))
        check_endpoint(replace(settings, base_url=address), field="more_base_urls")


def _check_cached_price(judge: Judge) -> None:
    if judge.price_cached_input is None:
        return
    if judge.price_input is None:
        raise InvalidValue("price_cached_input", _CACHED_ALONE)
    if judge.price_cached_input > judge.price_input:
        raise InvalidValue("price_cached_input", _CACHED_COSTS_MORE)


def _check_own_server(judge: Judge) -> None:
    for address in judge.base_urls if judge.is_own_server else ():
        if provider_key(address):
            raise InvalidValue("is_own_server", _NOT_OWN, value=address)
