"""How many whole reports claim what is not so, read sentence by sentence as a reader does.

    python -m benchmarks.simulations.whole_reports                    20 null reports of 30 items
    python -m benchmarks.simulations.whole_reports --items 300 --null 100 --planted 100

Each study is imported by the product's own commands, and `report --sentences` builds its report.
Items and people differ, some answers are ties or missing, two or three judges answer, and everybody
states a certainty. Without an effect, a judge is the majority of other people of the same kind, so
nothing differs: no side, length, feature, language or certainty. With effects, in either direction,
one judge is right more or less often, one leans to a side, one to a length, certainty is above or
below accuracy or tells right from wrong answers, and one of five ages is harder.

Prints how many reports have a false claim, with a 95 % interval, and how often each is made. With
`--words` also how often each sentence occurs, without numbers, if it is not in every report.
"""

import argparse
import csv
import io
import json
import os
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

SEED = 20261129
PER_ITEM, PER_PERSON = 3, {30: 10, 90: 15, 300: 25}
EASE, OF_ITEMS, OF_PEOPLE = 0.9, 1.0, 0.6
MISSING, TIES = 0.1, 0.06
AGES = ("18-24", "25-34", "35-49", "50-64", "65+")
LANGUAGES = ("en", "de", "fr")
RESAMPLES = 100
NAMES = ("k1", "k2", "k3")
NONE, TIE = -1, 2
# What a claim says: the group “up” has the words for a positive direction or for the negative one.
_ALL = r"(?P<who>k\d|[Pp]eople|[Tt]he majority of people)"
CLAIMS = {
    "comparison": (
        r"(?P<who>k\d) (?:did|was right|is right) (?P<way>better|worse|more|less)(?: often)? than "
        r"(?:the majority|people|a person)",
        ("better", "more"),
    ),
    "sides": (rf"{_ALL} leans? to side (?P<way>[AB])", ("A",)),
    "length": (
        rf"{_ALL} errs? more often where the (?P<way>longer|shorter) response is right",
        ("shorter",),
    ),
    "calibration": (
        r"certainty of (?P<who>k\d|people) is (?P<way>higher|lower) than the share",
        ("higher",),
    ),
    "ranking": (
        rf"{_ALL} (?:is|are) (?:right|correct) (?P<way>more|less) often (?:at high|when) certain",
        ("more",),
    ),
    "together": (
        r"certainty of (?P<who>k\d) (?P<way>rises|falls) with that of people",
        ("rises",),
    ),
    "certain answers": (
        r"(?P<who>k\d) is (?:right|correct) (?P<way>more|less) often on its items of high",
        ("more",),
    ),
    "groups": (
        rf"{_ALL} errs? (?P<way>more|less) often on personas with (?P<group>[^.:]+?) than",
        ("more",),
    ),
    "topics": (
        rf"{_ALL} errs? (?P<way>more|less) often on “(?P<group>[^”]+)” than on other topics",
        ("more",),
    ),
    "languages": (
        rf"{_ALL} errs? (?P<way>more|less) often in (?P<group>.+?) than in other languages",
        ("more",),
    ),
    "other": (r"(?P<who>)(?P<way>\d+) of \d+ claims? hold", ()),
}


@dataclass(frozen=True)
class ReadClaim:
    """A claim that a sentence or a row makes; `up` is its direction."""

    kind: str
    who: str
    up: bool
    group: str
    words: str


def claims_in(texts: Iterable[str]) -> Iterator[ReadClaim]:
    """What some sentences claim; whatever cannot be told claims nothing."""
    for text in texts:
        if re.search(r"cannot tell|not settled|not shown|^Open: ", text):
            continue
        for kind, (pattern, ups) in CLAIMS.items():
            for match in re.finditer(pattern, text):
                groups = match.groupdict()
                yield ReadClaim(
                    kind,
                    groups["who"].lower().removeprefix("the majority of "),
                    groups["way"] in ups,
                    groups.get("group") or "",
                    text,
                )


@dataclass(frozen=True)
class World:
    """A study of so many items; `effects` has the direction of each planted effect, or 0."""

    seed: tuple[int, ...]
    items: int
    effects: Mapping[str, int] = field(default_factory=dict)

    def direction(self, name: str) -> int:
        return self.effects.get(name, 0)

    def is_false(self, claim: ReadClaim) -> bool:
        """Whether a claim has the wrong direction; without effects every one is false."""
        if not self.effects:
            return True
        planted = {
            ("comparison", "k1"): "judge",
            ("sides", "k2"): "side",
            ("length", "k3"): "length",
            ("calibration", "people"): "calibration",
            ("ranking", "people"): "ranking",
        }
        if claim.kind == "groups":
            is_age = claim.group.startswith("Age")
            sign = -self.direction("group") * (1 if claim.group.endswith(AGES[0]) else -1)
            return bool(is_age and sign and (sign > 0) != claim.up)
        sign = self.direction(planted.get((claim.kind, claim.who), ""))
        return bool(sign) and (sign > 0) != claim.up


@dataclass
class Crowd:
    """People who answer some items: who is right, leaves out or calls a tie."""

    rng: np.random.Generator
    people: int
    offers_tie: bool

    def __post_init__(self) -> None:
        self.skill = self.rng.normal(0, OF_PEOPLE, self.people)

    def answers(self, ease: np.ndarray) -> np.ndarray:
        """1 right, 0 wrong, TIE or NONE; shape (items, PER_ITEM)."""
        n = len(ease)
        chance = 1 / (1 + np.exp(-(ease[:, None] + self.skill[self.raters(n)])))
        answers = (self.rng.random(chance.shape) < chance).astype(int)
        answers[self.offers_tie & (self.rng.random(chance.shape) < TIES)] = TIE
        answers[self.rng.random(chance.shape) < MISSING] = NONE
        return answers

    def raters(self, n: int) -> np.ndarray:
        """Trios that share items."""
        trio = np.arange(n) * (self.people // PER_ITEM) // n
        return trio[:, None] * PER_ITEM + np.arange(PER_ITEM)


def majorities(answers: np.ndarray) -> np.ndarray:
    """What most answered; NONE if no answer is the most frequent one."""
    counts = np.stack([(answers == code).sum(axis=1) for code in (0, 1, TIE)], axis=1)
    is_one = (counts == counts.max(axis=1, keepdims=True)).sum(axis=1) == 1
    return np.where(is_one, counts.argmax(axis=1), NONE)


@cache
def accuracies(offers_tie: bool, harder: int) -> tuple[float, float]:
    """Of one person, and of a majority, among what is decided."""
    rng = np.random.default_rng(0)
    n = 300_000
    ease = EASE + rng.normal(0, OF_ITEMS, n) + 1.6 * harder * (rng.integers(0, len(AGES), n) == 0)
    answers = Crowd(rng, n * PER_ITEM, offers_tie).answers(ease)
    single, majority = (found[np.isin(found, (0, 1))] for found in (answers, majorities(answers)))
    return float(single.mean()), float(majority.mean())


def stated(rng: np.random.Generator, mean: Any, size: Any) -> np.ndarray:
    return np.clip(np.round(100 * mean + rng.normal(0, 10, size)), 1, 100).astype(int)


def write_study(world: World, folder: Path) -> tuple[str, ...]:
    """Write the files of a study; the names of its judges."""
    rng, n = np.random.default_rng(world.seed), world.items
    offers_tie, judges = (
        bool(rng.random() < 0.5),
        NAMES[: 3 if world.effects else rng.integers(2, 4)],
    )
    single, majority = accuracies(offers_tie, world.direction("group"))
    personas = n // 5
    features = rng.integers(0, (len(AGES), 2, 3), (personas, 3))
    persona = np.arange(n) % personas
    ease = EASE + rng.normal(0, OF_ITEMS, n)
    ease += 1.6 * world.direction("group") * (features[persona, 0] == 0)
    truth, longer = rng.integers(0, 2, (2, n))
    topics, lengths = rng.integers(0, 3, n), rng.integers(4, 12, n)
    languages = np.random.default_rng((*world.seed, 3)).integers(0, len(LANGUAGES), n)

    def item(place: int) -> dict[str, Any]:
        age, gender, home = features[persona[place]]
        values = (("age", AGES[age]), ("gender", f"g{gender}"), ("home", f"h{home}"))
        words = [
            " ".join(["word"] * (lengths[place] + 6 * (longer[place] == key))) for key in (0, 1)
        ]
        return {
            "id": f"i{place:04}",
            "task": "preference",
            "topic": f"topic {topics[place]}",
            "language": LANGUAGES[languages[place]],
            "persona": {
                "id": f"p{persona[place]}",
                "features": [{"key": key, "value": value} for key, value in values],
            },
            "question": f"Question {place}?",
            "responses": [
                {"key": f"r{key + 1}", "text": f"{'One' if key == 0 else 'Two'}: {words[key]}"}
                for key in (0, 1)
            ],
            "first_person": {"label": f"r{truth[place] + 1}", "source": "self_report"},
        }

    lines = "".join(json.dumps(item(place)) + "\n" for place in range(n))
    (folder / "items.jsonl").write_text(lines)
    (folder / "study.toml").write_text(
        f"allow_tie = {str(offers_tie).lower()}\ncertainty_threshold = {round(100 * single)}\n"
    )

    people = Crowd(rng, n * PER_ITEM // PER_PERSON[n], offers_tie)
    answers = people.answers(ease)
    offsets = rng.normal(0, 0.05, people.people)
    own = single + 0.15 * world.direction("calibration")
    means = own + offsets[people.raters(n)]
    means = means + 0.12 * world.direction("ranking") * ((answers == 1) - single)
    certainty, first = stated(rng, means, answers.shape), rng.integers(0, 2, answers.shape)
    rows = [
        (f"w{rater}", f"i{place:04}", choice, certain, f"r{first[place, seat] + 1}")
        for place in range(n)
        for seat, rater in enumerate(people.raters(n)[place])
        for choice, certain in [_cells(answers[place, seat], truth[place], certainty[place, seat])]
        if choice
    ]
    _write(
        folder / "people.csv", ("rater_id", "item_id", "choice", "certainty", "shown_first"), rows
    )

    for name in judges:
        # Other people at every item: with the same ones, their skill would be the judge's.
        panel = Crowd(rng, n * PER_ITEM, offers_tie)
        # Where a majority of people has a tie, so has the judge, and is left out.
        choice = majorities(panel.answers(ease))
        first = rng.integers(0, 2, n)
        decided = np.isin(choice, (0, 1))
        if (sign := world.direction("judge")) and name == "k1":
            changed = rng.random(n) < (0.7 if sign > 0 else 0.35)
            choice = np.where(decided & changed, int(sign > 0), choice)
        if (sign := world.direction("side")) and name == "k2":
            wanted = first if sign > 0 else 1 - first
            choice = np.where(decided & (rng.random(n) < 0.35), wanted == truth, choice)
        if (sign := world.direction("length")) and name == "k3":
            wanted = longer if sign > 0 else 1 - longer
            choice = np.where(decided & (rng.random(n) < 0.4), wanted == truth, choice)
        certainty = stated(rng, majority, n)
        both = (
            (side, flip)
            for side in range(n)
            for flip in ((0, 1) if name == "k2" and not world.effects else (0,))
        )
        rows = []
        for place, flip in both:
            text, certain = _cells(choice[place], truth[place], certainty[place])
            shown = f"r{(first[place] ^ flip) + 1}"
            rows.append((f"i{place:04}", text, certain, shown, "ok" if text else "unparseable"))
        _write(
            folder / f"{name}.csv",
            ("item_id", "choice", "certainty", "shown_first", "parse_status"),
            rows,
        )
    return judges


def _cells(answer: int, truth: int, certainty: int) -> tuple[str, Any]:
    """The choice and the certainty, which ties lack."""
    if answer in (NONE, TIE):
        return ("tie" if answer == TIE else "", "")
    return f"r{(truth if answer == 1 else 1 - truth) + 1}", int(certainty)


def _write(path: Path, head: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([head, *rows])


def read_report(slug: str, folder: Path, judges: Iterable[str]) -> tuple[list[str], list[str]]:
    """Import a study and build its report: its sentences, and the rows of what was found."""
    from django.core.management import call_command

    from analysis.report.verdict.claims import what_was_found

    def command(*arguments: object) -> str:
        out = io.StringIO()
        call_command(*map(str, arguments), stdout=out, stderr=io.StringIO())
        return out.getvalue()

    command("create_study", slug, "--title", slug, "--from", folder / "study.toml")
    command("import_items", slug, folder / "items.jsonl")
    command("import_annotations", slug, folder / "people.csv")
    offers_tie = "allow_tie = true" in (folder / "study.toml").read_text()
    setting = "tie" if offers_tie else "certainty"
    for name in judges:
        path = folder / f"{name}.csv"
        command("import_judgments", slug, path, "--judge", name, "--setting", setting)
    out = folder / "out"
    listed = command(
        "report", slug, "--sentences", "--json", "--bootstrap", RESAMPLES, "--out", out
    )
    report = json.loads((out / "report.json").read_text("utf-8"))
    sentences = [f"{one['text']}" for one in json.loads(listed)["sentences"]]
    return sentences, [str(row[0]) for row in what_was_found(report).rows]


def null_world(seed: int, place: int, items: int) -> World:
    return World((seed, items, 0, place), items)


def planted_world(seed: int, place: int, items: int) -> World:
    rng = np.random.default_rng((seed, items, 1, place))
    names = ("judge", "side", "length", "calibration", "ranking", "group")
    effects = {name: int(rng.integers(-1, 2)) for name in names}
    # One effect at least.
    effects[names[place % len(names)]] = int(rng.choice((-1, 1)))
    return World((seed, items, 2, place), items, effects)


def in_a_folder(world: World, slug: str) -> tuple[list[str], list[str], list[ReadClaim]]:
    """The sentences and rows of a world's report, and its claims, each once."""
    with tempfile.TemporaryDirectory() as name:
        judges = write_study(world, Path(name))
        sentences, rows = read_report(slug, Path(name), judges)
    return sentences, rows, list(dict.fromkeys(claims_in([*rows, *sentences])))


def plain(text: str) -> str:
    """Words without numbers and names, so that equal sentences of several reports are one."""
    text = re.sub(r"\bk\d\b", "k", text)
    return re.sub(r"[-−+±]?\d[\d.,]*", "#", text)


def rate(n: int, of: int) -> str:
    from analysis.stats import wilson_interval

    interval = wilson_interval(n, of)
    if interval is None:
        return "0 of 0"
    return f"{n} of {of} ({n / of:.1%}, 95 % CI {interval.low:.1%} to {interval.high:.1%})"


def set_up(folder: str) -> None:
    """Django with an empty database in `folder`."""
    import django

    os.environ |= {"VAR_DIR": folder, "DATABASE_URL": "", "LOG_LEVEL": "ERROR"}
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
    from tests.migrated import copy_migrated

    copy_migrated(Path(folder))
    django.setup()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--null", type=int, default=20, help="studies without an effect")
    parser.add_argument("--planted", type=int, default=0, help="studies with effects")
    parser.add_argument("--items", type=int, default=30, choices=PER_PERSON)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--from", dest="start", type=int, default=0, help="first study's number")
    parser.add_argument("--words", action="store_true", help="print sentences that not all have")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        set_up(folder)
        for title, number, world_of in (
            ("without an effect", options.null, null_world),
            ("with effects", options.planted, planted_world),
        ):
            _series(title, number, world_of, options)
    return 0


def _series(title: str, number: int, world_of: Any, options: argparse.Namespace) -> None:
    kinds, words = Counter[str](), Counter[str]()
    any_false = any_claim = 0
    start = time.perf_counter()
    for place in range(options.start, options.start + number):
        world = world_of(options.seed, place, options.items)
        sentences, rows, claims = in_a_folder(
            world, f"w{options.items}-{len(world.effects)}-{place}"
        )
        false = [claim for claim in claims if world.is_false(claim)]
        any_false += bool(false)
        any_claim += bool(claims)
        kinds.update({claim.kind for claim in false})
        words.update({plain(text) for text in (*sentences, *rows)})
        for claim in false:
            sys.stdout.write(f"{place}: {claim.kind}, {claim.who}: {claim.words}\n")
        if not (place + 1) % 10:
            done = place + 1 - options.start
            seconds = time.perf_counter() - start
            sys.stderr.write(f"{done} {title}: {any_false} false ({seconds:.0f} s)\n")
    if number:
        sys.stdout.write(
            f"{options.items} items, {title}: {rate(any_false, number)} reports have a false "
            f"claim, {any_claim} any; by kind {dict(kinds)}\n"
        )
    if options.words:
        for text, n in words.most_common():
            if n < number:
                sys.stdout.write(f"  {n:>5}  {text}\n")


if __name__ == "__main__":
    sys.exit(main())
