"""Variance of a mean over rows that share annotators, personas and questions.

Two items are related if the same person voted on both, or if they have the same persona or
question. Conclusions about other people, personas and questions must allow for all three.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .results import FloatArray, IntArray, relabel
from .votes import Votes

ANNOTATOR = "annotator"
# Coverage was simulated down to these numbers; docs/methods.md has the table.
FEWEST_ANNOTATORS = 8
ANNOTATORS_PER_ANSWER = 4
FEWEST_DEGREES_OF_FREEDOM = 2.0
FEW_CLUSTERS = 8
# Above this number of clusters, their degrees of freedom are bounded from their sizes alone.
MOST_EXACT = 1000
# Tables of no more cells than this are multiplied faster than sparse ones.
MOST_DENSE = 40_000
TINY = 1e-9

Overlaps = dict[tuple[str, str], float]


@dataclass(frozen=True, eq=False)
class SharedKind:
    """One kind of cluster that rows share.

    Attributes
    ----------
    row, cluster : numpy.ndarray of int, shape (memberships,)
        Each pair of a row and a cluster that it belongs to, in the order of rows and clusters; a
        majority belongs to every person who voted.
    n : int
        Rows.
    n_clusters : int
        Clusters with a row.
    """

    row: IntArray
    cluster: IntArray
    n: int
    n_clusters: int

    @classmethod
    def of(cls, row: npt.ArrayLike, code: npt.ArrayLike, n: int) -> "SharedKind":
        codes, n_clusters = relabel(code)
        width = max(n_clusters, 1)
        cells = np.asarray(row, dtype=np.int64) * width + codes
        if (np.diff(cells) <= 0).any():
            cells = np.unique(cells)
        rows, clusters = np.divmod(cells, width)
        return cls(rows, clusters, n, n_clusters)

    def take(self, rows: IntArray) -> "SharedKind":
        counts = self._per_row[rows].astype(np.intp)  # 32 bits in a browser
        first = np.cumsum(self._per_row) - self._per_row
        # Where each chosen row's clusters begin, and then one place further each.
        ahead = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        places = np.repeat(first[rows], counts) + ahead
        return SharedKind.of(
            np.repeat(np.arange(rows.size), counts), self.cluster[places], rows.size
        )

    @cached_property
    def incidence(self) -> sparse.csr_array:
        """1 where a row belongs to a cluster, shape (n, n_clusters)."""
        ends = np.concatenate([[0], np.cumsum(self._per_row)])
        ones = np.ones(self.cluster.size)
        return sparse.csr_array((ones, self.cluster, ends), shape=(self.n, self.n_clusters))

    @cached_property
    def memberships(self) -> FloatArray:
        """Number of clusters of each row, shape (n,)."""
        return self._per_row.astype(np.float64)

    @cached_property
    def sizes(self) -> FloatArray:
        """Number of rows of each cluster, shape (n_clusters,)."""
        return np.bincount(self.cluster, minlength=self.n_clusters).astype(np.float64)

    def in_common(self, other: "SharedKind") -> FloatArray | sparse.csr_array:
        """Number of rows that clusters share with those of another kind, a table of clusters."""
        if self.n * max(self.n_clusters, other.n_clusters) <= MOST_DENSE:
            return np.asarray(self._table.T @ other._table)
        return sparse.csr_array(self.incidence.T @ other.incidence)

    @cached_property
    def _per_row(self) -> IntArray:
        return np.bincount(self.row, minlength=self.n)

    @cached_property
    def _table(self) -> FloatArray:
        table = np.zeros((self.n, self.n_clusters))
        table[self.row, self.cluster] = 1.0
        return table


@dataclass(frozen=True, eq=False)
class Spread:
    """Variance of the mean of each row of values, and its degrees of freedom; shape (studies,)."""

    variance: FloatArray
    degrees_of_freedom: FloatArray


@dataclass(frozen=True, eq=False)
class Sharing:
    """What rows share, computed once for any number of values on these rows.

    Attributes
    ----------
    n : int
        Rows: items, or single answers.
    kinds : mapping of str to SharedKind
        Everything that rows may share.
    used : tuple of str
        The kinds that add to the variance: not those with one cluster, with one cluster per
        row, or with the same clusters as an earlier kind.
    n_clusters : mapping of str to int
        Clusters of every kind.
    short : tuple of str
        Kinds with too few clusters for an interval.
    """

    n: int
    kinds: Mapping[str, SharedKind]
    used: tuple[str, ...]
    n_clusters: Mapping[str, int]
    short: tuple[str, ...]
    _expected: FloatArray
    _pairs: FloatArray
    _degrees: FloatArray

    @classmethod
    def of(cls, n: int, kinds: Mapping[str, SharedKind]) -> "Sharing":
        """Build from the `kinds` of `n` rows."""
        used: list[str] = []
        overlaps: Overlaps = {}
        expected, pairs = _expectations(n, {}, overlaps)
        for name, kind in kinds.items():
            if 1 < kind.n_clusters and (kind.sizes > 1).any():
                chosen = {other: kinds[other] for other in (*used, name)}
                wider, more = _expectations(n, chosen, overlaps)
                if _is_regular(wider):
                    used, expected, pairs = [*used, name], wider, more
        degrees = np.array([_degrees_of_freedom(kinds[name], n) for name in used])
        return cls(
            n=n,
            kinds=MappingProxyType(dict(kinds)),
            used=tuple(used),
            n_clusters=MappingProxyType({name: kind.n_clusters for name, kind in kinds.items()}),
            short=tuple(_short(n, kinds, used, degrees)),
            _expected=expected,
            _pairs=pairs,
            _degrees=degrees,
        )

    @classmethod
    def of_items(
        cls, n: int, clusters: Mapping[str, npt.ArrayLike], votes: Votes | None = None
    ) -> "Sharing":
        """Build for items with one code each in `clusters`, and the people who voted on them.

        Examples
        --------
        >>> votes = Votes.from_matrix(np.eye(12, dtype=int) + np.eye(12, k=1, dtype=int) - 1)
        >>> found = Sharing.of_items(12, {"persona": np.arange(12) // 3}, votes)
        >>> found.used, dict(found.n_clusters), found.short
        (('annotator', 'persona'), {'annotator': 12, 'persona': 4}, ())
        """
        kinds = {}
        if votes is not None:
            kinds[ANNOTATOR] = SharedKind.of(votes.item, votes.annotator, n)
        kinds |= {name: SharedKind.of(np.arange(n), codes, n) for name, codes in clusters.items()}
        return cls.of(n, kinds)

    def take(self, rows: npt.ArrayLike) -> "Sharing":
        """Restrict to some of the rows, given by a mask or by positions."""
        chosen = np.asarray(rows)
        positions = np.flatnonzero(chosen) if chosen.dtype == np.bool_ else chosen
        taken = {name: kind.take(positions) for name, kind in self.kinds.items()}
        return Sharing.of(positions.size, taken)

    def without(self, *names: str) -> "Sharing":
        """Leave out some kinds."""
        kinds = {name: kind for name, kind in self.kinds.items() if name not in names}
        return Sharing.of(self.n, kinds)

    def components(self, values: npt.ArrayLike) -> FloatArray:
        """Variance of a row, and covariance of two rows for each cluster that they share.

        Parameters
        ----------
        values : array_like of float, shape (n,) or (studies, n)

        Returns
        -------
        ndarray of float, shape (studies, 1 + len(used))
            The whole variance of a row, then the kinds `used`, which are not below 0.

        Examples
        --------
        >>> found = Sharing.of_items(12, {"persona": np.arange(12) // 3})
        >>> found.components(np.repeat([0.0, 1.0], 6)).round(3).tolist()
        [[0.333, 0.333]]
        """
        y = np.atleast_2d(np.asarray(values, dtype=np.float64))
        error = y - y.mean(axis=1, keepdims=True)
        squares = np.empty((y.shape[0], len(self.used) + 1))
        squares[:, 0] = (error**2).sum(axis=1)
        for place, name in enumerate(self.used, start=1):
            kind = self.kinds[name]
            sums = error @ kind.incidence
            squares[:, place] = (sums**2).sum(axis=1) - error**2 @ kind.memberships
        return _components(squares, self._expected, self._pairs)

    def spread(self, values: npt.ArrayLike) -> Spread:
        r"""Variance of the mean, for each of several studies with the same design.

        Parameters
        ----------
        values : array_like of float, shape (n,) or (studies, n)

        Returns
        -------
        Spread

        Notes
        -----
        Rows have the covariance :math:`\sigma_0 I+\sum_c\sigma_c L_c` with :math:`L_c` the number
        of clusters of kind c that two different rows share. The sums
        :math:`y_0=\sum e_i^2` and :math:`y_c=e'L_ce` of centred values e are set equal to their
        expected values, :math:`\operatorname{tr}(ML_cML_d)` each, which corrects for the mean
        that was subtracted; a :math:`\sigma_c` below 0 is set to 0 and the others are solved for
        again. Then :math:`V=(n\sigma_0+\sum_c\sigma_c 1'L_c1)/n^2=V_0+\sum_cV_c`: inclusion and
        exclusion over pairs of rows, as in multiway clustering [1]_, with every term unbiased.

        Degrees of freedom are Satterthwaite's,
        :math:`V^2/(V_0^2/(n-1)+\sum_c(V_c^2+2V_cV_0)/f_c+V_0^2/2f_a)`, where :math:`f_c` are those
        of kind c alone, :math:`(\operatorname{tr}K)^2/\operatorname{tr}K^2` with
        :math:`K=(B'MB)^2` for the matrix B of rows by clusters (G - 1 for G equal clusters). The
        last term, for annotators, is half the noise that a term set to 0 had.

        References
        ----------
        .. [1] A. C. Cameron, J. B. Gelbach and D. L. Miller, "Robust Inference With Multiway
           Clustering", Journal of Business & Economic Statistics 29(2), 2011.

        Examples
        --------
        >>> found = Sharing.of_items(12, {"persona": np.arange(12) // 3})
        >>> spread = found.spread(np.repeat([0.0, 1.0], 6))
        >>> round(float(spread.variance[0]), 4), round(float(spread.degrees_of_freedom[0]), 1)
        (0.0833, 3.3)
        """
        parts = self.components(values) * self._pairs / self.n**2
        variance = parts.sum(axis=1)
        # Sums that cancel exactly give rounding noise, not 0.
        is_flat = variance <= 1e-20
        alone, shared = parts[:, 0], parts[:, 1:]
        noise = alone**2 / max(self.n - 1, 1)
        noise += ((shared**2 + 2 * shared * alone[:, None]) / self._degrees).sum(axis=1)
        if ANNOTATOR in self.used:
            noise += alone**2 / (2 * self._degrees[self.used.index(ANNOTATOR)])
        with np.errstate(divide="ignore", invalid="ignore"):
            degrees = np.where(is_flat, self.n - 1, variance**2 / noise)
        return Spread(np.where(is_flat, 0.0, variance), np.maximum(degrees, 1.0))


def _expectations(
    n: int, kinds: Mapping[str, SharedKind], overlaps: Overlaps
) -> tuple[FloatArray, FloatArray]:
    """tr(M L_c M L_d) of rows themselves and of every kind, and the sum of each L.

    `overlaps` keeps tr(L_c L_d) of the pairs of kinds seen so far.
    """
    ones = np.ones(n)
    degree = [kind.incidence @ kind.sizes - kind.memberships for kind in kinds.values()]
    sums = np.array([float(n), *(float(total.sum()) for total in degree)])
    rows = [ones, *degree]
    expected = np.zeros((len(kinds) + 1, len(kinds) + 1))
    expected[0, 0] = n
    for c, (name, one) in enumerate(kinds.items()):
        for d, (its, other) in enumerate(islice(kinds.items(), c + 1)):
            if (name, its) not in overlaps:
                both = float((one.in_common(other) ** 2).sum())
                overlaps[name, its] = both - float(one.memberships @ other.memberships)
            expected[c + 1, d + 1] = expected[d + 1, c + 1] = overlaps[name, its]
    cross = np.array([[float(a @ b) for b in rows] for a in rows])
    expected += np.outer(sums, sums) / max(n, 1) ** 2 - 2 * cross / max(n, 1)
    return expected, sums


def _is_regular(expected: FloatArray) -> bool:
    """Whether the kinds can be distinguished from each other and from the rows."""
    scale = np.sqrt(np.maximum(np.diag(expected), TINY))
    return bool(np.linalg.eigvalsh(expected / np.outer(scale, scale))[0] > TINY)


def _components(squares: FloatArray, expected: FloatArray, pairs: FloatArray) -> FloatArray:
    """Variance components of each study; those below 0 are left out, the most negative first."""
    n_kinds = expected.shape[0]
    kept = np.ones(squares.shape, dtype=np.bool_)
    components = np.zeros(squares.shape)
    for _ in range(n_kinds):
        patterns = kept @ (1 << np.arange(n_kinds))
        for pattern in np.unique(patterns):
            rows = np.flatnonzero(patterns == pattern)
            chosen = np.flatnonzero(pattern >> np.arange(n_kinds) & 1)
            known = squares[rows][:, chosen].T
            full = np.zeros((rows.size, n_kinds))
            full[:, chosen] = np.linalg.solve(expected[chosen][:, chosen], known).T
            components[rows] = full
        below = np.where(components[:, 1:] < 0, components[:, 1:] * pairs[1:], 0.0)
        bad = np.flatnonzero((below < 0).any(axis=1))
        if bad.size == 0:
            break
        kept[bad, below[bad].argmin(axis=1) + 1] = False
    return components


def _degrees_of_freedom(kind: SharedKind, n: int) -> float:
    sizes = kind.sizes
    if kind.n_clusters > MOST_EXACT:
        shared = max(float(kind.memberships.mean()), 1.0)
        return float((sizes**2).sum() ** 2 / (sizes**4).sum() / shared)
    own = kind.in_common(kind)
    table = own if isinstance(own, np.ndarray) else own.toarray()
    centred = table - np.outer(sizes, sizes) / n
    twice = centred @ centred
    scale = float((twice**2).sum())
    return float(np.trace(twice)) ** 2 / scale if scale > 1e-18 else 0.0


def _short(
    n: int, kinds: Mapping[str, SharedKind], used: list[str], degrees: FloatArray
) -> list[str]:
    """Kinds with too few clusters for conclusions about others."""
    short = [
        name
        for name, freedom in zip(used, degrees, strict=True)
        if freedom < FEWEST_DEGREES_OF_FREEDOM - 1e-6
    ]
    people = kinds.get(ANNOTATOR)
    if people is not None:
        per_row = float(people.memberships.sum()) / max(n, 1)
        effective = effective_number(people.sizes) or 0.0
        # Randomly filled seats make loads slightly unequal, which is rounded away.
        is_few = effective < FEWEST_ANNOTATORS - 1e-9
        is_few |= round(effective) < ANNOTATORS_PER_ANSWER * per_row - 1e-9
        if is_few and ANNOTATOR not in short:
            short.insert(0, ANNOTATOR)
    return short


def effective_number(loads: npt.ArrayLike) -> float | None:
    r"""Number of equally busy annotators that these count as, after Kish; None without answers.

    Parameters
    ----------
    loads : array_like of float
        Answers of each annotator.

    Returns
    -------
    float or None

    Notes
    -----
    :math:`(\sum w)^2/\sum w^2`: the number of annotators if all are equally busy, near 1 if one
    gave nearly all answers.

    Examples
    --------
    >>> effective_number([30, 30, 30, 30]), effective_number([90, 10, 10, 10])
    (4.0, 1.7142857142857142)
    """
    w = np.asarray(loads, dtype=np.float64)
    squares = float((w**2).sum())
    return float(w.sum()) ** 2 / squares if squares else None
