"""A small browser for simulated annotators: cookies, forms, and the content of a page."""

import time
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests
from requests.exceptions import ChunkedEncodingError

PATIENCE = 60.0  # seconds to wait for a server that does not answer
_VOID = {"input", "br", "img", "hr", "meta", "link", "source", "wbr"}
_SILENT = {"script", "style", "head", "template"}


@dataclass
class Form:
    """A form with the values that pressing its button would send."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)
    options: dict[str, list[str]] = field(default_factory=dict)  # radio name -> its values


class Page(HTMLParser):
    """The content of an HTML page: texts in order, labels by control, forms to post."""

    def __init__(self, url: str, html: str) -> None:
        super().__init__()
        self.url = url
        self.texts: list[str] = []
        self.labels: dict[str, str] = {}
        self.by_id: dict[str, str] = {}
        self.code = ""
        self.forms: list[Form] = []
        self._open: list[tuple[str, dict[str, str]]] = []
        self._form: Form | None = None
        self.feed(html)
        self.close()

    @property
    def step(self) -> str:
        """The part of the address below /s/<slug>/, for example consent or task."""
        parts = urlsplit(self.url).path.strip("/").split("/")
        return parts[2] if len(parts) > 2 else ""

    def form_with(self, name: str) -> Form:
        """The form that has a field or a choice called `name`."""
        for form in self.forms:
            if name in form.fields or name in form.options:
                return form
        raise LookupError(f"{urlsplit(self.url).path} has no form with “{name}”")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag not in _VOID:
            self._open.append((tag, values))
        if tag == "form":
            self._form = None
            if values.get("method", "get").lower() == "post":
                self._form = Form(urljoin(self.url, values.get("action") or self.url))
                self.forms.append(self._form)
        elif self._form is not None and values.get("name"):
            self._add_control(tag, values)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        while self._open and tag in {name for name, _ in self._open}:
            name, _ = self._open.pop()
            if name == tag:
                break

    def handle_data(self, data: str) -> None:
        text = " ".join(data.split())
        if not text or any(tag in _SILENT for tag, _ in self._open):
            return
        self.texts.append(text)
        for tag, values in self._open:
            if tag == "label" and "for" in values:
                self.labels[values["for"]] = f"{self.labels.get(values['for'], '')} {text}".strip()
            if "data-code" in values:
                self.code += text
            if "id" in values:
                self.by_id[values["id"]] = f"{self.by_id.get(values['id'], '')} {text}".strip()

    def _add_control(self, tag: str, values: dict[str, str]) -> None:
        assert self._form is not None  # noqa: S101 - the caller looked
        default = "submit" if tag == "button" else "text"
        name, kind = values["name"], values.get("type", default).lower()
        if tag == "input" and kind == "radio":
            self._form.options.setdefault(name, []).append(values.get("value", "on"))
        elif tag == "input" and kind not in ("submit", "button", "checkbox"):
            self._form.fields[name] = values.get("value", "")
        elif tag == "textarea":
            self._form.fields[name] = ""
        elif tag in ("button", "input") and kind == "submit" and "value" in values:
            self._form.options.setdefault(name, []).append(values["value"])


class Browser:
    """One annotator's browser. Requests are repeated while the server is briefly unavailable."""

    def __init__(self, base_url: str, *, user_agent: str = "Thirdperson demo") -> None:
        self._base_url = base_url
        self._session = requests.Session()
        self._session.headers["User-Agent"] = user_agent

    def get(self, path: str, **params: str) -> Page:
        """Open a page, following redirects."""
        response = self._send("GET", urljoin(self._base_url, path), params=params)
        return Page(response.url, response.text)

    def send(self, form: Form, **fields: str) -> str:
        """Send `form` with `fields` filled in and return the address of the redirect.

        When this returns, the server has acknowledged the form. Raises `requests.HTTPError` when it
        was refused.
        """
        data = {**form.fields, **fields}
        response = self._send("POST", form.action, data=data, allow_redirects=False)
        return urljoin(form.action, response.headers.get("Location", form.action))

    def close(self) -> None:
        self._session.close()

    def _send(self, method: str, url: str, **kwargs: Any) -> requests.Response:
        """Repeat a request until the server answers; sending a form twice is harmless."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                response = self._session.request(method, url, timeout=30, **kwargs)
            except (requests.ConnectionError, requests.Timeout, ChunkedEncodingError):
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
                continue
            response.raise_for_status()
            return response
