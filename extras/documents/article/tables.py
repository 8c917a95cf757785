"""Tables 1 to 8 of the source article, in its rows and columns, for any data sets.

An average over data sets is unweighted. “–” means that nobody asked, and a line below each table
says which run fills which column and what is missing to fill the rest.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from analysis.report.article import (
    FEWER_FEATURES,
    ArticleData,
    ArticleRun,
    ByCertainty,
    RightOf,
    short_share,
)
from analysis.report.tables import Table, TableColumn
from analysis.report.words import features_words, listed
from studies.personas import NAMED_SETS

NO_TIE, WITH_TIE = "No tie", "With tie"
BANDS = ("high", "low")
NOT_ASKED: Mapping[str, Any] = {"accuracy": None, "correct": None, "n": None}
PEOPLE = "Third person"
OF_ARTICLE = (
    "Correct/total below each share. Italics: fewer than 30. “–” alone: not asked; with (0/0): no "
    "answer in the cell. As in the article, a reply without a side, because it was not read or "
    "refused, is left out where no tie was offered, and wrong where one was. An item whose right "
    "answer is a tie counts only where a tie was offered."
)


@dataclass(frozen=True)
class MissingRun:
    """A run that would fill empty cells; `slug` is empty if no study can ask it."""

    words: str
    title: str
    slug: str
    model: str
    setting: str
    features: str

    @property
    def address(self) -> str:
        """The page that asks the run, with this choice."""
        chosen = {"judges": self.model, "settings": self.setting, "features": self.features}
        return f"{reverse('judging:new', args=[self.slug])}?{urlencode(chosen)}"


@dataclass(frozen=True)
class ArticleTable:
    """A table with the runs that fill it, and the runs that would fill its empty cells."""

    table: Table
    missing: Sequence[MissingRun] = ()


@dataclass
class _Sources:
    """What fills the cells of one table, and what is missing."""

    filled: dict[str, list[str]] = field(default_factory=dict)
    missing: dict[str, MissingRun] = field(default_factory=dict)
    never: dict[str, list[str]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def fill(self, column: str, data: ArticleData, run: ArticleRun) -> None:
        unread = f" ({run.unread:,} without a side)" if run.unread else ""
        words = f"{data.title}: {run.label}{unread}"
        sources = self.filled.setdefault(column, [])
        if words not in sources:
            sources.append(words)

    def lack_certainty(self, data: ArticleData, model: str, features: str) -> None:
        """A run for cells of certainty is missing, or was asked and stated none."""
        run = find_run(data, model, features=features)
        if run is None or run.setting == "standard":
            self.lack(data, model, "certainty", features)
        else:
            words = f"{data.title}: {model} states no certainty ({run.label})."
            if words not in self.remarks:
                self.remarks.append(words)

    def lack(self, data: ArticleData, model: str, setting: str, features: str) -> None:
        of_features = "" if features == "all" else f", {features_words(features)}"
        words = f"{model} ({setting}{of_features})"
        if data.released is not None:
            file = data.released.get((model, features, setting == "tie"))
            if file is None or find_run(data, model, features=features, tie=setting == "tie"):
                never = self.never.setdefault(data.title, [])
                if words not in never:
                    never.append(words)
                return
            words = file
        run = MissingRun(words, data.title, data.slug, model, setting, features)
        self.missing[f"{data.title}: {words}"] = run

    def note(self) -> str:
        lines = [OF_ARTICLE, *self.remarks]
        lines += [f"{column}: {'; '.join(runs)}." for column, runs in self.filled.items()]
        if self.missing:
            of_data: dict[str, list[str]] = {}
            for run in self.missing.values():
                of_data.setdefault(run.title, []).append(run.words)
            parts = (f"{title}: {'; '.join(runs)}" for title, runs in of_data.items())
            lines.append(f"Missing to fill the rest: {'. '.join(parts)}.")
        if self.never:
            parts = (f"{title}: {'; '.join(runs)}" for title, runs in self.never.items())
            lines.append(f"Never asked, or not released: {'. '.join(parts)}.")
        return "\n".join(lines)


def article_tables(data: Sequence[ArticleData]) -> list[ArticleTable]:
    """Every table of the article; one without any cell has a line that says what it needs."""
    tables = [_table_1(data), _table_2(data), *_tables_3_and_4(data)]
    tables += [_with_people(data, single=False), _table_6(data), _with_people(data, single=True)]
    return [*tables, _table_8(data)]


def _made(
    number: str,
    title: str,
    columns: Sequence[TableColumn],
    rows: Sequence[Sequence[Any]],
    sources: _Sources,
    data: Sequence[ArticleData],
) -> ArticleTable:
    simulated = "Simulated data. " if any(one.is_simulated for one in data) else ""
    table = Table(
        f"table_{number}",
        f"Table {number.replace('_', ', part ')}. {simulated}{title}",
        tuple(columns),
        rows,
        sources.note(),
    )
    return ArticleTable(table, list(sources.missing.values()))


def _cell(right: RightOf | None) -> Mapping[str, Any]:
    if right is None:
        return NOT_ASKED
    small = right.n is not None and 0 < right.n < 30
    cell = {"accuracy": right.accuracy, "correct": right.correct, "n": right.n}
    return cell | {"small": small, "short": True}


def models_of(data: Iterable[ArticleData]) -> list[str]:
    return list(dict.fromkeys(run.model for one in data for run in one.runs))


def find_run(
    data: ArticleData,
    model: str,
    *,
    features: str = "all",
    tie: bool = False,
    certain: bool = False,
) -> ArticleRun | None:
    """The run for a cell: for a certainty the certainty setting, else the standard one, first."""
    usual = ("certainty", "standard") if certain else ("standard", "certainty")
    runs = [
        run
        for run in data.runs
        if (run.model, run.features, run.offers_tie) == (model, features, tie)
        and (run.counts.high is not None or not certain)
    ]

    def place(run: ArticleRun) -> int:
        return usual.index(run.setting) if run.setting in usual else len(usual)

    return min(runs, key=place, default=None)


def _average(cells: Iterable[RightOf | None]) -> RightOf | None:
    known = [c.accuracy for c in cells if c is not None and c.accuracy is not None]
    return RightOf(None, None, sum(known) / len(known)) if known else None


def _table_1(data: Sequence[ArticleData]) -> ArticleTable:
    models, sources = models_of(data), _Sources()
    columns = [TableColumn("Setup")]
    columns += [TableColumn(m, "tally", side) for side in (NO_TIE, WITH_TIE) for m in models]
    counts: list[list[RightOf | None]] = []
    for dataset in data:
        row: list[RightOf | None] = []
        for side, tie, setting in ((NO_TIE, False, "standard"), (WITH_TIE, True, "tie")):
            for model in models:
                run = find_run(dataset, model, tie=tie)
                row.append(run.counts.overall if run else None)
                if run:
                    sources.fill(f"{model}, {side.lower()}", dataset, run)
                else:
                    sources.lack(dataset, model, setting, "all")
        counts.append(row)
    rows = [[dataset.title, *map(_cell, row)] for dataset, row in zip(data, counts, strict=True)]
    rows.append(["Average", *(_cell(_average(column)) for column in zip(*counts, strict=True))])
    sources.remarks.append(
        "Average: unweighted, over the data sets with a value. A guess is right on .500 without a "
        "tie and .333 with one."
    )
    return _made("1", "Accuracy on every data set", columns, rows, sources, data)


def _by_band(models: Iterable[str]) -> list[TableColumn]:
    return [TableColumn(band, "tally", model) for model in models for band in BANDS]


def _bands(counts: ByCertainty | None) -> list[RightOf | None]:
    return [None, None] if counts is None else [counts.high, counts.low]


def _banded_row(
    data: ArticleData, models: Sequence[str], features: str, sources: _Sources
) -> list[Mapping[str, Any]]:
    row = []
    for model in models:
        run = find_run(data, model, features=features, certain=True)
        row += [_cell(band) for band in _bands(run.counts if run else None)]
        if run:
            of_features = "" if features == "all" else f", {features_words(features)}"
            sources.fill(f"{model}{of_features}", data, run)
        else:
            sources.lack_certainty(data, model, features)
    return row


def _threshold(data: Sequence[ArticleData]) -> str:
    values = sorted({one.threshold for one in data})
    return (
        f"High: a stated certainty of {listed([str(one) for one in values])} or more. An answer "
        "without a certainty is low, as in the article's code, unless nobody was asked for one."
    )


def _table_2(data: Sequence[ArticleData]) -> ArticleTable:
    models, sources = models_of(data), _Sources(remarks=[_threshold(data)])
    rows = [[one.title, *_banded_row(one, models, "all", sources)] for one in data]
    columns = [TableColumn("Data"), *_by_band(models)]
    return _made("2", "Accuracy at high and low certainty", columns, rows, sources, data)


def _size(features: str) -> tuple[int, str]:
    keys = NAMED_SETS.get(features, features.split(","))
    return (-99 if features == "all" else -len(keys), features)


def feature_sets(data: ArticleData) -> list[str]:
    """The whole persona first, then fewer and fewer features; a run without persona is apart."""
    return sorted({run.features for run in data.runs} - {"none"} | {"all"}, key=_size)


def _tables_3_and_4(data: Sequence[ArticleData]) -> Iterator[ArticleTable]:
    """Each data set with fewer features in the article's table for it.

    Of others the first is in Table 3, if that is free, and the rest in Table 4.
    """
    places: dict[int, list[ArticleData]] = {number: [] for number in FEWER_FEATURES.values()}
    ablated = [dataset for dataset in data if len(feature_sets(dataset)) > 1]
    for dataset in sorted(ablated, key=lambda dataset: dataset.fewer_features is None):
        places[dataset.fewer_features or (4 if places[3] else 3)].append(dataset)
    for number, ablations in places.items():
        if not ablations:
            yield _without_ablations(number, data)
        for part, dataset in enumerate(ablations, 1):
            models = [m for m in models_of([dataset]) if _sees_less(dataset, m)]
            sources = _Sources(remarks=[_threshold([dataset])])
            rows = [
                [_features(name), *_banded_row(dataset, models, name, sources)]
                for name in feature_sets(dataset)
            ]
            columns = [TableColumn("Features"), *_by_band(models)]
            title = f"Accuracy with fewer features of the persona, {dataset.title}"
            name = str(number) if part == 1 else f"{number}_{part}"
            yield _made(name, title, columns, rows, sources, [dataset])


def _without_ablations(number: int, data: Sequence[ArticleData]) -> ArticleTable:
    of_article = next(title for title, table in FEWER_FEATURES.items() if table == number)
    remark = (
        "Nothing to show: this table needs runs that see fewer features of a persona, on a data "
        f"set that no other table of them has. In the article it is about {of_article}."
    )
    columns = [TableColumn("Features"), TableColumn("Accuracy", "tally")]
    rows = [["All features", NOT_ASKED]]
    return _made(str(number), "Fewer features", columns, rows, _Sources(remarks=[remark]), data)


def _sees_less(data: ArticleData, model: str) -> bool:
    return any(run.model == model and run.features not in {"all", "none"} for run in data.runs)


def _features(name: str) -> str:
    if name == "all":
        return "All features"
    words = _SETS.get(name, features_words(name))
    return words[:1].upper() + words[1:]


# What the article calls a named set; the released code has other features.
_SETS = {"three_paper": "three features", "three_code": "three features (as in the code)"}


def _with_people(data: Sequence[ArticleData], *, single: bool) -> ArticleTable:
    """Table 5 (majority) and Table 7 (single answers): judges and people on the same items."""
    asked = [dataset for dataset in data if dataset.majority is not None]
    models, sources = models_of(asked or data), _Sources(remarks=[_threshold(data)])
    rows: list[list[Any]] = []
    for dataset in asked:
        before = "" if len(asked) == 1 else f"{dataset.title}: "
        bands: list[Any] = [f"{before}All features"]
        overall: list[Any] = [f"{before}Overall"]
        for model in models:
            run = find_run(dataset, model, certain=True) or find_run(dataset, model)
            counts = None if run is None else run.repeated if single else run.answered
            bands += map(_cell, _bands(counts))
            overall += [_cell(counts.overall if counts else None), None]
            if run:
                sources.fill(model, dataset, run)
            if counts is None or counts.high is None:
                sources.lack_certainty(dataset, model, "all")
        people = dataset.single if single else dataset.majority
        bands += map(_cell, _bands(people))
        overall += [_cell(people.overall if people else None), None]
        rows += [bands, overall]
        if people and people.high is None:
            sources.remarks.append(f"{dataset.title}: people were not asked for a certainty.")
    if not asked:
        sources.remarks.append(
            "No people answered. The column “Third person” needs a study with annotators."
        )
        rows = [["All features", *(NOT_ASKED for _ in range(2 * len(models) + 2))]]
    sources.remarks.append(
        "A judge counts once for each answer of a person."
        if single
        else "Third person: the majority of an item's answers, its certainty the mean of those "
        "who chose it. Judges: on the items that people answered."
    )
    number, title = ("7", "single answers") if single else ("5", "majority")
    columns = [TableColumn("Features"), *_by_band([*models, PEOPLE])]
    return _made(number, f"Judges against people, {title}", columns, rows, sources, data)


def _table_6(data: Sequence[ArticleData]) -> ArticleTable:
    rows = [[one.title, ", ".join(one.variables) or None] for one in data]
    columns = [TableColumn("Task"), TableColumn("Variables")]
    table = Table("table_6", "Table 6. Variables of the personas", tuple(columns), rows)
    return ArticleTable(table)


def _table_8(data: Sequence[ArticleData]) -> ArticleTable:
    """With and without persona; both columns of a model come from the same setting."""
    sources = _Sources()
    models = [
        model
        for model in models_of(data)
        if any(run.model == model and run.features == "none" for e in data for run in e.runs)
    ] or models_of(data)
    rows: list[list[Any]] = []
    for dataset in data:
        row: list[Any] = [dataset.title]
        for model in models:
            pair = _with_and_without(dataset, model)
            row += [_cell(run.counts.overall if run else None) for run in pair]
            for run, side in zip(pair, ("with", "without"), strict=True):
                if run:
                    sources.fill(f"{model}, {side}", dataset, run)
            setting = next((run.setting for run in pair if run), "standard")
            for run, features in zip(pair, ("all", "none"), strict=True):
                if run is None:
                    sources.lack(dataset, model, setting, features)
                    sources.remarks += _elsewhere(dataset, model, features, setting)
        rows.append(row)
    sources.remarks.append("Both columns of a model come from the same setting.")
    columns = [TableColumn("Data")]
    for model in models:
        columns += [TableColumn("with", "tally", model), TableColumn("without", "tally", model)]
    return _made("8", "With and without persona", columns, rows, sources, data)


def _elsewhere(data: ArticleData, model: str, features: str, setting: str) -> list[str]:
    """The accuracy of a run that another setting has, so it fills no cell of this one."""
    run = find_run(data, model, features=features)
    if run is None or (share := run.counts.overall).accuracy is None:
        return []
    persona = "with" if features == "all" else "without"
    return [
        f"{data.title}: {model} {persona} persona was asked in the setting {run.setting} "
        f"({short_share(share.accuracy)}, {share.correct}/{share.n}), not in {setting}."
    ]


def _with_and_without(data: ArticleData, model: str) -> tuple[ArticleRun | None, ArticleRun | None]:
    """The pair of runs in the first setting that has both; otherwise what there is."""
    settings = dict.fromkeys(("standard", "certainty", *(run.setting for run in data.runs)))
    pairs = []
    for setting in settings:
        of_setting = [r for r in data.runs if (r.model, r.setting) == (model, setting)]
        whole, none = (
            next((r for r in of_setting if r.features == features), None)
            for features in ("all", "none")
        )
        pairs.append((whole, none))
    return max(pairs, key=lambda pair: sum(run is not None for run in pair))
