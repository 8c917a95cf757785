"""A study that is large enough for certified thresholds: `python -m demo.many_people`.

1,500 items, each about a different person and question, and three simulated judges with known
accuracy: `simulated-sure` is right as often as it states, `simulated-again` gives the same answers,
and `simulated-drifted` reverses every fifth. A third of the items have no own answer, like items
that a judge should label. Judgments are imported from a file, so no server and no worker is needed.
VAR_DIR says where, as it does for `make demo`.
"""

import csv
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import django

from demo.truth import SEED, other, uniform

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    from studies.models import Study

SLUG = "many-people"
SURE, AGAIN, DRIFTED = "simulated-sure", "simulated-again", "simulated-drifted"
# Certainties that the judge states equally often; each is its true accuracy.
CERTAINTIES = (55, 65, 75, 85, 95)
FLIPPED = 0.2  # of the answers of the drifted judge
OWN_ANSWERS = 1_000
_ACTS = (
    ("cook something", "Soup", "Pasta"),
    ("go out", "To the cinema", "To the swimming pool"),
    ("give a present", "A book", "A plant"),
    ("travel", "By train", "By bicycle"),
    ("learn something", "A language", "An instrument"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "holiday")
_SEASONS = ("spring", "summer", "autumn", "winter")
_COMPANY = (
    "alone",
    "with a friend",
    "with a sister",
    "with a neighbour",
    "with two colleagues",
    "with the children",
    "with a visitor",
    "with a cousin",
    "with the whole family",
    "with somebody new",
)
_AGES = ("18-24", "25-34", "35-44", "45-54", "55-64", "65 or older")
_HOMES = ("a village", "a small town", "a large city")


def item_rows(count: int = 1_500) -> Iterator[dict[str, Any]]:
    """Lines of items.jsonl: no two share a person or a question."""
    situations = product(_ACTS, _DAYS, _SEASONS, _COMPANY)
    for number, ((act, *replies), day, season, company) in zip(
        range(count), situations, strict=False
    ):
        key = f"m{number:04}"
        age = _AGES[int(uniform(SEED, "age", key) * len(_AGES))]
        home = _HOMES[int(uniform(SEED, "home", key) * len(_HOMES))]
        facts = {"age": ("Age", age, f"Is {age}."), "home": ("Home", home, f"Lives in {home}.")}
        yield {
            "id": key,
            "task": "preference",
            "persona": {
                "id": f"person-{key}",
                "features": [
                    {"key": name, "label": label, "value": value, "text": text}
                    for name, (label, value, text) in facts.items()
                ],
            },
            "question": f"How would you like to {act} on a {day} in {season}, {company}?",
            "responses": [
                {"key": side, "text": f"{reply}."}
                for side, reply in zip(("r1", "r2"), replies, strict=True)
            ],
            "first_person": {
                "label": _own(key) if number < OWN_ANSWERS else None,
                "source": "simulated" if number < OWN_ANSWERS else "unknown",
            },
        }


def _own(key: str) -> str:
    return "r1" if uniform(SEED, "own", key) < 0.5 else "r2"


def judgment_rows(judge: str, keys: list[str]) -> Iterator[dict[str, Any]]:
    """A judge's answers, each with its certainty."""
    for key in keys:
        certainty = CERTAINTIES[int(uniform(SEED, "certainty", key) * len(CERTAINTIES))]
        is_right = uniform(SEED, "right", key) < certainty / 100
        if judge == DRIFTED and uniform(SEED, "drift", key) < FLIPPED:
            is_right = not is_right
        choice = _own(key) if is_right else other(_own(key))
        yield {"item_id": key, "choice": choice, "certainty": certainty}


def create(owner: "User | None" = None) -> "Study":
    """Create the study with items and judgments; an existing one is unchanged."""
    from django.core.management import call_command

    from studies.models import Study
    from studies.services.studies import create_study

    known = Study.objects.filter(slug=SLUG).first()
    if known is not None:
        return known
    study = create_study(
        slug=SLUG,
        owner=owner,
        title="Many people",
        is_simulated=True,
        seed=SEED,
        contact="demo@example.org",
        persona_style=Study.PersonaStyle.FACTS,
    )
    rows = list(item_rows())
    keys = [row["id"] for row in rows]
    with TemporaryDirectory() as folder:
        items = Path(folder) / "items.jsonl"
        items.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        call_command("import_items", SLUG, str(items), stdout=io.StringIO())
        for judge in (SURE, AGAIN, DRIFTED):
            file = Path(folder) / f"{judge}.csv"
            _write_csv(file, judgment_rows(judge, keys))
            call_command("import_judgments", SLUG, str(file), judge=judge, stdout=io.StringIO())
    return study


def _write_csv(file: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, ("item_id", "choice", "certainty"))
        writer.writeheader()
        writer.writerows(rows)


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
    django.setup()
    # These need the settings.
    from config.migrate import migrate
    from demo.steps import demo_folder
    from demo.studies import researcher

    migrate()
    owner, _ = researcher(demo_folder() / "login.txt")
    study = create(owner)
    sys.stdout.write(f"The study “{study.title}” ({study.slug}) is ready.\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
