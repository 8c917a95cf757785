"""Human likeness: agreement of the model with people, and of people with each other."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse

from analysis.stats.comparison.alt_test import model_choices, require_single_votes
from analysis.stats.core.bootstrap import ratio, resampled_estimate, resampled_weights
from analysis.stats.core.results import Estimate, FloatArray, IntArray, Reason, relabel
from analysis.stats.core.votes import Votes

LikenessLabel = Literal["human-like", "super-consistent", "below human"]

MIN_COMMON = 30  # items that two raters must share before their kappa counts
MOST_OF_COMMON = 0.8  # of them, what a model must have answered of a person's items
MIN_PEOPLE_FOR_LABEL = 10  # with fewer, a rater like any other often gets a wrong label
CHUNK_CELLS = 3_000_000  # cells of joint tables held in memory at once
CACHED_CELLS = 64_000  # cells whose kappas are computed at once: what a processor's cache holds


@dataclass(frozen=True)
class HumanLikeness:
    """Kappa of the model with people, on the scale of people's kappas with each other.

    Attributes
    ----------
    difference : Estimate
        Model's mean kappa minus the people's mean kappa, with an item-bootstrap interval: the
        number to report.
    z : float or None
        The same in standard deviations between people.
    label : str or None
        ``human-like`` for abs(z) < 1, ``super-consistent`` above, ``below human`` below; None
        with fewer than 10 people, because then an exchangeable rater often gets a wrong label.
    model_kappa, human_kappa : float or None
        Means over people.
    human_sd : float or None
        Standard deviation (ddof 1) of the people's kappas.
    kappas : dict of int to float
        Mean kappa of each annotator with the other annotators.
    n_people : int
        Annotators with a kappa.
    n_pairs, n_pairs_skipped : int
        Pairs of annotators used (of annotators with all others, if no pair shares enough items),
        and pairs who share an item but too few of them.
    reason : str or None
        Why `z` is None: ``"no_pairs"``, ``"too_few_annotators"`` (below 3), ``"no_variation"``.
    """

    difference: Estimate
    z: float | None
    label: LikenessLabel | None
    model_kappa: float | None
    human_kappa: float | None
    human_sd: float | None
    kappas: dict[int, float]
    n_people: int
    n_pairs: int
    n_pairs_skipped: int
    reason: Reason | None = None

    @property
    def may_be_chance(self) -> bool:
        """Whether the interval of the model's kappa with people reaches that of a guess, 0."""
        gap, kappa = self.difference.interval, self.human_kappa
        return gap is not None and kappa is not None and kappa + gap.low <= 0

    def tier(self, *, guesses: bool = False) -> tuple[LikenessLabel | None, Reason | None]:
        """The label, or why there is none: a guess can look like a person who agrees with nobody.

        `guesses` says that something else than its kappa may be that of a guess.
        """
        if self.label is None:
            return None, self.reason or "too_few_annotators"
        if self.label != "below human" and (guesses or self.may_be_chance):
            return None, "at_chance"
        return self.label, None


def human_likeness(
    votes: Votes,
    model: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    n_draws: int = 1000,
    level: float = 0.95,
    min_common: int = MIN_COMMON,
) -> HumanLikeness:
    r"""Compare the model's agreement with people and people's agreement with each other.

    Parameters
    ----------
    votes : Votes
        Choices of people, at most one per annotator and item.
    model : array_like of int, shape (n_items,)
        The model's choice, -1 missing.
    rng : numpy.random.Generator
        Source of randomness of the item bootstrap.
    n_draws : int, default 1000
        Resamples of items.
    level : float, default 0.95
        Nominal coverage of the interval.
    min_common : int, default 30
        Items that two raters must share; other pairs are skipped and counted.

    Returns
    -------
    HumanLikeness

    Raises
    ------
    ValueError
        If `model` does not fit `votes`, an annotator has two choices on an item, or a number is
        out of range.

    Notes
    -----
    :math:`\kappa_j` is the mean Cohen kappa of annotator j with the other annotators,
    :math:`z=(\overline{\kappa(f,j)}-\overline{\kappa_j})/sd(\kappa_j)`. If annotators share
    items only inside a block, pairs exist only there: kappas are computed within blocks and then
    pooled. If nobody shares `min_common` items with one other annotator, as where 30 people get 30
    random items each, :math:`\kappa_j` is that of one table of j against all others, with
    `min_common` comparisons or more. The model needs 80 % of `min_common` items of an annotator. A
    pair without variation has no kappa and is left out, also in a resample.
    Resamples without any kappa are dropped; above 5 % there is no interval.

    References
    ----------
    .. [1] "Judge's Verdict", arXiv 2510.09738 (2025).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.integers(0, 2, 200)
    >>> people = np.where(rng.random((200, 3)) < 0.8, truth[:, None], 1 - truth[:, None])
    >>> result = human_likeness(Votes.from_matrix(people), truth, rng=rng, n_draws=200)
    >>> result.n_people, result.label, result.difference.value > 0.1
    (3, None, True)
    """
    (result,) = human_likeness_of_several(
        votes, [model], rng=rng, n_draws=n_draws, level=level, min_common=min_common
    )
    return result


def human_likeness_of_several(
    votes: Votes,
    models: Sequence[npt.ArrayLike],
    *,
    rng: np.random.Generator,
    n_draws: int = 1000,
    level: float = 0.95,
    min_common: int = MIN_COMMON,
) -> tuple[HumanLikeness, ...]:
    """`human_likeness` of several models, in one set of resamples.

    Parameters
    ----------
    votes : Votes
        Choices of people, at most one per annotator and item.
    models : sequence of array_like of int, each of shape (n_items,)
        Each model's choice, -1 missing.
    rng, n_draws, level, min_common
        As for `human_likeness`.

    Returns
    -------
    tuple of HumanLikeness
        In the order of `models`; each equals the result of `human_likeness` with a generator of the
        same seed. People's kappas with each other are computed once, which is most of the work.

    Raises
    ------
    ValueError
        As for `human_likeness`.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.integers(0, 2, 200)
    >>> people = np.where(rng.random((200, 3)) < 0.8, truth[:, None], 1 - truth[:, None])
    >>> results = human_likeness_of_several(
    ...     Votes.from_matrix(people), [truth, 1 - truth], rng=rng, n_draws=200
    ... )
    >>> [result.difference.value > 0 for result in results]
    [True, False]
    """
    if n_draws < 2:
        raise ValueError(f"`n_draws` must be at least 2, got {n_draws}.")
    if min_common < 2:
        raise ValueError(f"`min_common` must be at least 2, got {min_common}.")
    choices = [model_choices(votes, model) for model in models]
    require_single_votes(votes)
    if not choices:
        return ()
    pairs, n_skipped = _pairs(votes, choices, min_common)

    observed = _kappas(pairs.tables(np.ones((votes.n_items, 1), dtype=np.float32)))
    people, with_models = _rater_means(observed, pairs)
    kappas = {int(j): float(people[j, 0]) for j in np.flatnonzero(~np.isnan(people[:, 0]))}
    gaps = _resampled_gaps(pairs, n_draws, rng) if kappas else None
    results = []
    for number, with_model in enumerate(with_models[:, 0]):
        result = HumanLikeness(
            difference=Estimate(None, "no_pairs"),
            z=None,
            label=None,
            model_kappa=None,
            human_kappa=None,
            human_sd=None,
            kappas=kappas,
            n_people=len(kappas),
            n_pairs=int((pairs.second < votes.n_annotators).sum()),
            n_pairs_skipped=n_skipped,
            reason="no_pairs",
        )
        if gaps is not None and not np.isnan(with_model):
            own = np.array(list(kappas.values()))
            difference = resampled_estimate(
                float(with_model) - float(own.mean()),
                gaps[number],
                level=level,
                method="item bootstrap",
                n_items=votes.n_items,
                n_annotators=votes.n_annotators,
                rng=rng,
            )
            result = _with_model(result, float(with_model), difference)
        results.append(result)
    return tuple(results)


def _with_model(people: HumanLikeness, model_kappa: float, difference: Estimate) -> HumanLikeness:
    """Results of the people alone, completed by a model's mean kappa with them."""
    own = np.array(list(people.kappas.values()))
    gap = model_kappa - float(own.mean())
    sd = float(own.std(ddof=1)) if own.size > 1 else None
    z, reason = _standardise(gap, sd, own.size)
    return replace(
        people,
        difference=difference,
        z=z,
        label=_label(z) if z is not None and own.size >= MIN_PEOPLE_FOR_LABEL else None,
        model_kappa=model_kappa,
        human_kappa=float(own.mean()),
        human_sd=sd,
        reason=reason,
    )


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of raters, and one row for each item that a pair shares.

    Models are the raters with the codes after the `n_people` annotators, so a model is always
    `second`; two models are no pair.
    `cell`, shape (n_rows,), is where the row counts in the joint tables of all pairs.
    """

    first: IntArray
    second: IntArray
    item: IntArray
    cell: IntArray
    n_items: int
    n_options: int
    n_people: int
    n_models: int

    @cached_property
    def _counts(self) -> sparse.csr_array:
        """1 where an item counts in a cell of a table, shape (C * C * n_pairs, n_items).

        Numbers of 32 bits hold whole numbers exactly up to 16 million, more than any resample.
        """
        shape = (self.n_options**2 * self.first.size, self.n_items)
        ones = np.ones(self.cell.size, dtype=np.float32)
        return sparse.csr_array((ones, (self.cell, self.item)), shape=shape)

    @cached_property
    def members(self) -> sparse.csr_array:
        """1 where a pair's kappa counts for a rater, shape (n_people + n_models, n_pairs).

        A pair of people counts for both, a pair with a model only for the model.
        """
        number = np.arange(self.first.size)
        among_people = self.second < self.n_people
        rater = np.concatenate([self.second, self.first[among_people]])
        pair = np.concatenate([number, number[among_people]])
        shape = (self.n_people + self.n_models, number.size)
        return sparse.csr_array((np.ones(rater.size), (rater, pair)), shape=shape)

    def tables(self, weights: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Joint table of each pair under whole weights of the items, shape (n_items, n_draws).

        Shape (C, C, n_pairs, n_draws): the few options are the outer axes, so that later sums add
        long rows.
        """
        shape = (self.n_options, self.n_options, self.first.size, weights.shape[1])
        return np.asarray((self._counts @ weights).reshape(shape), dtype=np.float32)


def _pairs(votes: Votes, models: Sequence[IntArray], min_common: int) -> tuple[_Pairs, int]:
    """Pairs of raters who share enough items, and how many pairs of people share too few."""
    answered = [np.flatnonzero(model >= 0) for model in models]
    own = [np.full(items.size, votes.n_annotators + j) for j, items in enumerate(answered)]
    rater = np.concatenate([votes.annotator, *own])
    item = np.concatenate([votes.item, *answered])
    choice = np.concatenate(
        [votes.choice, *(model[items] for model, items in zip(models, answered, strict=True))]
    )
    order = np.lexsort((rater, item))
    rater, item, choice = rater[order], item[order], choice[order]

    one, two = _rows_of_one_item(np.bincount(item, minlength=votes.n_items))
    with_people = rater[one] < votes.n_annotators
    one, two = one[with_people], two[with_people]
    n_raters = votes.n_annotators + len(models)
    cells = rater[one] * n_raters + rater[two]
    pair, codes, common = _counted(cells)
    among_people = codes % n_raters < votes.n_annotators
    # A refusal or two must not remove a person from the comparison with a model.
    enough = common >= np.where(among_people, min_common, MOST_OF_COMMON * min_common)
    n_skipped = int(np.sum(~enough & among_people))
    if n_skipped and not (enough & among_people).any():
        # Nobody shares enough items with one other person, so each is compared with all others at
        # once. Such a table counts for one rater and is stored as that rater's pair with itself.
        with_model = rater[two] >= votes.n_annotators
        firsts, seconds, with_models = one[~with_model], two[~with_model], cells[with_model]
        one = np.concatenate([firsts, seconds, one[with_model]])
        two = np.concatenate([seconds, firsts, two[with_model]])
        person = rater[one[: 2 * firsts.size]]
        cells = np.concatenate([person * (n_raters + 1), with_models])
        pair, codes, common = _counted(cells)
        among_people = codes % n_raters < votes.n_annotators
        enough = common >= np.where(among_people, min_common, MOST_OF_COMMON * min_common)
    first, second = np.divmod(codes[enough], n_raters)
    kept = enough[pair]
    one, two, pair = one[kept], two[kept], (np.cumsum(enough) - 1)[pair[kept]]
    cell = (choice[one] * votes.n_options + choice[two]) * first.size + pair
    sizes = (votes.n_items, votes.n_options, votes.n_annotators, len(models))
    return _Pairs(first, second, item[one], cell, *sizes), n_skipped


def _counted(cells: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """The pair of each row, the code of each pair, and its number of rows."""
    pair, n_pairs = relabel(cells)
    codes = np.empty(n_pairs, dtype=np.int64)
    codes[pair] = cells
    return pair, codes, np.bincount(pair, minlength=n_pairs)


def _rows_of_one_item(sizes: npt.NDArray[np.intp]) -> tuple[IntArray, IntArray]:
    """Every pair of rows of one item, where item i has the next ``sizes[i]`` rows."""
    starts = np.cumsum(sizes) - sizes
    ones, twos = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for size in np.flatnonzero(np.bincount(sizes)).tolist():
        first, second = np.triu_indices(size, k=1)
        start = starts[sizes == size][:, None]
        ones.append((start + first).ravel())
        twos.append((start + second).ravel())
    return np.concatenate(ones), np.concatenate(twos)


def _kappas(tables: npt.NDArray[np.float32]) -> FloatArray:
    """Cohen's kappa of each table, shape (n_pairs, n_draws).

    NaN where chance agreement is complete or no shared item was drawn.
    """
    n_pairs, n_draws = tables.shape[2:]
    kappas = np.empty((n_pairs, n_draws))
    step = max(1, CACHED_CELLS // max(1, len(tables) ** 2 * n_draws))
    for start in range(0, n_pairs, step):
        part = slice(start, start + step)
        kappas[part] = _kappas_of_some(tables[:, :, part].astype(np.float64))
    return kappas


def _kappas_of_some(tables: FloatArray) -> FloatArray:
    first, second = tables.sum(axis=1), tables.sum(axis=0)
    n = first.sum(axis=0)
    observed = sum(tables[option, option] for option in range(len(tables)))
    # Both sides multiplied by n, so that whole numbers decide whether kappa is defined.
    chance = (first * second).sum(axis=0)
    return ratio(np.where(n > 0, n * observed - chance, 0.0), n * n - chance)


def _rater_means(kappas: FloatArray, pairs: _Pairs) -> tuple[FloatArray, FloatArray]:
    """Mean kappa with people, of each person, shape (n_people, n_draws), and of each model."""
    defined = ~np.isnan(kappas)
    sums = pairs.members @ np.where(defined, kappas, 0.0)
    means = ratio(sums, pairs.members @ defined.astype(np.float64))
    return means[: pairs.n_people], means[pairs.n_people :]


def _resampled_gaps(pairs: _Pairs, n_draws: int, rng: np.random.Generator) -> FloatArray:
    """Each model's mean kappa minus the people's in resamples of items, (n_models, n_draws)."""
    resamples = resampled_weights(pairs.n_items, n_draws, rng)
    size = max(1, CHUNK_CELLS // (pairs.first.size * pairs.n_options**2))
    gaps = []
    while chunk := list(islice(resamples, size)):
        tables = pairs.tables(np.stack(chunk, axis=1, dtype=np.float32, casting="same_kind"))
        people, with_models = _rater_means(_kappas(tables), pairs)
        defined = ~np.isnan(people)
        total = np.where(defined, people, 0.0).sum(axis=0)
        gaps.append(with_models - ratio(total, defined.sum(axis=0).astype(np.float64)))
    return np.concatenate(gaps, axis=1)


def _standardise(
    difference: float, sd: float | None, n_people: int
) -> tuple[float | None, Reason | None]:
    if sd is None or n_people < 3:
        return None, "too_few_annotators"
    if sd < 1e-12:
        return None, "no_variation"
    return difference / sd, None


def _label(z: float) -> LikenessLabel:
    if abs(z) < 1:
        return "human-like"
    return "super-consistent" if z >= 1 else "below human"
