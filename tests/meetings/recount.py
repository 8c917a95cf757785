"""The main numbers of a report, counted again from the exported tables and nothing else."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Line = dict[str, Any]
COUNTED = ("counted", "imported")
UNDECIDED = "undecided"  # no choice has more votes than every other; a tie is a choice


def read(path: Path) -> list[Line]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


class Recount:
    """Exported items, answers and judgments of one study."""

    def __init__(self, folder: Path) -> None:
        self.items = {
            item["id"]: item for item in read(folder / "items.jsonl") if item["split"] == "main"
        }
        self.answers = [
            answer
            for answer in read(folder / "annotations.jsonl")
            if answer["standing"] in COUNTED and not answer["excluded"]
        ]
        self.judgments = read(folder / "judgments.jsonl")

    def differences(self, report: Line) -> list[str]:
        """What the report says otherwise than this recount."""
        human = report["human"]
        if report["study"]["perspective"] == "own":
            # People who answer for themselves are neither right nor wrong.
            self.items = {key: item | {"first_person": None} for key, item in self.items.items()}
        said = (
            {
                "items": report["inputs"]["items"],
                "answers": human["answers"],
                "annotators": human["annotators"],
            }
            | _said("individual", human.get("individual"))
            | _said("majority", human.get("majority"))
        )
        counted = {
            "items": len(self.items),
            "answers": len(self._pairs()),
            "annotators": len({answer["rater_id"] for answer in self.answers}),
            **self._counted("individual", ((key, choice) for key, choice in self._pairs())),
            **self._counted("majority", self._majorities(self._pairs())),
        }
        for number, judge in enumerate(report["judges"]):
            name = f"judge {number}"
            said |= _said(name, judge)
            mine = [
                (line["item_id"], line["choice"])
                for line in self.judgments
                if line["run"] == judge["run"] and line["choice"]
            ]
            counted |= self._counted(name, self._majorities(mine))
        return self._wrongly_taken() + [
            f"{name}: report {said[name]}, recount {counted.get(name)}"
            for name in said
            if said[name] is not None and said[name] != counted.get(name)
        ]

    def _wrongly_taken(self) -> list[str]:
        """Judgments that another protocol gave: only a judge that was asked again says what it
        said before."""
        return [
            f"{line['item_id']}, probe “{line['bias_probe'] or ''}”: details {line['details']}"
            for line in self.judgments
            if line["choice"]
            and ("reflection" in (line["bias_probe"] or ""))
            != ("before_reflection" in (line["details"] or {}))
        ]

    def _pairs(self) -> list[tuple[str, str]]:
        """Item and choice of each answer; an order of a set answers every pair of it."""
        found = []
        for answer in self.answers:
            if not answer.get("ranking"):
                found.append((answer["item_id"], answer["choice"]))
                continue
            order = answer["ranking"].split(">")
            question = answer["item_id"].split(":")[0]
            for key, item in self.items.items():
                if key.split(":")[0] == question:
                    place = item["option_set"]["place"]
                    first = order.index(f"r{place['r1']}") < order.index(f"r{place['r2']}")
                    found.append((key, "r1" if first else "r2"))
        return found

    def _majorities(self, votes: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        of_item: dict[str, Counter[str]] = defaultdict(Counter)
        for key, choice in votes:
            of_item[key][choice] += 1
        return [(key, _winner(counts)) for key, counts in of_item.items()]

    def _counted(self, name: str, verdicts: Iterable[tuple[str, str]]) -> dict[str, int]:
        """How many verdicts decide about an item whose right answer is known, and how many do so
        rightly."""
        known = [
            (choice, truth)
            for key, choice in verdicts
            if (truth := (self.items[key]["first_person"] or {}).get("label"))
            and choice != UNDECIDED
        ]
        return {f"{name} n": len(known), f"{name} correct": sum(c == t for c, t in known)}


def _winner(counts: Counter[str]) -> str:
    most = max(counts.values())
    first = [choice for choice, count in counts.items() if count == most]
    return first[0] if len(first) == 1 else UNDECIDED


def _said(name: str, entry: Line | None) -> dict[str, int | None]:
    entry = entry or {}
    return {f"{name} {key}": entry.get(key) for key in ("n", "correct")}
