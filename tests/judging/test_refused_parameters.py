"""What servers say when they refuse a parameter, each in its own words, and what is then sent."""

import json

import pytest

from judging.backends.error_messages import declines_content, error_body
from judging.backends.parameters import SEED, Adjustments
from judging.engine.interface import Parameters

WANTED = {
    "model": "m",
    "temperature": 0.7,
    "top_p": 0.95,
    "max_tokens": 1024,
    "seed": SEED,
    "logprobs": True,
    "top_logprobs": 20,
    "response_format": "json_schema",
}


def openai(message, **more):
    return {"error": {"message": message, "type": "invalid_request_error", "param": None} | more}


def has(*names):
    return lambda sent: any(name in sent for name in names)


def warm(sent):
    return sent.get("temperature", 1) != 1


def many(most):
    return lambda sent: sent.get("top_logprobs", 0) > most


def both(sent):
    return {"temperature", "top_p"} <= sent.keys()


LITELLM = (
    "litellm.UnsupportedParamsError: {} does not support parameters: {}, for model={}. To drop "
    "these, set `litellm.drop_params=True` or for proxy:\n\n`litellm_settings:\n drop_params: true`"
)
# Server, status, body, and whether it refuses a request with these parameters.
WORDINGS = [
    (
        "OpenAI o1",
        400,
        openai(
            "Unsupported value: 'temperature' does not support 0.7 with this model. Only the default (1) value is supported.",
            param="temperature",
            code="unsupported_value",
        ),
        warm,
    ),
    (
        "OpenAI gpt-5",
        400,
        openai(
            "Unsupported parameter: 'top_p' is not supported with this model.",
            param="top_p",
            code="unsupported_parameter",
        ),
        has("top_p"),
    ),
    (
        "OpenAI limit",
        400,
        openai(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            param="max_tokens",
            code="unsupported_parameter",
        ),
        has("max_tokens"),
    ),
    (
        "OpenAI logprobs",
        403,
        openai("You are not allowed to request logprobs from this model", param=None),
        has("logprobs"),
    ),
    ("Azure seed", 400, openai("Unrecognized request argument supplied: seed"), has("seed")),
    (
        "Azure api-version",
        400,
        openai(
            "response_format value as json_schema is enabled only for api versions 2024-08-01-preview and later",
            code="BadRequest",
        ),
        has("response_format"),
    ),
    (
        "Azure limit",
        400,
        openai(
            "max_tokens: Field not allowed; this deployment takes max_completion_tokens.",
            code="invalid_payload",
        ),
        has("max_tokens"),
    ),
    (
        "LiteLLM seed",
        400,
        openai(LITELLM.format("anthropic", "['seed']", "claude-sonnet-4"), code="400"),
        has("seed"),
    ),
    (
        "LiteLLM two",
        400,
        openai(
            LITELLM.format("bedrock", "{'logprobs': True, 'top_logprobs': 20}", "titan"), code="400"
        ),
        has("logprobs"),
    ),
    (
        "LiteLLM as 500",
        500,
        openai(LITELLM.format("vertex_ai", "['seed', 'logprobs']", "palm"), code="500"),
        has("seed", "logprobs"),
    ),
    (
        "LiteLLM gpt-5",
        400,
        openai(
            "litellm.UnsupportedParamsError: gpt-5 models (including gpt-5-codex) don't support temperature=0.7. Only temperature=1 is supported."
        ),
        warm,
    ),
    (
        "Anthropic through a gateway",
        400,
        openai(
            "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
        ),
        both,
    ),
    (
        "Anthropic thinking",
        400,
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "`temperature` may only be set to 1 when thinking is enabled.",
            },
        },
        warm,
    ),
    (
        "Anthropic top_p",
        400,
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.",
            },
        },
        has("top_p"),
    ),
    (
        "Bedrock",
        400,
        {
            "message": "Malformed input request: #: extraneous key [seed] is not permitted, please reformat your input and try again."
        },
        has("seed"),
    ),
    (
        "vLLM extra",
        400,
        {
            "object": "error",
            "message": "[{'type': 'extra_forbidden', 'loc': ('body', 'seed'), 'msg': 'Extra inputs are not permitted', 'input': 7}]",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
        has("seed"),
    ),
    (
        "vLLM logprobs",
        400,
        {
            "object": "error",
            "message": "Requested sample logprobs of 20, which is greater than max allowed: 5",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
        many(5),
    ),
    (
        "vLLM grammar",
        400,
        {
            "object": "error",
            "message": "guided_json requires a grammar backend, which this server was started without",
            "type": "BadRequestError",
            "code": 400,
        },
        has("response_format"),
    ),
    (
        "SGLang",
        400,
        {
            "object": "error",
            "message": "Unsupported response format: {'type': 'json_schema'} since the grammar backend is none",
            "code": 400,
        },
        has("response_format"),
    ),
    (
        "Groq logprobs",
        400,
        openai("property 'logprobs' is unsupported, did you mean 'n'?"),
        has("logprobs", "top_logprobs"),
    ),
    (
        "Groq schema",
        400,
        openai(
            "This model does not support response format `json_schema`. See supported models at https://console.groq.com/docs/structured-outputs"
        ),
        has("response_format"),
    ),
    (
        "Mistral seed",
        422,
        {
            "object": "error",
            "message": {
                "detail": [
                    {
                        "type": "extra_forbidden",
                        "loc": ["body", "seed"],
                        "msg": "Extra inputs are not permitted",
                        "input": 7,
                    }
                ]
            },
            "type": "invalid_request_error",
            "param": None,
            "code": None,
        },
        has("seed"),
    ),
    (
        "Mistral top_p",
        400,
        {
            "object": "error",
            "message": "top_p must be 1 when using greedy sampling.",
            "type": "invalid_request_error",
            "code": "3051",
        },
        has("top_p"),
    ),
    (
        "Mistral logprobs",
        422,
        {
            "detail": [
                {
                    "type": "value_error",
                    "loc": ["body", "top_logprobs"],
                    "msg": "Value error, not available on this tier",
                }
            ]
        },
        has("logprobs", "top_logprobs"),
    ),
    (
        "Together",
        400,
        {
            "id": "o1",
            "error": {
                "message": "Invalid request: logprobs should be an integer of 0 or 1",
                "type": "invalid_request_error",
                "param": "logprobs",
                "code": None,
            },
        },
        has("logprobs"),
    ),
    (
        "Fireworks logprobs",
        400,
        {
            "error": {
                "object": "error",
                "type": "invalid_request_error",
                "message": "Input should be less than or equal to 5, field: 'top_logprobs', value: 20",
            }
        },
        many(5),
    ),
    (
        "Fireworks extra",
        400,
        {
            "error": {
                "object": "error",
                "type": "invalid_request_error",
                "message": "Extra inputs are not permitted, field: 'seed', value: 7",
            }
        },
        has("seed"),
    ),
    (
        "DeepSeek reasoner",
        400,
        openai(
            "The reasoner does not support logprobs or top_logprobs.", code="invalid_request_error"
        ),
        has("logprobs"),
    ),
    (
        "DeepSeek format",
        400,
        openai("This response_format type is unavailable now", code="invalid_request_error"),
        has("response_format"),
    ),
    (
        "Gemini unknown name",
        400,
        [
            {
                "error": {
                    "code": 400,
                    "message": 'Invalid JSON payload received. Unknown name "seed": Cannot find field.',
                    "status": "INVALID_ARGUMENT",
                }
            }
        ],
        has("seed"),
    ),
    (
        "Gemini generic",
        400,
        [
            {
                "error": {
                    "code": 400,
                    "message": "Request contains an invalid argument.",
                    "status": "INVALID_ARGUMENT",
                }
            }
        ],
        has("logprobs", "top_logprobs"),
    ),
    (
        "Gemini range",
        400,
        [
            {
                "error": {
                    "code": 400,
                    "message": "Unable to submit request because it has a topP value of 0.95 but the supported value is 1.0.",
                    "status": "INVALID_ARGUMENT",
                }
            }
        ],
        has("top_p"),
    ),
    (
        "OpenRouter none",
        404,
        {
            "error": {
                "message": "No endpoints found that can handle the requested parameters. To learn more about provider routing, visit: https://openrouter.ai/docs/provider-routing",
                "code": 404,
            }
        },
        has("seed"),
    ),
    (
        "OpenRouter provider",
        400,
        {
            "error": {
                "message": "Provider returned error",
                "code": 400,
                "metadata": {
                    "raw": '{"error":{"message":"Unknown parameter: top_p"}}',
                    "provider_name": "x",
                },
            }
        },
        has("top_p"),
    ),
    ("OpenRouter bare", 400, {"error": {"message": "Provider returned error", "code": 400}}, warm),
    (
        "TGI top_n_tokens",
        422,
        {
            "error": "Input validation error: `top_n_tokens` must be >= 0 and <= 5. Given: 20",
            "error_type": "validation",
        },
        many(5),
    ),
    (
        "TGI grammar",
        422,
        {"error": "Input validation error: grammar is not supported", "error_type": "validation"},
        has("response_format"),
    ),
    (
        "TGI seed",
        422,
        "Failed to deserialize the JSON body into the target type: seed: invalid value: integer `-7`, expected u64",
        has("seed"),
    ),
    (
        "llama.cpp",
        400,
        {
            "error": {
                "code": 400,
                "message": 'Either "json_schema" or "grammar" can be specified, but not both',
                "type": "invalid_request_error",
            }
        },
        has("response_format"),
    ),
    (
        "llama.cpp logprobs",
        501,
        {
            "error": {
                "code": 501,
                "message": "logprobs is not supported with this sampler",
                "type": "not_supported_error",
            }
        },
        has("logprobs"),
    ),
    (
        "Ollama",
        400,
        {
            "error": {
                "message": 'invalid format: expected "json" or a JSON schema',
                "type": "invalid_request_error",
            }
        },
        has("response_format"),
    ),
    (
        "Kimi",
        400,
        {
            "error": {
                "message": "invalid temperature: only 1 is allowed for this model",
                "type": "invalid_request_error",
            }
        },
        warm,
    ),
    (
        "Qwen",
        400,
        {
            "error": {
                "code": "invalid_parameter_error",
                "param": None,
                "message": "<400> InternalError.Algo.InvalidParameter: Range of top_p should be (0.0, 0.9]",
                "type": "invalid_request_error",
            }
        },
        has("top_p"),
    ),
    (
        "Perplexity",
        400,
        {
            "error": {
                "message": '["At body -> seed: Extra inputs are not permitted"]',
                "type": "bad_request",
                "code": 400,
            }
        },
        has("seed"),
    ),
    (
        "xAI",
        400,
        {
            "code": "Client specified an invalid argument",
            "error": "Argument not supported on this model: logprobs",
        },
        has("logprobs"),
    ),
    (
        "Cohere",
        422,
        {
            "message": "invalid request: k and p sampling cannot be combined with a fixed sampling state"
        },
        has("seed"),
    ),
    (
        "Cerebras",
        400,
        {
            "message": "The following fields are not currently supported: logprobs",
            "type": "invalid_request_error",
            "param": "logprobs",
            "code": "wrong_api_format",
        },
        has("logprobs", "top_logprobs"),
    ),
    ("a gateway without words", 400, {"message": "Bad Request"}, has("seed")),
    (
        "a gateway in another language",
        400,
        {"error": {"message": "参数错误，请检查文档。", "code": "1210"}},
        has("temperature"),
    ),
    ("a gateway with a page", 400, "<html><h1>400 Bad Request</h1></html>", has("response_format")),
    ("a gateway without words, two", 422, {}, has("seed", "logprobs")),
    ("a gateway without words, the limit", 400, {"message": "Bad Request"}, has("max_tokens")),
    (
        "a gateway that takes nothing",
        400,
        {"message": "Bad Request"},
        has("seed", "temperature", "top_p", "logprobs", "top_logprobs", "response_format"),
    ),
]


def ask(adjustments, refuses, status, body, *, question, at_most=12):
    """Ask one question until it is answered; return the errors, or None if it is given up."""
    content = body if isinstance(body, str) else json.dumps(body)
    error = error_body(content)
    for errors in range(at_most):
        sent = adjustments.current
        if not refuses(sent.values):
            adjustments.succeeded(sent, question=question)
            return errors
        if declines_content(error):
            return None
        if not adjustments.learn(error, sent, status=status, question=question):
            return None
    raise AssertionError("It is asked for ever.")


@pytest.mark.parametrize(
    ("status", "body", "refuses"), [w[1:] for w in WORDINGS], ids=[w[0] for w in WORDINGS]
)
def test_a_refused_parameter_is_left_out_whatever_the_words(status, body, refuses):
    adjustments = Adjustments(Parameters(WANTED))

    errors = [ask(adjustments, refuses, status, body, question=n) for n in range(30)]

    assert None not in errors
    assert sum(errors) <= 14
    assert errors[15:] == [0] * 15  # learnt for good
    sent = adjustments.current.values
    # Everything else is sent: with it back, the request would be refused.
    for name in WANTED.keys() - sent.keys():
        if name not in ("max_tokens", "logprobs", "top_logprobs"):
            assert refuses(sent | {name: WANTED[name]}), name
    if "logprobs" not in sent:
        assert refuses(sent | {"logprobs": True, "top_logprobs": 5})


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize("bad", [[0], [0, 1], [0, 1, 2, 3], [4], range(8)])
@pytest.mark.parametrize(
    "message",
    [
        "Bad Request",
        "Cannot answer: at which temperature does a seed grow, and with which top_p?",
        "This prompt asks about an unsupported parameter: seed.",
    ],
)
def test_a_question_that_is_refused_whatever_is_sent_changes_no_later_request(status, bad, message):
    adjustments = Adjustments(Parameters(WANTED))

    errors = [
        ask(adjustments, lambda sent, n=n: n in bad, status, {"message": message}, question=n)
        for n in range(20)
    ]

    assert [n for n in range(20) if errors[n] is None] == list(bad)
    assert adjustments.current.values == WANTED


def test_a_bad_question_in_front_does_not_hide_a_parameter_that_is_refused():
    adjustments = Adjustments(Parameters(WANTED))

    errors = [
        ask(
            adjustments,
            lambda sent, n=n: n == 0 or "seed" in sent,
            400,
            {"message": "Bad Request"},
            question=n,
        )
        for n in range(20)
    ]

    assert errors[0] is None
    assert None not in errors[1:]
    assert adjustments.current.values == {k: v for k, v in WANTED.items() if k != "seed"}


def test_requests_under_way_when_something_was_learnt_are_sent_again():
    adjustments = Adjustments(Parameters(WANTED))
    full, error = adjustments.current, {"message": "Bad Request"}

    assert adjustments.learn(error, full, question=1)
    assert adjustments.learn(error, full, question=2)

    bare = adjustments.current
    assert bare.values == {"model": "m", "max_tokens": 1024}
    adjustments.succeeded(bare, question=2)  # says nothing about what question 1 was refused for
    assert adjustments.current is bare
    adjustments.succeeded(bare, question=1)
    assert len(adjustments.current.values) > 2
