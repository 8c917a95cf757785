"""A small study as a row describes it: items, people, judges."""

import io
import json
import random
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.management import CommandError, call_command

from annotation import services
from annotation.models import Annotator
from annotation.seats.quotas import Quota, QuotaQuestion, set_quotas
from judging.backends.kinds import names
from judging.models import JudgeRun
from judging.runs import lifecycle
from judging.runs.spec import RunSpec
from judging.runs.start import start_run
from studies.models import Item, Study
from studies.services.studies import create_study, set_state
from tests.judging.llm_server import LlmServer
from tests.meetings.covering import Row
from tests.meetings.people import Fact, Model, Person, answers_from_elsewhere

QUESTIONS = 24
EACH = 6  # items for a person
NAMES = ("one", "two", "three")
GENDER = QuotaQuestion("gender", "Your gender?", {"woman": "Woman", "man": "Man"})
QUOTAS = {
    "full": [Quota(8, {"gender": "woman"}), Quota(4, {"gender": "man"})],
    "unequal": [Quota(10, {"gender": "woman"}), Quota(2, {"gender": "man"}), Quota(2)],
}


class Building:
    """Makes the study of one row, with commands, pages and services that people use too."""

    person = Person

    def __init__(
        self, row: Row, llm: LlmServer, folder: Path, *, slug: str = "meeting", turned: bool = False
    ) -> None:
        """With `turned` every file has its lines in the opposite order."""
        has_sets = apps.is_installed("extras.option_sets")
        self.row, self.slug = row if has_sets else {**row, "sets": "two"}, slug
        self._llm, self._folder, self._turned = llm, folder, turned
        self.out = io.StringIO()

    def build(self) -> Study:
        self.study = self._create()
        self.facts = self._facts()
        set_state(study_id=self.study.pk, state=Study.State.OPEN)
        if self.row["entry"] == "file":
            self._answers_from_a_file()
        else:
            self._people()
        self._judge()
        self.study.refresh_from_db()
        return self.study

    def _file(self, name: str, rows: list[dict[str, Any]]) -> Path:
        path = self._folder / f"{self.slug}-{name}.jsonl"
        lines = [json.dumps(row) + "\n" for row in rows]
        path.write_text("".join(reversed(lines) if self._turned else lines), "utf-8")
        return path

    def command(self, *arguments: str) -> str:
        out = io.StringIO()
        call_command(*arguments, stdout=out, stderr=out)
        return out.getvalue()

    def _create(self) -> Study:
        row = self.row
        study = create_study(
            slug=self.slug,
            title="A meeting",
            entry="link" if row["entry"] == "file" else row["entry"],
            perspective=row["perspective"],
            allow_tie=row["tie"] != "none",
            tie_meaning="either" if row["tie"] == "either" else "difference",
            ask_certainty=row["certainty"] != "unasked",
            certainty_control="slider" if row["certainty"] == "unasked" else row["certainty"],
            set_display="whole" if row["sets"] == "three_whole" else "pairs",
            items_per_annotator=EACH,
            language=row["language"],
            contact="lab@example.org",
            seed=5,
        )
        items = self._file("items", self._items())
        sets = [] if row["sets"] == "two" else ["--option", "pairs=all"]
        self.command("import_items", self.slug, str(items), *sets)
        if row["quotas"] != "no":
            set_quotas(study_id=study.pk, questions=[GENDER], groups=QUOTAS[row["quotas"]])
        return study

    def _items(self) -> list[dict[str, Any]]:
        n_responses = 2 if self.row["sets"] == "two" else 3
        count = QUESTIONS if n_responses == 2 else QUESTIONS // 2
        return [self._item(number, n_responses) for number in range(count)]

    def _item(self, number: int, n_responses: int) -> dict[str, Any]:
        key = f"q{number:02}"
        item: dict[str, Any] = {
            "id": key,
            "persona": self._persona(number),
            "question": f"Question {key}: what shall I do?",
            "responses": [
                {"key": f"r{n + 1}", "text": f"Plan {NAMES[n]} of {key}."}
                for n in range(n_responses)
            ],
            "topic": ("food", "work")[number % 2],
            "language": self.row["language"],
        }
        known = {"all": True, "some": number % 3 > 0, "none": False}[self.row["truth"]]
        if known:
            item["first_person"] = {"label": _order(key, n_responses)[0]}
            if n_responses == 3:
                item["first_person"]["ranking"] = _order(key, n_responses)
        if self.row["advice"] == "yes" and number % 2:
            item["advice"] = {"text": "Think of the evening.", "kind": "advice", "favors": "r1"}
        return item

    def _persona(self, number: int) -> dict[str, Any]:
        kind = self.row["personas"]
        if kind == "missing":
            return {"id": "nobody", "text": "Nothing is known about this person."}
        number = number if kind == "distinct" else number % 6
        ages, parties = ("18-34", "35-54", "55+"), ("left", "right")
        features = [
            {"key": "age", "label": "Age", "value": ages[number % 3]},
            {"key": "party", "label": "Party", "value": parties[number % 2]},
        ]
        if number % 5:  # somebody did not say it
            features.append({"key": "job", "label": "Job", "value": "baker"})
        return {"id": f"p{number}", "features": features}

    def _facts(self) -> dict[str, Fact]:
        facts = {}
        for item in Item.objects.filter(study=self.study):
            texts = item.r1["text"], item.r2["text"]
            question = item.key.split(":")[0]
            best = _order(question, 2 if ":" not in item.key else 3)
            ranks = [best.index(f"r{NAMES.index(text.split()[1]) + 1}") for text in texts]
            facts[item.key] = Fact(*texts, "r1" if ranks[0] < ranks[1] else "r2")
        return facts

    def _answers_from_a_file(self) -> None:
        people, each = {"none": (0, 0), "some_items": (4, 5), "one_person": (1, 24)}.get(
            self.row["answers"], (12, 18)
        )
        if not people:
            return
        rows = answers_from_elsewhere(self.study, self.facts, people=people, each=each)
        file = self._file("answers", rows)
        self.command("import_annotations", self.slug, str(file))
        if self.row["leaving"] == "excluded":
            raters = Annotator.objects.filter(study=self.study)
            rater = max(raters, key=lambda one: one.pseudonym)
            services.exclude(annotator_id=rater.pk, reason="Too fast.", reopen_seats=False)

    def _people(self) -> None:
        wanted = {"none": 0, "some_items": 3, "one_person": 1, "full": 16}[self.row["answers"]]
        came = []
        for number in range(wanted):
            person = self.person(self.study, number, self.facts)
            if person.arrive():
                # Loads differ: every third person stops in the middle.
                stops = self.row["answers"] != "full" and number % 3 == 2
                person.answer(3 if stops else EACH)
                if not stops:
                    person.finish()
                came.append(person)
        if came:
            self._leave(came[0])

    def _leave(self, person: Person) -> None:
        leaving, annotator = self.row["leaving"], person.annotator
        if leaving == "withdrawn":
            person.withdraw()
        elif leaving in ("excluded", "reopened"):
            services.exclude(
                annotator_id=annotator.pk, reason="Too fast.", reopen_seats=leaving == "reopened"
            )
        elif leaving == "returned":
            services.mark_returned(annotator_id=annotator.pk)
        elif leaving == "rejected":
            services.reject(annotator_id=annotator.pk)
        elif leaving == "timed_out":
            still = Annotator.objects.filter(study=self.study, ended_at=None).first()
            if still:
                services.time_out(annotator_id=still.pk)

    def _judge(self) -> None:
        kind = self.row["run"]
        if kind == "none":
            return
        self._llm.answer = Model(self.facts, fails=kind == "part").answer
        options = ["--structured"] if kind == "structured" else []
        backend = "openai"
        if self.row["probabilities"] == "only" and "decisions" in names():
            backend, self._llm.routes = "decisions", ("/decisions",)
            options += ["--wire", "openai"]
        elif self.row["probabilities"] != "no":
            options += ["--probabilities", "beside"]
        self.command(
            *("add_judge", "simulated", "--backend", backend, "--model", "mock"),
            *("--base-url", self._llm.url, "--price-input", "1", "--price-output", "2", *options),
        )
        if kind == "imported":
            self._judgments_from_a_file()
            return
        if kind == "mitigation":  # first, so that an ordinary run could take its answers over
            self._ask("--inline", "--bias-probe", "none+reflection")
        self._ask("--inline", *{"limit": ("--limit", "9")}.get(kind, ()), **self._orders(kind))
        if kind in ("probe", "mitigation"):
            self._ask("--inline", "--bias-probe", "length")
        if kind == "mitigation":
            self._ask("--inline", "--bias-probe", "length+reflection")
        if kind == "cancelled":
            self._cancel()

    def _orders(self, kind: str) -> dict[str, str]:
        if kind == "both_orders":
            return {"orders": "both"}
        return {"samples": "3"} if kind == "samples" else {}

    def _ask(self, *arguments: str, **options: str) -> None:
        more = [f"--{name}={value}" for name, value in options.items()]
        if self.row["language"] == "ar":
            more.append("--language=en")  # there are no prompts in Arabic
        if self._turned:
            more.append("--fresh")  # not the answers that the study it is compared with has
        try:
            self.out.write(
                self.command(
                    *("judge", self.slug, "--judge", "simulated", "--yes"),
                    *("--setting", self.row["setting"], *arguments, *more),
                )
            )
        except CommandError as error:
            if self.row["run"] != "part" or "failed" not in str(error):
                raise

    def _cancel(self) -> None:
        """A second run, which somebody ends before it was worked off."""
        judge = JudgeRun.objects.get(study=self.study).judge
        spec = RunSpec(
            study_id=self.study.pk,
            judge_id=judge.pk,
            setting=self.row["setting"],
            seed=99,
            prompt_language="en" if self.row["language"] == "ar" else "",
        )
        run = start_run(spec, enqueue=False)
        lifecycle.cancel_run(run_id=run.pk)

    def _judgments_from_a_file(self) -> None:
        rng = random.Random("judgments")
        rows = []
        for key in sorted(self.facts):
            row: dict[str, Any] = {
                "item_id": key,
                "choice": rng.choice(["r1", "r2"]),
                "certainty": rng.randint(1, 100) if self.row["setting"] == "certainty" else None,
                "shown_first": rng.choice(["r1", "r2"]),
            }
            if self.row["probabilities"] != "no":
                share = rng.random()
                row |= {"probability_r1": share, "probability_r2": 1 - share}
            rows.append(row)
        file = self._file("judgments", rows)
        self.command(
            *("import_judgments", self.slug, str(file), "--judge", "elsewhere"),
            *("--setting", self.row["setting"]),
        )


def _order(question: str, n_responses: int) -> list[str]:
    """The responses to a question, the one first that its persona likes most."""
    names = [f"r{n + 1}" for n in range(n_responses)]
    return random.Random(f"truth of {question}").sample(names, k=n_responses)
