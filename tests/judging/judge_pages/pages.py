"""The forms of judges as a browser sends them, and what their pages say."""

import html
import re

from django.urls import reverse

SECRET = "sk-very-secret-0123456789"
ADDRESS = "http://127.0.0.1:9/v1"
LIST, ADD, NEW = (reverse(f"judging:{name}", args=["s"]) for name in ("judges", "add-judge", "new"))
FORM = {
    "name": "mine",
    "model": "mock",
    "base_url": ADDRESS,
    "key_from": "none",
    "api_key_env": "",
    "key": "",
    "price_input": "10",
    "price_output": "100",
    "batch_price": "0.5",
    "concurrency": "8",
    "rpm": "",
    "tpm": "",
    "timeout_seconds": "60",
    "outage_seconds": "60",
    "temperature": "0.7",
    "top_p": "0.95",
    "max_tokens": "1024",
    "thinking_tokens": "0",
    "probabilities": "no",
    "own_sources": "openai, gpt",
}


def page_of(judge, name="judge", *more):
    return reverse(f"judging:{name}", args=["s", judge.pk, *more])


def words(response):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", response.text)).split())


def submit(client, url=ADD, **fields):
    return client.post(url, FORM | fields)


class Counted:
    def __init__(self):
        self.statements = []

    def __call__(self, execute, sql, params, many, context):
        self.statements.append(sql)
        return execute(sql, params, many, context)
