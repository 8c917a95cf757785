"""Write the demo's items as bundles that `import_items` reads."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from demo.truth import DemoItem, World, uniform

FORMAT_VERSION = "1.0"


def write_bundles(folder: Path, world: World) -> tuple[Path, Path]:
    """Write the bundles of the main study and of the true ties; return their folders."""
    return (
        _write(folder / "items", world, world.items, "everyday-choices", "Everyday choices"),
        _write(folder / "ties", world, world.ties, "everyday-ties", "Everyday choices: true ties"),
    )


def _write(folder: Path, world: World, items: Iterable[DemoItem], name: str, title: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    rows = [item_row(world, item) for item in items]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / "items.jsonl").write_text(text, "utf-8")
    dataset = {
        "format": "thirdperson-items",
        "format_version": FORMAT_VERSION,
        "name": name,
        "title": title,
        "description": "Invented people, questions and replies; simulated preferences.",
        "language": "en",
        "source": {
            "name": "Thirdperson demo",
            "licence": "GPL-3.0-or-later",
            "redistribution": "allowed",
        },
        "importer": {
            "name": "demo",
            "version": "1",
            "options": {"mode": world.mode},
            "seed": world.seed,
        },
        "counts": {"items": len(rows)},
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
    }
    (folder / "dataset.json").write_text(json.dumps(dataset, indent=2) + "\n", "utf-8")
    return folder


def item_row(world: World, item: DemoItem) -> dict[str, Any]:
    """One line of items.jsonl."""
    scores = _scores(world.seed, item)
    return {
        "id": item.id,
        # One group per persona: no annotator judges the same persona twice in a row, and items that
        # are sampled together stay together.
        "group": item.person.id,
        "task": "preference",
        "persona": {"id": item.person.id, "features": world.profile(item.person), "text": None},
        "question": item.topic.question,
        "context": None,
        "context_title": None,
        "responses": [
            {
                "key": side,
                "text": reply,
                "prompt": None,
                "generated_by": {"kind": "human", "name": None, "provider": None, "family": None},
                "score": scores[side],
            }
            for side, reply in zip(("r1", "r2"), item.topic.replies, strict=True)
        ],
        "first_person": {
            "label": item.label,
            "tie": item.label == "tie",
            "margin": abs(scores["r1"] - scores["r2"]),
            "source": "simulated",
            "label_confidence": None,
        },
        "order": {"shuffle": True, "fixed_first": None},
        "split": "main",
        "topic": item.topic.key,
        "language": "en",
        "warnings": [],
        "metadata": {"stratum": item.stratum},
    }


def _scores(seed: int, item: DemoItem) -> dict[str, int]:
    """The persona's scores of the two replies: at most 10 apart in a tie, otherwise at least 20."""
    best = 60 + int(41 * uniform(seed, "score", item.id))
    if item.label == "tie":
        return {"r1": best, "r2": best - int(11 * uniform(seed, "gap", item.id))}
    worst = best - 20 - int(31 * uniform(seed, "gap", item.id))
    return {"r1": best, "r2": worst} if item.label == "r1" else {"r1": worst, "r2": best}
