"""Rows in the shapes of the released files; every word of them was written for these tests."""

import json
from pathlib import Path
from typing import Any

ASKED = (
    "Which would the person prefer? Answer [[A]] or [[B]]. Give a certainty level from 1 to 100."
)
ASKED_TIE = "Which would the person prefer? Answer [[A]], [[B]], or [[C]] for a tie."
ASKED_FIVE = "Which is better? Answer [[A]] or [[B]]. Give a certainty level from 1 to 5."


def row(answer: Any = "A", certainty: Any = "60", truth: str = "A", **more: Any) -> dict[str, Any]:
    """One row; the file's own flag says what is true unless told otherwise."""
    prompt = more.pop("prompt", ASKED)
    base = {
        "prompt": f"{prompt}\n\n[User Profile]\nThe person keeps bees.\n\nHow do I rest well?\r\n",
        "answer": answer,
        "certainty": certainty,
        "acc": answer == truth,
        "ground_truth": truth,
        "user_info": "The person keeps bees.",
        "question": "How do I rest well?",
        "asst_A": "Sleep early.\rStay off screens.",
        "asst_B": "Walk in the evening.\u2028Drink less coffee.",
        "conversation_type": "unguided",
    }
    return base | more


def write_file(folder: Path, name: str, rows: list[dict[str, Any]]) -> Path:
    """A released file; separators other than the line feed stay inside their line."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    text = "\n".join(json.dumps(entry, ensure_ascii=False) for entry in rows)
    path.write_bytes((text + "\n").encode())
    return path
