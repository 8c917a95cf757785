"""Simulated annotators who differ, and a simulated model; both answer what is shown to them.

Each person has a skill, a preferred side, an own use of the scale of certainty, and a load: some
do half of their items. Nobody here is a real person or a real model.
"""

import json
import random
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from django.test import Client

from annotation.models import Annotator, Assignment, Invitation
from studies.models import Study
from tests.annotation.pages.walking import token_of
from tests.judging.llm_server import Answer, completion, decision, error

LETTERS = "abcde"
GROUPS = ("woman", "man")
OTHER = {"r1": "r2", "r2": "r1"}


class Fact(NamedTuple):
    """The texts of an item's responses, and the one that its persona prefers."""

    r1: str
    r2: str
    right: str


class Person:
    """Somebody who takes part through the pages, without scripts."""

    def __init__(self, study: Study, number: int, facts: Mapping[str, Fact]) -> None:
        self._study, self._number, self._facts = study, number, facts
        self._rng = random.Random(f"person {number}")
        self.skill = self._rng.uniform(0.55, 0.95)
        self.side_bias = self._rng.uniform(-0.2, 0.2)
        self.certainty = self._rng.uniform(40, 85)
        self.client = Client()
        self.pid = f"person-{number}"

    @property
    def annotator(self) -> Annotator:
        return Annotator.objects.filter(study=self._study).order_by("pk")[self._place]

    def arrive(self) -> bool:
        """Go up to the first item; whether there is one for them."""
        self._place = Annotator.objects.filter(study=self._study).count()
        base = f"/s/{self._study.slug}/"
        if self._study.entry == Study.Entry.LINK:
            self.client.post(base)
        else:
            Invitation.objects.get_or_create(study=self._study, key=self.pid)
            self.client.get(f"{base}?PROLIFIC_PID={self.pid}&STUDY_ID=st&SESSION_ID=se{self.pid}")
        page = self._send(f"{base}consent/", consent="yes")
        if page.endswith("/about/"):
            age = "a" if self._number % 2 else "b"
            gender = GROUPS[self._number % 3 == 0]
            page = self._send(f"{base}about/", attr_age=age, attr_gender=gender)
        if page.endswith("/instructions/"):
            page = self._send(f"{base}instructions/")
        return "/task/" in page

    def answer(self, at_most: int) -> None:
        """Answer so many items, in the order of the pages; skip the second in some cases."""
        for count in range(at_most):
            assignment = self._open()
            if assignment is None:
                return
            url = f"/s/{self._study.slug}/task/{assignment.position}/"
            if count == 1 and self._number % 4 == 3:
                self._send(f"{url}skip/", assignment=token_of(self.client.get(url)))
            else:
                self._answer_page(url, assignment)

    def _open(self) -> Assignment | None:
        """The next item; main items have facts, others are not in these studies."""
        mine = Assignment.objects.filter(annotator=self.annotator, state="reserved")
        return mine.select_related("item").order_by("position").first()

    def finish(self) -> None:
        base = f"/s/{self._study.slug}/"
        page = self.client.get(f"{base}task/", follow=True).request["PATH_INFO"]
        if page.endswith("/profile/"):
            self._send(page, do="decide", show="")
        if "/task/" not in page:
            self._send(f"{base}feedback/", comments="")

    def withdraw(self) -> None:
        self._send(f"/s/{self._study.slug}/withdraw/", confirm="yes")

    def _answer_page(self, url: str, assignment: Assignment) -> None:
        fields = {
            "assignment": token_of(self.client.get(url)),
            "active_ms": str(self._rng.randint(4_000, 60_000)),
            **self._certainty(),
        }
        if assignment.option_order:
            places = self._rng.sample(range(1, len(assignment.option_order) + 1), k=3)
            fields |= {f"place_{LETTERS[n]}": str(place) for n, place in enumerate(places)}
        else:
            fields["choice"] = self._choice(assignment)
        self._send(url, **fields)
        if assignment.item.advice:
            fields |= {"choice": self._choice(assignment), "after_advice": "yes"}
            fields["assignment"] = token_of(self.client.get(url))
            self._send(url, **fields)

    def _choice(self, assignment: Assignment) -> str:
        if self._study.allow_tie and self._rng.random() < 0.2:
            return "tie"
        if self._rng.random() < abs(self.side_bias):
            return "a" if self.side_bias > 0 else "b"
        right = self._facts[assignment.item.key].right == assignment.shown_first
        return "a" if right == (self._rng.random() < self.skill) else "b"

    def _certainty(self) -> dict[str, str]:
        if not self._study.ask_certainty:
            return {}
        value = min(100, max(1, round(self._rng.gauss(self.certainty, 15))))
        return {"certainty": str(value), "control": "slider"}

    def _send(self, url: str, **fields: str) -> str:
        """Post a form; where that leads."""
        answer = self.client.post(url, fields)
        assert answer.status_code == 303, (url, fields, answer.content.decode()[-3000:])
        return str(answer["Location"])


def answers_from_elsewhere(
    study: Study, facts: Mapping[str, Fact], *, people: int, each: int
) -> list[dict[str, Any]]:
    """Rows of a file of answers, by people who differ."""
    keys = sorted(facts)
    rows = []
    for number in range(people):
        rng = random.Random(f"elsewhere {number}")
        skill = rng.uniform(0.55, 0.95)
        for place in range(each):
            key = keys[(number * each + place) % len(keys)]
            right = facts[key].right
            choice = right if rng.random() < skill else OTHER[right]
            if study.allow_tie and rng.random() < 0.2:
                choice = "tie"
            rows.append(
                {
                    "rater_id": f"elsewhere-{number}",
                    "item_id": key,
                    "choice": choice,
                    "certainty": None if choice == "tie" else rng.randint(1, 100),
                    "shown_first": rng.choice(["r1", "r2"]),
                }
            )
    return rows


class Model:
    """A simulated model that knows the personas' answers two times of three."""

    def __init__(self, facts: Mapping[str, Fact], *, fails: bool = False) -> None:
        self._facts, self._fails = facts, fails

    def answer(self, body: dict[str, Any], _number: int) -> Answer:
        told = body.get("messages") or body["input"]
        if isinstance(told, list):
            told = "\n".join(str(message["content"]) for message in told)
        text = str(told)
        found = re.search(r"Question (\w+):", text)
        assert found, text
        fact = self._fact(found[1], text)
        rng = random.Random(f"{body.get('seed')} {text}")
        if self._fails and rng.random() < 0.3:
            return error(400, "This content cannot be processed.")
        choice = fact.right if rng.random() < 0.67 else OTHER[fact.right]
        first = "r1" if text.rfind(fact.r1) < text.rfind(fact.r2) else "r2"
        letter = "A" if choice == first else "B"
        if ("[[C]]" in text or '"C"' in json.dumps(body)) and rng.random() < 0.2:
            letter = "C"
        return self._reply(body, text, letter, rng.randint(20, 99), rng)

    def _fact(self, named: str, text: str) -> Fact:
        """The item: one of the pairs of its question, by the responses that the prompt shows."""
        pairs = [fact for key, fact in self._facts.items() if key.split(":")[0] == named]
        return next(fact for fact in pairs if fact.r1 in text and fact.r2 in text)

    def _reply(
        self, body: dict[str, Any], text: str, letter: str, certainty: int, rng: random.Random
    ) -> Answer:
        if "questions" in body:
            labels = [each["value"] for each in body["questions"][0]["choices"]]
            share = rng.uniform(0.5, 0.99)
            rest = dict.fromkeys(labels, (1 - share) / (len(labels) - 1))
            return decision(body, rest | {letter: share})
        if "response_format" in body:
            return completion(json.dumps({"answer": letter, "certainty": certainty}))
        words = f"[[{letter}]]"
        if "[[quite confident]]" in text or "quite confident" in text:
            words += " [[quite confident]]"
        elif "[[X]]" in text:
            words += f" [[{certainty}]]"
        reply = completion(words)
        if body.get("logprobs"):
            content = json.loads(reply.body)
            share = rng.uniform(0.5, 0.99)
            other = {"A": "B", "B": "A", "C": "A"}[letter]
            content["choices"][0]["logprobs"] = {"content": _tokens(words, letter, share, other)}
            reply.body = json.dumps(content).encode()
        return reply


def _tokens(words: str, letter: str, share: float, other: str) -> list[dict[str, Any]]:
    """The tokens of a reply; that of the letter has two likely alternatives."""
    from math import log

    before, _, after = words.partition(letter)
    likely = [
        {"token": letter, "logprob": log(share)},
        {"token": other, "logprob": log(1 - share)},
    ]
    return [
        {"token": before, "logprob": 0.0, "top_logprobs": []},
        {"token": letter, "logprob": log(share), "top_logprobs": likely},
        {"token": after, "logprob": 0.0, "top_logprobs": []},
    ]
