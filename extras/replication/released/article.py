"""Released files as the runs of data sets, for the article's own tables and figures."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from analysis.report.article import ArticleData, ArticleRun, ByCertainty, RightOf
from extras.replication.released.result_files import (
    MODELS,
    ORDER,
    ReleasedAnswer,
    ResultName,
    describe,
    has_certainty,
    has_hundred_scale,
)
from extras.replication.released.result_rows import split_features


def certainty_bars(rows: Sequence[ReleasedAnswer]) -> tuple[tuple[str, int, int], ...]:
    """Label, right and wrong answers per bar; only A and B count, as in the paper.

    >>> from dataclasses import replace
    >>> row = ReleasedAnswer("A", "A", "A", 85, "85", 100, False, True, "")
    >>> certainty_bars([row, replace(row, certainty=12), replace(row, certainty=100, truth="B")])
    (('40', 1, 0), ('80', 1, 0), ('90', 0, 1))
    """
    bars: dict[int, list[bool]] = {}
    for row in rows:
        if row.answer not in ("A", "B") or row.certainty is None or not has_certainty(row):
            continue
        at = row.certainty
        if has_hundred_scale(row):
            at = min(max(at // 10, 4), 9) * 10
        bars.setdefault(at, []).append(row.correct)
    return tuple(
        (str(at), sum(right), len(right) - sum(right)) for at, right in sorted(bars.items())
    )


def by_rule_counts(rules: Mapping[str, Mapping[str, Any]], *, with_tie: bool) -> ByCertainty:
    """The counts of one file or run, by the article's rule for its setting."""
    found = rules["all_rows" if with_tie else "drop_nonAB"]
    parts = [
        RightOf.counted(found[p]["correct"], found[p]["n"]) for p in ("overall", "high", "low")
    ]
    return ByCertainty(parts[0]) if with_tie else ByCertainty(*parts)


def in_article(rows: Mapping[str, Sequence[ReleasedAnswer]]) -> list[ArticleData]:
    """The released files as the runs of one data set each, for the article's own layout.

    Data sets and models are in the article's order. The edition of a file names it only where
    another edition has the same cell.
    """
    runs: dict[str, list[ArticleRun]] = {}
    variables: dict[str, dict[str, None]] = {}
    named = [(ResultName.parse(file), answers) for file, answers in rows.items()]
    names = [(name, answers) for name, answers in named if name is not None]
    editions = Counter(replace(name, file="", edition="") for name, _ in names)
    for name, answers in sorted(names, key=lambda each: _place(each[0])):
        again = name.edition if editions[replace(name, file="", edition="")] > 1 else ""
        counts = by_rule_counts(describe(answers)["rules"], with_tie=name.with_tie)
        bars = certainty_bars(answers)
        hundred = bool(bars) and all(has_hundred_scale(row) for row in answers)
        features = "all" if name.features == "All features" else name.features.lower()
        run = ArticleRun(
            model=f"{name.model} ({again})" if again else name.model,
            setting="tie" if name.with_tie else "certainty" if hundred else "standard",
            features=features if name.with_persona else "none",
            offers_tie=name.with_tie,
            label=name.file,
            counts=counts if hundred else ByCertainty(counts.overall),
            bars=bars if hundred and not name.with_tie else (),
        )
        runs.setdefault(name.dataset, []).append(run)
        if run.features == "all":
            profiles = {row.profile for row in answers}
            facts = (fact for text in sorted(profiles) for fact in split_features(text))
            labels = {fact["label"]: None for fact in facts if fact["label"] != "Fact"}
            variables.setdefault(name.dataset, {}).update(labels)
    return [
        ArticleData(title, found, variables=[*variables.get(title, ())], missing_is_low=True)
        for title, found in runs.items()
    ]


def _place(name: ResultName) -> tuple[int, int, str]:
    """The place of a file in the article's tables."""
    models = [*MODELS.values()]
    place = models.index(name.model) if name.model in models else len(models)
    return ORDER.index(name.dataset), place, name.file
