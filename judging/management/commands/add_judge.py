import json
from argparse import ArgumentParser, BooleanOptionalAction
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import BaseCommand

from judging.backends import registry
from judging.backends.backend import LEAVE_OUT
from judging.backends.decision_formats import WIRES
from judging.backends.decisions import WIRE
from judging.errors import BadJudge
from judging.management.errors import command_error
from judging.models import Judge
from judging.runs.judges import PRESETS, add_judge

AUTO = "auto"
# Options that are stored as given; an option that is not given keeps its default or its value.
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


def dollars(text: str) -> Decimal:
    """An amount of money; argparse turns the `ValueError` into its message."""
    try:
        amount = Decimal(text)
    except InvalidOperation:
        raise ValueError(text) from None
    if not amount.is_finite():
        raise ValueError(text)
    return amount


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
        with suppress(json.JSONDecodeError):
            return name, json.loads(value)
    return name, value


def _options_help() -> list[str]:
    return [kind.options_help for kind in registry.backend_kinds() if kind.options_help]


class Command(BaseCommand):
    help = (
        "Add a judge: a model behind any OpenAI-compatible server, at Anthropic or Gemini, or a "
        "file of recorded replies. "
        "The same command again changes nothing. Prices, limits, address and key can be changed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--backend", choices=registry.names())
        parser.add_argument("--model", help="model name on the server; for replay, the file")
        parser.add_argument(
            "--base-url",
            help="full address, of most servers including /v1 (default: the provider's)",
        )
        parser.add_argument(
            "--also-at",
            action="append",
            metavar="URL",
            help="another address of the same model; repeatable, none with an empty text",
        )
        parser.add_argument(
            "--own-server",
            action=BooleanOptionalAction,
            dest="is_own_server",
            help="the server is yours: nobody else receives what is sent there",
        )
        parser.add_argument(
            "--api-key-env", metavar="VAR", help="environment variable with the API key"
        )
        parser.add_argument("--preset", choices=PRESETS, help="a judge of the paper, or a provider")
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
            help="request structured output that the server enforces (json_schema)",
        )
        parser.add_argument(
            "--takes-images", action=BooleanOptionalAction, help="the model takes pictures"
        )
        parser.add_argument(
            "--takes-audio", action=BooleanOptionalAction, help="the model takes sounds"
        )
        parser.add_argument(
            "--probabilities",
            choices=Judge.Probabilities.values,
            help="of the options: next to each reply, or only them instead of a reply",
        )
        parser.add_argument(
            "--concurrency",
            type=slots,
            metavar="N",
            help="maximum concurrent requests, or auto: as many as the response times allow",
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
            help="per million input tokens that the server has in its cache",
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
            choices=WIRES,
            help="format of a decision endpoint: openai asks /decisions, systemone /systemone "
            "(default: a question of a few words finds it)",
        )
        parser.add_argument(
            "--leave-out",
            action="append",
            metavar="P",
            help="parameter that the server refuses, so that requests leave it out: temperature, "
            "top_p or seed; repeatable, none with an empty text",
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
