"""The file of models that a recipe is repeated with."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from extras.replication.recipes.recipe import BadRecipe

# The fields of add_judge.
FIELDS = (
    "name",
    "preset",
    "backend",
    "model",
    "base_url",
    "more_base_urls",
    "api_key_env",
    "temperature",
    "top_p",
    "max_tokens",
    "thinking_tokens",
    "structured",
    "probabilities",
    "timeout_seconds",
    "outage_seconds",
    "price_input",
    "price_output",
    "price_cached_input",
    "batch_price",
    "concurrency",
    "rpm",
    "tpm",
    "model_options",
    "own_sources",
    "is_own_server",
    "takes_images",
    "takes_audio",
)
_MONEY = ("price_input", "price_output", "price_cached_input", "batch_price")
_SIMULATED = "demo-"  # the names of the demo's models


@dataclass(frozen=True)
class Models:
    """Models by name, each with the fields of `add_judge`.

    `simulated`: their answers mean nothing, and everything made of them says so.
    """

    judges: tuple[Mapping[str, Any], ...]
    simulated: bool

    @property
    def names(self) -> list[str]:
        return [judge["name"] for judge in self.judges]


def read_models(path: Path) -> Models:
    """Read the file. Raises `BadRecipe` with the field at fault."""
    try:
        raw = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise BadRecipe(f"{path} cannot be read: {error.strerror}.") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadRecipe(f"{path} is not TOML: {error}.") from error
    if unknown := sorted(raw.keys() - {"judges", "simulated"}):
        raise BadRecipe(f"{path}: there is no field “{unknown[0]}”. Use: judges, simulated.")
    judges = raw.get("judges")
    if not isinstance(judges, list) or not judges or not all(isinstance(j, dict) for j in judges):
        raise BadRecipe(f"{path}: write a block [[judges]] for each model.")
    made = tuple(_judge(path, number, judge) for number, judge in enumerate(judges, start=1))
    names = [judge["name"] for judge in made]
    if len(set(names)) < len(names):
        raise BadRecipe(f"{path}: two judges have one name. Give each a name of its own.")
    is_demo = any(str(judge.get("model", "")).startswith(_SIMULATED) for judge in made)
    return Models(made, bool(raw.get("simulated", False)) or is_demo)


def _judge(path: Path, number: int, raw: Mapping[str, Any]) -> dict[str, Any]:
    where = f"{path}, block {number} of [[judges]]"
    if unknown := sorted(raw.keys() - set(FIELDS)):
        raise BadRecipe(f"{where}: there is no field “{unknown[0]}”. Use: {', '.join(FIELDS)}.")
    if not isinstance(raw.get("name"), str) or not raw["name"].strip():
        raise BadRecipe(f"{where}: name is missing.")
    judge = dict(raw)
    for key in _MONEY:
        if key in judge:
            if type(judge[key]) not in (int, float) or judge[key] < 0:
                raise BadRecipe(f"{where}: {key} is {judge[key]!r}. Write US dollars, 0 or more.")
            judge[key] = Decimal(str(judge[key]))
    return judge
