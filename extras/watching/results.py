"""What the looks at a watched set show together, in words and numbers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from analysis.report.words import number_of
from extras.watching.evidence import (
    CATEGORIES,
    ENOUGH,
    ITEMS,
    JUDGE,
    KINDS,
    NUMBERS,
    PEOPLE,
    Baseline,
    Evidence,
    LookNumbers,
    evidence,
)
from extras.watching.models import Look, WatchedSet
from extras.watching.stats.means import smallest_rise

NOTHING = "nothing shown"
MOVED = {JUDGE: "judge moved", ITEMS: "items moved", PEOPLE: "people moved"}
_OUTSIDE = {
    "question": "a question of another length",
    "responses": "responses of another length",
    "topic": "another topic",
    "language": "another language",
    "certainty": "a certainty that the judge never stated",
}


def result_of(watched: WatchedSet) -> dict[str, Any]:
    """The result of all finished looks, stored with the set."""
    done = watched.looks.filter(state=Look.State.DONE)
    at_once = [look.numbers for look in done.filter(is_baseline=True)]
    later = list(done.filter(is_baseline=False))
    looks = [look.numbers for look in later]
    frozen = watched.frozen
    people = frozen["people"]["scores"]
    if any(numbers.get("people_changed") for numbers in looks):
        people = []
    by_kind = evidence(
        Baseline(
            choices=_every(at_once, "choices"),
            certainties=_every(at_once, "certainties"),
            people=people,
            items=_counting(frozen["features"]),
        ),
        [
            LookNumbers(
                choices=numbers.get("choices", []),
                certainties=numbers.get("certainties", []),
                people=numbers.get("people", []),
                items=_counting(numbers.get("items", [])),
                higher=numbers.get("higher", 0.0),
            )
            for numbers in looks
        ],
        seed=watched.public_id,
    )
    compared = {
        JUDGE: _every(looks, "choices"),
        ITEMS: _every(looks, "items"),
        PEOPLE: people and _every(looks, "people"),
    }
    another = list(
        dict.fromkeys(words for numbers in looks for words in numbers.get("another", []))
    )
    moved = [kind for kind in KINDS if by_kind[kind].shown_at or (kind == JUDGE and another)]
    return {
        "verdict": ", ".join(MOVED[kind] for kind in moved) or NOTHING,
        "moved": moved,
        "another": another,
        "looks": len(looks),
        "kinds": {
            kind: _numbers(by_kind[kind], later) | {"is_compared": bool(compared[kind])}
            for kind in KINDS
        },
        "sentences": [
            *_first(moved, by_kind, len(looks)),
            *another,
            *_of_judge(watched, at_once, looks),
            *_of_items(frozen["features"], looks),
            *_of_people(frozen["people"]["scores"], looks),
        ],
    }


def _every(looks: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    return [value for numbers in looks for value in numbers.get(name, [])]


def _counting(items: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [item for item in items if item["counts"]]


def _numbers(evidence: Evidence, looks: Sequence[Look]) -> dict[str, Any]:
    return {
        "evidence": round(min(evidence.largest, 1e9), 4),
        "enough": ENOUGH,
        "shown_at": looks[evidence.shown_at - 1].number if evidence.shown_at else None,
    }


def _first(moved: Sequence[str], by_kind: Mapping[str, Evidence], looks: int) -> list[str]:
    if not moved:
        count = "1 look" if looks == 1 else f"{looks:,} looks"
        return [f"Nothing shown after {count}."] if looks else ["No look yet."]
    words = {
        JUDGE: "Judge moved: its answers to the same items, or how certain it is of them, have "
        "changed more than when it was asked at once.",
        ITEMS: "Items moved: new items are not like those of the set.",
        PEOPLE: "People moved: new annotators agree with the judge's frozen answers more or less "
        "often than those before.",
    }
    return [
        words[kind]
        if by_kind[kind].shown_at
        else "Judge moved: it is not the judge that was frozen."
        for kind in moved
    ]


def _of_judge(
    watched: WatchedSet,
    at_once: Sequence[Mapping[str, Any]],
    looks: Sequence[Mapping[str, Any]],
) -> list[str]:
    words = []
    before = _every(at_once, "choices")
    times = "1 time" if len(at_once) == 1 else f"{len(at_once)} times"
    if before:
        words.append(f"Asked {times} at once, the judge changed {_share(before)} of its answers.")
        # The evidence is halved where certainties are compared too.
        kinds = 2 if _every(at_once, "certainties") else 1
        least = smallest_rise(before, enough=kinds * ENOUGH)
        words.append(
            "These are too few answers to show any move. Freeze a larger set, with more rounds."
            if least > 0.5
            else f"A move can be shown from about {_percent(least)} changed answers on."
        )
    asked = [numbers for numbers in looks if numbers.get("choices")]
    if asked:
        last = asked[-1]
        changed = f"At the last look it had changed {_share(last['choices'])}"
        if n := last.get("refused"):
            changed += (
                f", of which {n:,} {'was' if n == 1 else 'were'} refused or could not be read"
            )
        if any(item["right"] for item in watched.frozen["items"]):
            changed += (
                f": {last['lost']} were wrong instead of right, and {last['gained']} right instead "
                "of wrong"
            )
        words.append(f"{changed}.")
        if last["certainties"]:
            usual = _every(at_once, "certainties")
            words.append(
                f"Its certainty had changed by {_mean_of(last['certainties'])} on average"
                + (f", and by {_mean_of(usual)} when it was asked at once." if usual else ".")
            )
        if n := last["unanswered"]:
            have, were = ("has", "was") if n == 1 else ("have", "were")
            words.append(f"{number_of(n, 'item')} {have} no new answer or {were} changed.")
    if not watched.frozen["judge"]["versions"]:
        words.append(
            "The server names no version of this model, so only changed answers can show that it "
            "was replaced; a new version that answers alike cannot be told from chance."
        )
    return words


def _of_items(frozen: Sequence[Mapping[str, Any]], looks: Sequence[Mapping[str, Any]]) -> list[str]:
    new = [item for numbers in looks for item in numbers.get("items", [])]
    if not new:
        return ["No new items."]
    reasons = outside(frozen, new)
    others = number_of(len(_counting(new)), "other persona")
    words = [f"{number_of(len(new), 'new item')}, of {others}."]
    some = [one for one in reasons if one]
    if some:
        counts = Counter(name for one in some for name in one)
        why = ", ".join(
            f"{n:,} {'has' if n == 1 else 'have'} {_OUTSIDE[name]}"
            for name, n in counts.most_common()
        )
        are = "is" if len(some) == 1 else "are"
        words.append(f"{len(some):,} of them {are} outside of what was checked: {why}.")
    else:
        words.append("All of them are within what was checked.")
    return words


def outside(
    frozen: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]
) -> list[list[str]]:
    """For each new item the features in which no item of the set is like it."""
    known = {name: {item[name] for item in frozen} for name in CATEGORIES}
    ranges = {}
    for name in (*NUMBERS, "certainty"):
        values = [item[name] for item in frozen if item[name] is not None]
        if values:
            ranges[name] = min(values), max(values)
    return [
        [
            *(name for name in CATEGORIES if item[name] not in known[name]),
            *(
                name
                for name, (low, high) in ranges.items()
                if item[name] is not None and not low <= item[name] <= high
            ),
        ]
        for item in new
    ]


def _of_people(frozen: Sequence[float], looks: Sequence[Mapping[str, Any]]) -> list[str]:
    if any(numbers.get("people_changed") for numbers in looks):
        return [
            "Answers of people that were frozen have been changed or taken out, so people are not "
            "compared. Freeze the set again to compare them from now on."
        ]
    if not frozen:
        return ["Nobody had answered the items when they were frozen, so people are not compared."]
    new = _every(looks, "people")
    if not new:
        return [f"No new annotators; {len(frozen):,} had answered before."]
    before, now = sum(frozen) / len(frozen), sum(new) / len(new)
    return [
        f"{number_of(len(new), 'new annotator')} {'differs' if len(new) == 1 else 'differ'} from "
        f"the judge's frozen answers in {_percent(now)} of their answers; the {len(frozen):,} "
        f"before did in {_percent(before)}."
    ]


def _mean_of(changes: Sequence[float]) -> str:
    """A mean change of certainty, from 1 to 100."""
    return f"{100 * sum(changes) / len(changes):.1f}"


def _share(changed: Sequence[float]) -> str:
    return f"{sum(changed):,.0f} of {len(changed):,} ({_percent(sum(changed) / len(changed))})"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
