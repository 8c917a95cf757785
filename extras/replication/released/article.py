"""Released files as the runs of data sets, for the article's own tables and figures."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analysis.report.article import FEWER_FEATURES, ArticleData, ArticleRun, ByCertainty, RightOf
from extras.replication.released.cells import published
from extras.replication.released.result_files import (
    MODELS,
    ORDER,
    RULES,
    ReleasedAnswer,
    ResultName,
    by_rule,
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
    counts = rules["all_rows" if with_tie else "drop_nonAB"]
    parts = [
        RightOf.counted(counts[p]["correct"], counts[p]["n"]) for p in ("overall", "high", "low")
    ]
    return ByCertainty(parts[0]) if with_tie else ByCertainty(*parts)


# Model, features, and whether a tie was offered: what a run of a data set is.
_Run = tuple[str, str, bool]


def in_article(rows: Mapping[str, Sequence[ReleasedAnswer]]) -> list[ArticleData]:
    """The released files as the runs of one data set each, for the article's own layout.

    Data sets and models are in the article's order. Of several editions of a file, one is a run.
    """
    released = _by_run(file for cell in published()["cells"] for file in cell["files"])
    articles = []
    for dataset, runs in sorted(_by_run(rows).items(), key=lambda pair: ORDER.index(pair[0])):
        known = {run: editions[0] for run, editions in released.get(dataset, {}).items()}
        chosen = {
            run: known[run] if known.get(run) in editions else min(editions, key=len)
            for run, editions in runs.items()
        }
        labels = (
            fact["label"]
            for (_, features, _), file in chosen.items()
            if features == "all"
            for text in sorted({row.profile for row in rows[file]})
            for fact in split_features(text)
        )
        articles.append(
            ArticleData(
                dataset,
                [
                    _article_run(run, file, rows[file], [e for e in runs[run] if e != file])
                    for run, file in sorted(chosen.items(), key=_place)
                ],
                variables=[label for label in dict.fromkeys(labels) if label != "Fact"],
                fewer_features=FEWER_FEATURES.get(dataset),
                released=known,
            )
        )
    return articles


def _by_run(files: Iterable[str]) -> dict[str, dict[_Run, list[str]]]:
    """The editions of each run of each data set, in the order of the files."""
    by_dataset: dict[str, dict[_Run, list[str]]] = {}
    for name in filter(None, map(ResultName.parse, dict.fromkeys(files))):
        features = "all" if name.features == "All features" else name.features.lower()
        run = (name.model, features, name.with_tie)
        by_dataset.setdefault(name.dataset, {}).setdefault(run, []).append(name.file)
    return by_dataset


def _article_run(
    run: _Run, file: str, answers: Sequence[ReleasedAnswer], others: Sequence[str]
) -> ArticleRun:
    model, features, with_tie = run
    scored = [row for row in answers if with_tie or row.truth != "C"]
    counts = by_rule_counts({rule: by_rule(scored, rule) for rule in RULES}, with_tie=with_tie)
    bars = certainty_bars(answers)
    hundred = bool(bars) and all(has_hundred_scale(row) for row in answers)
    scale = f", certainty from 1 to {answers[0].scale}" if bars and not hundred else ""
    replaced = f", instead of {' and '.join(others)}" if others else ""
    return ArticleRun(
        model=model,
        setting="tie" if with_tie else "certainty" if bars else "standard",
        features=features,
        offers_tie=with_tie,
        label=f"{file}{scale}{replaced}",
        counts=counts if hundred else ByCertainty(counts.overall),
        bars=bars if hundred and not with_tie else (),
        unread=sum(not row.parsed for row in scored),
    )


def _place(run: tuple[_Run, str]) -> tuple[int, str]:
    """The place of a run's file in the article's tables."""
    (model, *_), file = run
    models = [*MODELS.values()]
    return models.index(model) if model in models else len(models), file
