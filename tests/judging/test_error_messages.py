"""What the errors of servers say about parameters, filters, models and keys, and what not."""

import json

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

# (error, what is refused)
REFUSED = [
    (
        {
            "message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            "param": "max_tokens",
            "code": "unsupported_parameter",
        },
        ["max_tokens"],
    ),
    (
        {
            "message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead."
        },
        ["max_tokens"],
    ),
    (
        {
            "message": "Unsupported value: 'temperature' does not support 0.7 with this model. "
            "Only the default (1) value is supported.",
            "param": "temperature",
            "code": "unsupported_value",
        },
        ["temperature"],
    ),
    (
        {"message": "Unsupported value: 'temperature' does not support 0 with this model."},
        ["temperature"],
    ),
    (
        {"message": "Unsupported parameter: 'temperature' is not supported with this model."},
        ["temperature"],
    ),
    ({"message": "Unrecognized request argument supplied: seed", "param": None}, ["seed"]),
    (
        {"message": "Unknown parameter: 'seed'.", "param": "seed", "code": "unknown_parameter"},
        ["seed"],
    ),
    ({"message": "Argument not supported on this model: seed"}, ["seed"]),
    ({"message": "Got unexpected keyword argument 'seed'"}, ["seed"]),
    (
        {"message": 'Invalid JSON payload received. Unknown name "seed": Cannot find field.'},
        ["seed"],
    ),
    ({"message": "seed: Extra inputs are not permitted"}, ["seed"]),
    ({"message": "Additional properties are not allowed ('seed' was unexpected)"}, ["seed"]),
    (
        {
            "detail": [
                {
                    "type": "extra_forbidden",
                    "loc": ["body", "seed"],
                    "msg": "Extra inputs are not permitted",
                    "input": 7,
                }
            ]
        },
        ["seed"],
    ),
    (
        {"message": {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "input": 1}]}},
        ["seed"],
    ),
    (
        {
            "message": "[{'type': 'extra_forbidden', 'loc': ('body', 'seed'), 'msg': 'Extra inputs "
            "are not permitted', 'input': 7}]",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
        ["seed"],
    ),
    ({"message": "The model deepseek-reasoner does not support the parameter `top_p`."}, ["top_p"]),
    (
        {
            "message": "`temperature` and `top_p` cannot both be specified for this model. Please "
            "use only one."
        },
        ["top_p"],
    ),
    ({"message": "`temperature` is deprecated for this model."}, ["temperature"]),
    (
        {
            "message": "Invalid parameter: 'response_format' of type 'json_schema' is not "
            "supported with this model.",
            "param": None,
        },
        ["response_format"],
    ),
    (
        {"message": "This model does not support response format `json_schema`."},
        ["response_format"],
    ),
    ({"message": "This response_format type is unavailable now"}, ["response_format"]),
    ({"message": "You are not allowed to request logprobs from this model"}, ["logprobs"]),
    ({"message": "Logprobs is not supported for the current model"}, ["logprobs"]),
    ({"message": "Logprobs is not enabled for models/gemini-2.5-pro"}, ["logprobs"]),
    (
        {
            "message": "Gaudi doesn't support logprobs. Please remove 'logprobs'/'top_logprobs' "
            "from your request to receive a response."
        },
        ["logprobs"],
    ),
    (
        {"message": "Requested sample logprobs of 20, which is greater than max allowed: 5"},
        ["top_logprobs"],
    ),
    (
        {"message": "5 is greater than the maximum of 1 - 'logprobs'", "param": "logprobs"},
        ["top_logprobs"],
    ),
    (
        {"message": "Invalid value: top_logprobs must be at most 5", "param": "top_logprobs"},
        ["top_logprobs"],
    ),
]


@pytest.mark.parametrize(("error", "names"), REFUSED, ids=range(len(REFUSED)))
def test_a_parameter_that_a_server_does_not_take_is_named(error, names):
    assert refused_parameters(error, sent=SENT) == names


NOT_REFUSED = [
    {"message": "'max_tokens' or 'max_completion_tokens' is too large: 50000."},
    {
        "message": "max_tokens is too large: 50000. This model supports at most 16384 completion "
        "tokens.",
        "param": "max_tokens",
        "code": "invalid_value",
    },
    {"message": "max_tokens is not supported above 4096 for this model", "param": "max_tokens"},
    {
        "message": "Invalid 'temperature': decimal above maximum value. Expected a value <= 1.",
        "param": "temperature",
        "code": "decimal_above_max_value",
    },
    {"message": "temperature must be between 0 and 1"},
    {"message": "This model does not support temperature above 1."},
    {"message": "The prompt asks about the temperature of a seed and violates our policy."},
    {
        "message": "This model's maximum context length is 4097 tokens, however you requested 5000 "
        "tokens (3976 in the messages, 1024 in max_tokens).",
        "code": "context_length_exceeded",
        "param": "messages",
    },
    {"message": "Unsupported parameter: 'seed'", "param": "messages", "code": "invalid_value"},
    {"message": "Unsupported parameter: 'user'.", "param": "user", "code": "unsupported_parameter"},
    {"message": "Unsupported parameter: 'tools'. We sent seed and temperature."},
    {"detail": [{"type": "extra_forbidden", "loc": ["body", "messages", 0, "seed"]}]},
    {"detail": [{"type": "missing", "loc": ["body", "seed"]}]},
    {"message": "seed: extra field"},
    {
        "message": "Invalid schema for response_format 'verdict'",
        "param": "response_format",
        "code": "invalid_schema",
    },
    {"message": "no"},
    {},
]


@pytest.mark.parametrize("error", NOT_REFUSED, ids=range(len(NOT_REFUSED)))
def test_a_complaint_about_anything_else_refuses_no_parameter(error):
    assert refused_parameters(error, sent=SENT) == []


def test_the_other_name_of_the_limit_is_refused_only_where_it_was_sent():
    both = {"message": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'."}
    other = {"message": "Unrecognized request argument supplied: max_completion_tokens"}

    assert refused_parameters(both, sent=RENAMED) == []
    assert refused_parameters(other, sent=RENAMED) == ["max_completion_tokens"]
    assert refused_parameters(other, sent=SENT) == []


@pytest.mark.parametrize(
    "error",
    [
        {
            "code": "content_filter",
            "message": "The response was filtered due to the prompt …",
            "param": "prompt",
            "status": 400,
            "innererror": {"code": "ResponsibleAIPolicyViolation"},
        },
        {
            "code": "400",
            "provider_specific_fields": {"innererror": {"code": "ResponsibleAIPolicyViolation"}},
        },
        {"code": "invalid_request", "innererror": {"code": "ResponsibleAIPolicyViolation"}},
        {"code": "content_policy_violation"},
        {"code": "data_inspection_failed"},
        {
            "code": 403,
            "message": "Your chosen model requires moderation and your input was flagged",
            "metadata": {"reasons": ["violence"], "flagged_input": "…"},
        },
        {
            "code": "400",
            "type": "None",
            "message": "litellm.BadRequestError: litellm.ContentPolicyViolationError: The response "
            "was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        },
        {"type": "invalid_request_error", "message": "Output blocked by content filtering policy"},
        {"code": 400, "message": "Your request was rejected as a result of our safety system."},
        {"code": 403, "message": "Content violates usage guidelines. Failed check: SAFETY_CHECK"},
        {"code": "500", "message": "Violated guardrail policy"},
        {"code": 1301, "message": "系统检测到输入或生成内容可能包含不安全或敏感内容"},
        {
            "message": "litellm.BadRequestError: litellm.ContentPolicyViolationError: "
            "AzureException - The response was filtered due to the prompt triggering Azure "
            "OpenAI's content management policy.",
            "code": "400",
        },
        {
            "message": "litellm.APIError: {'error': {'code': 'content_filter', 'innererror': "
            "{'content_filter_result': {'hate': {'filtered': True}}}}}"
        },
        {"message": "Output blocked by content filtering policy", "type": "invalid_request_error"},
        {"message": "Content Exists Risk", "type": "invalid_request_error"},
        {"message": "The request was rejected because it was considered high risk"},
        {"message": "Input data may contain inappropriate content.", "code": "InvalidParameter"},
        {
            "message": "Provider returned error",
            "metadata": {
                "raw": '{"error":{"code":"content_filter","message":"blocked by filter"}}'
            },
        },
        {"message": "Your request was blocked by our moderation system", "code": 403},
        {"message": "Your prompt was flagged as potentially violating our usage policy."},
        {"message": "系统检测到输入或生成内容可能包含不安全或敏感内容", "code": "1301"},
        {"message": "The guardrail intervened.", "type": "guardrail_intervened"},
        {"code": "SensitiveContentDetected", "message": "The request may contain sensitive text."},
    ],
)
def test_a_content_filter_declines(error):
    assert declines_content(error)
    assert not refuses_model(error)


@pytest.mark.parametrize(
    "error",
    [
        {},
        {"code": None},
        {"message": "content_filter"},
        {"code": 400, "innererror": "x"},
        {"message": "Invalid value in: “How does a content filter for a pool work?”"},
        {"message": "blocked: too many requests"},
        {"message": "<!DOCTYPE html><title>Cloudflare</title>Sorry, your request was blocked"},
        {"message": "Access denied: your IP address was blocked."},
        {"message": "Unsupported parameter: 'seed'"},
        {"message": "The model is overloaded; requests are refused for a minute."},
        {"message": "Which filter removes content from a web page? is longer than 5 characters"},
    ],
)
def test_other_errors_decline_nothing(error):
    assert not declines_content(error)


@pytest.mark.parametrize(
    "error",
    [
        {"code": "model_not_found", "message": "The model `x` does not exist"},
        {"message": "x/y is not a valid model ID", "code": 400},
        {"message": "Invalid model: x", "type": "invalid_model", "code": "1500"},
        {"message": "Model Not Exist", "type": "invalid_request_error", "param": None},
        {"message": "invalid model ID", "param": "model"},
    ],
)
def test_an_unknown_model_is_recognised_whatever_the_status(error):
    assert refuses_model(error)


@pytest.mark.parametrize(
    "error",
    [{"message": "The model was not sure", "param": "messages"}, {"message": "too long"}, {}],
)
def test_other_errors_are_not_about_the_model(error):
    assert not refuses_model(error)


def test_a_key_that_is_not_known_is_recognised_whatever_the_status():
    assert refuses_key({"message": "API key not valid. Please pass a valid API key."})
    assert refuses_key({"code": "invalid_api_key"})
    assert not refuses_key({"message": "no"})


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
