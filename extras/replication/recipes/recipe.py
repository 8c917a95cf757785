"""A recipe: data, questions, published cells, and the models to repeat it with."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from analysis.errors import AnalysisError
from extras.replication.released.cells import TITLES, published
from studies.texts.toml_values import NotToml, toml_value

# The paper's recipe takes its tables and published figures from the replication.
OF_THE_PAPER = "personalized-judge"
SHIPPED = Path(__file__).with_name("shipped")
PARTS = ("overall", "high", "low")
RULES = ("drop_nonAB", "all_rows")

_TOP = {
    "name",
    "title",
    "citation",
    "published",
    "models",
    "threshold",
    "orders",
    "samples",
    "variants",
    "data",
    "ask",
    "cells",
    "figures",
    "tables",
}


class BadRecipe(AnalysisError):
    """A recipe or its file of models cannot be used; the message names the field."""


@dataclass(frozen=True)
class Data:
    """A data set: how its items are drawn in each variant, and its size.

    `options` and `items` are by variant; `letters`, the mean length of a prompt, is by question.
    `features` are named sets of feature keys, by variant.
    """

    key: str
    title: str
    format: str
    folder: str
    items: Mapping[str, int]
    letters: Mapping[str, int]
    options: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    features: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def features_for(self, name: str, variant: str) -> str:
        """The features that a question names, in the form that a run takes."""
        return self.features[name][variant] if name in self.features else name


@dataclass(frozen=True)
class Ask:
    """A question that every model gets about some data sets.

    `wordings` are the released files whose prompts are used, by data set.
    """

    key: str
    setting: str
    features: str
    data: tuple[str, ...]
    wordings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RecipeCell:
    """A row of a published table, the question that fills it, and the part of the answers."""

    table: str
    row: str
    data: str
    ask: str
    part: str
    rule: str
    average: str = ""


@dataclass(frozen=True)
class DataQuestion:
    """A question about one data set in one variant: one run per model."""

    variant: str
    data: Data
    ask: Ask

    @property
    def features(self) -> str:
        return self.data.features_for(self.ask.features, self.variant)


@dataclass(frozen=True)
class Recipe:
    """A comparison as its file describes it.

    `tables` are titles by name; `published` are the figures to compare with, each with table, row,
    part, model, accuracy, correct and n.
    """

    name: str
    title: str
    citation: str
    published: tuple[Mapping[str, Any], ...]
    models: tuple[str, ...]
    threshold: int
    orders: str
    samples: int
    variants: Mapping[str, str]
    data: Mapping[str, Data]
    asks: Mapping[str, Ask]
    cells: tuple[RecipeCell, ...]
    figures: Mapping[str, tuple[str, ...]]
    tables: Mapping[str, str]

    @property
    def is_of_the_paper(self) -> bool:
        return self.tables is TITLES

    def questions(self, variants: tuple[str, ...], data: tuple[str, ...]) -> list[DataQuestion]:
        """Every question about some data sets, by variant."""
        return [
            DataQuestion(variant, self.data[key], ask)
            for variant in variants
            for key in data
            for ask in self.asks.values()
            if key in ask.data
        ]

    def fills(self, question: DataQuestion) -> list[str]:
        """The tables that a question fills, for lists."""
        tables = [
            cell.table
            for cell in self.cells
            if (cell.data, cell.ask) == (question.data.key, question.ask.key)
        ]
        return list(dict.fromkeys(tables))


def shipped_names() -> list[str]:
    return sorted(path.stem for path in SHIPPED.glob("*.toml"))


def find_recipe(name: str) -> Recipe:
    """The recipe with this name, or in this file. Raises `BadRecipe`."""
    path = SHIPPED / f"{name}.toml" if name in shipped_names() else Path(name)
    if path.suffix != ".toml":
        raise BadRecipe(
            f"There is no recipe “{name}”. Use {', '.join(shipped_names())}, or name a .toml file."
        )
    try:
        raw = toml_value(path.read_bytes())
    except OSError as error:
        raise BadRecipe(f"{path} cannot be read: {error.strerror}.") from error
    except NotToml as error:
        raise BadRecipe(f"{path} is not TOML: {error}.") from error
    try:
        return read_recipe(raw)
    except BadRecipe as error:
        raise BadRecipe(f"{path.name}: {error}") from error


def read_recipe(raw: Mapping[str, Any]) -> Recipe:
    """A recipe from the content of its file. Raises `BadRecipe` with the field at fault."""
    _known("", raw, _TOP)
    variants = _table(raw, "variants")
    data = {key: _data(key, value, variants) for key, value in _table(raw, "data").items()}
    asks = {key: _ask(key, value, data) for key, value in _table(raw, "ask").items()}
    for ask in asks.values():
        _check_ask(ask, data, variants)
    is_of_the_paper = raw.get("published") == OF_THE_PAPER
    titles = TITLES if is_of_the_paper else _table(raw, "tables")
    figures = {key: tuple(value) for key, value in raw.get("figures", {}).items()}
    for key, names in figures.items():
        _each_of(f"figures.{key}", names, asks)
    return Recipe(
        name=_text(raw, "name"),
        title=_text(raw, "title"),
        citation=_text(raw, "citation"),
        published=_of_the_paper() if is_of_the_paper else tuple(_published(raw, titles)),
        models=tuple(raw.get("models", ())),
        threshold=_number(raw, "threshold", 80),
        orders=str(raw.get("orders", "random")),
        samples=_number(raw, "samples", 1),
        variants=variants,
        data=data,
        asks=asks,
        cells=tuple(_cells(raw.get("cells", ()), data, asks, titles)),
        figures=figures,
        tables=titles,
    )


def _data(key: str, raw: Mapping[str, Any], variants: Mapping[str, str]) -> Data:
    where = f"data.{key}"
    names = {"title", "format", "folder", "items", "letters", "options", "features"}
    _known(where, raw, names)
    items = _table(raw, "items", where)
    if missing := sorted(variants.keys() - items.keys()):
        raise BadRecipe(f"{where}.items: add the number of items of “{missing[0]}”.")
    return Data(
        key=key,
        title=_text(raw, "title", where),
        format=_text(raw, "format", where),
        folder=_text(raw, "folder", where),
        items=items,
        letters=_table(raw, "letters", where),
        options=raw.get("options", {}),
        features=raw.get("features", {}),
    )


def _ask(key: str, raw: Mapping[str, Any], data: Mapping[str, Data]) -> Ask:
    where = f"ask.{key}"
    _known(where, raw, {"setting", "features", "data", "wordings"})
    named = tuple(raw.get("data", ()))
    _each_of(f"{where}.data", named, data)
    return Ask(
        key=key,
        setting=_text(raw, "setting", where),
        features=_text(raw, "features", where),
        data=named,
        wordings=raw.get("wordings", {}),
    )


def _check_ask(ask: Ask, data: Mapping[str, Data], variants: Mapping[str, str]) -> None:
    for key in ask.data:
        if ask.key not in data[key].letters:
            raise BadRecipe(f"data.{key}.letters: add the mean length of a prompt of “{ask.key}”.")
        sets = data[key].features
        if ask.features in sets and (missing := sorted(variants.keys() - sets[ask.features])):
            raise BadRecipe(f"data.{key}.features.{ask.features}: add “{missing[0]}”.")


def _of_the_paper() -> tuple[Mapping[str, Any], ...]:
    """The cells of the paper's tables; their averages are separate parts."""
    rows = []
    for cell in published()["cells"]:
        part = "overall" if cell["part"] == "average" else cell["part"]
        model = cell["column"].removesuffix(f" {part}")
        rows.append({**cell, "part": part, "model": model})
    return tuple(rows)


def _published(raw: Mapping[str, Any], titles: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
    names = {"table", "row", "part", "model", "accuracy", "correct", "n"}
    for number, block in enumerate(raw.get("published", ()), start=1):
        where = f"published, block {number}"
        _known(where, block, names)
        _each_of(f"{where}, table", [block.get("table")], titles)
        _each_of(f"{where}, part", [block.get("part", "overall")], PARTS)
        for key in ("row", "model"):
            _text(block, key, where)
        yield {"part": "overall", **block}


def _cells(
    raw: Any, data: Mapping[str, Data], asks: Mapping[str, Ask], titles: Mapping[str, str]
) -> Iterator[RecipeCell]:
    for number, block in enumerate(raw, start=1):
        where = f"cells, block {number}"
        _known(where, block, {"table", "rows", "ask", "parts", "rule", "average"})
        _each_of(f"{where}, table", [block.get("table")], titles)
        _each_of(f"{where}, ask", [block.get("ask")], asks)
        parts, rule = block.get("parts", ["overall"]), block.get("rule", RULES[0])
        _each_of(f"{where}, parts", parts, PARTS)
        _each_of(f"{where}, rule", [rule], RULES)
        for row, key in _table(block, "rows", where).items():
            _each_of(f"{where}, rows", [key], data)
            if key not in asks[block["ask"]].data:
                raise BadRecipe(f"{where}: “{block['ask']}” is not asked about “{key}”.")
            for part in parts:
                yield RecipeCell(
                    block["table"], row, key, block["ask"], part, rule, block.get("average", "")
                )


def _known(where: str, raw: Any, names: set[str]) -> None:
    if not isinstance(raw, Mapping):
        raise BadRecipe(f"{where}: use a table.")
    if unknown := sorted(raw.keys() - names):
        of = f"{where}: there" if where else "There"
        raise BadRecipe(f"{of} is no field “{unknown[0]}”. Use: {', '.join(sorted(names))}.")


def _each_of(where: str, names: Any, known: Any) -> None:
    if not isinstance(names, (list, tuple)) or not names:
        raise BadRecipe(f"{where}: use a list of names.")
    if wrong := [name for name in names if name not in known]:
        raise BadRecipe(f"{where}: “{wrong[0]}” is none of {', '.join(known)}.")


def _table(raw: Mapping[str, Any], key: str, where: str = "") -> Mapping[str, Any]:
    value = raw.get(key)
    if not isinstance(value, Mapping) or not value:
        raise BadRecipe(f"{where}{'.' if where else ''}{key}: use a table with at least one entry.")
    return value


def _text(raw: Mapping[str, Any], key: str, where: str = "") -> str:
    value = raw.get(key)
    if not isinstance(value, str) or not value:
        raise BadRecipe(f"{where}{'.' if where else ''}{key}: use a text in quotes.")
    return value


def _number(raw: Mapping[str, Any], key: str, default: int) -> int:
    value = raw.get(key, default)
    if type(value) is not int or value < 1:
        raise BadRecipe(f"{key}: the value is {value!r}. Use a whole number of 1 or more.")
    return value


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
    "price_day",
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

    `simulated`: their answers mean nothing, and all results are labelled so.
    """

    judges: tuple[Mapping[str, Any], ...]
    simulated: bool

    @property
    def names(self) -> list[str]:
        return [judge["name"] for judge in self.judges]


def read_models(path: Path) -> Models:
    """Read the file. Raises `BadRecipe` with the field at fault."""
    try:
        raw = toml_value(path.read_bytes())
    except OSError as error:
        raise BadRecipe(f"{path} cannot be read: {error.strerror}.") from error
    except NotToml as error:
        raise BadRecipe(f"{path} is not TOML: {error}.") from error
    if unknown := sorted(raw.keys() - {"judges", "simulated"}):
        raise BadRecipe(f"{path}: there is no field “{unknown[0]}”. Use: judges, simulated.")
    judges = raw.get("judges")
    if not isinstance(judges, list) or not judges or not all(isinstance(j, dict) for j in judges):
        raise BadRecipe(f"{path}: add a block [[judges]] for each model.")
    models = tuple(_judge(path, number, judge) for number, judge in enumerate(judges, start=1))
    names = [judge["name"] for judge in models]
    if len(set(names)) < len(names):
        raise BadRecipe(f"{path}: two judges have the same name. Give each its own name.")
    is_demo = any(str(judge.get("model", "")).startswith(_SIMULATED) for judge in models)
    return Models(models, bool(raw.get("simulated", False)) or is_demo)


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
                raise BadRecipe(f"{where}: {key} is {judge[key]!r}. Use US dollars, 0 or more.")
            judge[key] = Decimal(str(judge[key]))
    return judge
