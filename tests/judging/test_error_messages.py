"""What the errors of servers say about parameters, filters, models and keys, and what not.

`error_messages.jsonl` has errors as servers word them, each with what it is about.
"""

import json
from pathlib import Path

import pytest

from judging.backends.error_messages import (
    declines_content,
    error_body,
    refused_parameters,
    refuses_key,
    refuses_model,
)

SENT = (
    "model",
    "temperature",
    "top_p",
    "max_tokens",
    "seed",
    "response_format",
    "logprobs",
    "top_logprobs",
)
RENAMED = ("model", "temperature", "top_p", "max_completion_tokens", "seed")
ERRORS = [
    json.loads(line)
    for line in Path(__file__).with_name("error_messages.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("row", ERRORS, ids=range(len(ERRORS)))
def test_an_error_is_about_what_it_names_and_nothing_else(row):
    error = row["error"]
    about = refused_parameters(error, sent=SENT)
    for is_so, word in (
        (declines_content, "content"),
        (refuses_model, "the model"),
        (refuses_key, "the key"),
    ):
        about += [word] if is_so(error) else []

    assert about == row["about"]


def test_the_other_name_of_the_limit_is_refused_only_where_it_was_sent():
    both = {"message": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'."}
    other = {"message": "Unrecognized request argument supplied: max_completion_tokens"}

    assert refused_parameters(both, sent=RENAMED) == []
    assert refused_parameters(other, sent=RENAMED) == ["max_completion_tokens"]
    assert refused_parameters(other, sent=SENT) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"error": {"message": "no"}}', "no"),
        (b'[{"error": {"message": "no"}}]', "no"),
        (b'{"error": "no"}', "no"),
        (b'{"message": "no"}', "no"),
        (b"<html>", None),
        (b"3", None),
    ],
)
def test_the_error_is_found_wherever_the_server_has_put_it(content, message):
    assert error_body(content).get("message") == message


def test_a_long_message_takes_no_long_time_to_read():
    noise = json.dumps({"error": {"message": "temperature and seed " * 100_000}})

    assert refused_parameters(error_body(noise), sent=SENT) == []
