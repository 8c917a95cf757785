import json
import os
from argparse import ArgumentParser, BooleanOptionalAction, RawDescriptionHelpFormatter
from contextlib import suppress
from datetime import date
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from judging.backends import kinds
from judging.backends.backend import LEAVE_OUT, WIRE
from judging.backends.extra_fields import (
    EXTRA_BODY,
    EXTRA_HEADERS,
    EXTRA_QUERY,
    SECRET_HEADERS,
    check_secret_values,
    read_body,
)
from judging.backends.presets import GROUPS, presets, public_price
from judging.errors import BadJudge
from judging.management.asking import dollars
from judging.management.errors import command_error
from judging.models import Judge
from judging.runs.judges import add_judge
from judging.worker.endpoints import seal
from studies.texts.json_values import NotJson, json_value

AUTO = "auto"
# Options that are stored as given; others keep their default or current value.
_FIELDS = (
    "backend",
    "model",
    "base_url",
    "api_key_env",
    "temperature",
    "top_p",
    "max_tokens",
    "timeout_seconds",
    "outage_seconds",
    "price_input",
    "price_output",
    "price_cached_input",
    "price_day",
    "concurrency",
    "rpm",
    "tpm",
    "probabilities",
    "thinking_tokens",
    "structured",
    "batch_price",
    "is_own_server",
    "takes_images",
    "takes_audio",
)


def slots(text: str) -> int | str:
    """A number, or auto; argparse turns the `ValueError` into its message."""
    return text if text == AUTO else int(text)


def option(text: str) -> tuple[str, Any]:
    """NAME=VALUE; argparse turns the `ValueError` into its message."""
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ValueError(text)
    # Options of a group, with a dot in their name, have types; the others are words.
    if "." in name:
        with suppress(NotJson):
            return name, json_value(value)
    return name, value


def _preset_list() -> str:
    width = max(map(len, presets()))
    lines = []
    for group, title in GROUPS.items():
        lines.append(f"{title}:")
        for name, preset in presets().items():
            if preset.group == group:
                title = "" if preset.title == name else f"{preset.title}: "
                lines.append(f"  {name:{width}}  {title}{preset.words}")
    return "\n".join(lines)


def pair(text: str) -> tuple[str, str]:
    """NAME=VALUE, or empty; argparse turns the `ValueError` into its message."""
    name, equals, value = text.partition("=")
    if text and not (name and equals and value):
        raise ValueError(text)
    return name, value


def _extra_fields(fields: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """The fields of a judge with the extra fields of its requests. Raises `BadJudge`."""
    fields_of_judge: dict[str, Any] = {}
    if (body := options["extra_body"]) is not None:
        fields_of_judge[EXTRA_BODY] = read_body(body) if body.strip() else {}
    for name, pairs in (
        (EXTRA_QUERY, options["extra_query"]),
        (EXTRA_HEADERS, options["extra_header"]),
    ):
        if pairs is not None:
            fields_of_judge[name] = {key: value for key, value in pairs if key}
    sealed = {}
    if (secret := options["secret_header"]) is not None:
        variables = {name.lower(): variable for name, variable in secret if name}
        if variables and not settings.JUDGE_STORED_KEYS:
            raise BadJudge(
                "Secret headers are stored encrypted, which this installation does not allow. Ask "
                "the administrator to set JUDGE_STORED_KEYS=1."
            )
        values = {name: os.environ.get(variable, "") for name, variable in variables.items()}
        if missing := [variables[name] for name, value in values.items() if not value]:
            raise BadJudge(f"The environment variable {missing[0]} is empty. Set it and try again.")
        check_secret_values(values)
        fields_of_judge[SECRET_HEADERS] = sorted(values)
        sealed = {"sealed_headers": seal(json.dumps(values)) if values else ""}
    if not fields_of_judge:
        return {}
    return {"model_options": fields.get("model_options", {}) | fields_of_judge} | sealed


def _options_help() -> list[str]:
    return [kind.options_help for kind in kinds.backend_kinds() if kind.options_help]


class Command(BaseCommand):
    help = (
        "Add a judge: a model behind any OpenAI-compatible server, at Anthropic or Gemini, or a "
        "file of recorded replies. "
        "Repeating the command changes nothing. Prices, limits, address and key can be changed."
    )

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        return super().create_parser(
            prog_name,
            subcommand,
            epilog=f"Presets (--preset):\n\n{_preset_list()}",
            formatter_class=RawDescriptionHelpFormatter,
            **kwargs,
        )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--backend", choices=kinds.names())
        parser.add_argument("--model", help="model name on the server; for replay, the file")
        parser.add_argument(
            "--base-url",
            help="full address, for most servers including /v1 (default: the provider's)",
        )
        parser.add_argument(
            "--also-at",
            action="append",
            metavar="URL",
            help="another address of the same model; repeatable, empty removes all",
        )
        parser.add_argument(
            "--own-server",
            action=BooleanOptionalAction,
            dest="is_own_server",
            help="the server is yours, so nobody else receives the items",
        )
        parser.add_argument(
            "--api-key-env", metavar="VAR", help="environment variable with the API key"
        )
        parser.add_argument(
            "--preset",
            choices=presets(),
            metavar="PRESET",
            help="address, key and slots of a provider, a gateway, a server of your own, or a "
            "model of the paper; see below",
        )
        parser.add_argument("--temperature", type=float)
        parser.add_argument("--top-p", type=float)
        parser.add_argument("--max-tokens", type=int, help="maximum tokens of a reply")
        parser.add_argument(
            "--thinking-tokens",
            type=int,
            metavar="N",
            help="additional tokens for a model that reasons before it answers",
        )
        parser.add_argument(
            "--structured",
            action=BooleanOptionalAction,
            help="request structured output that the server enforces, or never (default: where "
            "the server can; never for the paper's models)",
        )
        parser.add_argument(
            "--takes-images", action=BooleanOptionalAction, help="the model accepts pictures"
        )
        parser.add_argument(
            "--takes-audio", action=BooleanOptionalAction, help="the model accepts sounds"
        )
        parser.add_argument(
            "--probabilities",
            choices=Judge.Probabilities.values,
            help="option probabilities: next to each reply, or instead of a reply",
        )
        parser.add_argument(
            "--concurrency",
            type=slots,
            metavar="N",
            help="maximum number of concurrent requests, or auto: as many as response times allow",
        )
        parser.add_argument("--rpm", type=int, help="requests per minute")
        parser.add_argument("--tpm", type=int, help="tokens per minute")
        parser.add_argument("--timeout-seconds", type=int, help="timeout of a request")
        parser.add_argument(
            "--outage-seconds", type=int, help="how long to wait for a server that does not respond"
        )
        parser.add_argument(
            "--price-input", type=dollars, metavar="USD", help="per million input tokens"
        )
        parser.add_argument(
            "--price-output", type=dollars, metavar="USD", help="per million output tokens"
        )
        parser.add_argument(
            "--price-cached-input",
            type=dollars,
            metavar="USD",
            help="per million input tokens from the server's cache",
        )
        parser.add_argument(
            "--price-day",
            type=date.fromisoformat,
            metavar="YYYY-MM-DD",
            help="the day on which you read the prices (default: that of a public price, or today)",
        )
        parser.add_argument(
            "--batch-price",
            type=dollars,
            metavar="SHARE",
            help="price of a batch request as a share of the normal price (default: 0.5)",
        )
        parser.add_argument(
            "--option",
            type=option,
            action="append",
            metavar="NAME=VALUE",
            help="; ".join([*_options_help(), "repeatable, empty removes one"]),
        )
        parser.add_argument(
            "--wire",
            choices=kinds.wires(),
            help="format of requests, of a backend that has several (default: a question of a few "
            "words finds it)",
        )
        parser.add_argument(
            "--extra-body", metavar="JSON", help="fields to add to each request, as a JSON object"
        )
        for field in ("query", "header"):
            parser.add_argument(
                f"--extra-{field}",
                type=pair,
                action="append",
                metavar="NAME=VALUE",
                help=f"{field} to add to each request; repeatable, none with an empty text",
            )
        parser.add_argument(
            "--secret-header",
            type=pair,
            action="append",
            metavar="NAME=VAR",
            help="header whose value is in the environment variable VAR now, to be stored "
            "encrypted; repeatable, none with an empty text",
        )
        parser.add_argument(
            "--leave-out",
            action="append",
            metavar="P",
            help=(
                "parameter to leave out because the server refuses it: temperature, top_p, "
                "max_tokens or seed; repeatable, empty removes all"
            ),
        )
        parser.add_argument(
            "--own-source",
            action="append",
            metavar="S",
            help="model, family or provider whose responses the judge must not judge; repeatable",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        fields = {key: options[key] for key in _FIELDS if options[key] is not None}
        if options["concurrency"] == AUTO:
            fields["concurrency"] = None
        if options["own_source"] is not None:
            fields["own_sources"] = options["own_source"]
        if options["option"] is not None:
            fields["model_options"] = dict(options["option"])
        if options["wire"] is not None:
            fields["model_options"] = fields.get("model_options", {}) | {WIRE: options["wire"]}
        if options["leave_out"] is not None:
            left_out = {LEAVE_OUT: ",".join(filter(None, options["leave_out"]))}
            fields["model_options"] = fields.get("model_options", {}) | left_out
        if options["also_at"] is not None:
            fields["more_base_urls"] = [address for address in options["also_at"] if address]
        try:
            fields |= _extra_fields(fields, options)
            judge, is_new = add_judge(
                name=options["name"], preset=options["preset"] or "", **fields
            )
        except BadJudge as error:
            raise command_error(error) from error
        where = f" at {', '.join(judge.base_urls)}" if judge.base_url else ""
        pinned = (
            f", revision {revision}" if (revision := judge.model_options.get("revision")) else ""
        )
        self.stdout.write(
            f"Judge “{judge.name}” {'added' if is_new else 'is up to date'}: "
            f"{judge.model}{pinned}{where}."
        )
        price = public_price(judge.base_url, judge.model)
        if is_new and options["preset"] and price and judge.price_input == price.input:
            self.stdout.write(
                f"{price.input} and {price.output} US dollars per million tokens. {price.words}"
            )
        elif is_new and options["preset"] and not judge.is_priced:
            self.stdout.write(
                "Its price is unknown, so runs cannot have a budget in dollars. Add it with "
                "--price-input and --price-output; 0 for a server of your own."
            )
        if judge.price_remark:
            self.stdout.write(f"Note: {judge.price_remark}")
