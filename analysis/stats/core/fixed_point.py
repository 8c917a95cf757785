"""Accelerated expectation-maximisation, repeated until it converges."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from analysis.stats.core.results import FloatArray

# One plain step: the state after it, and the merit of the state before it.
Step = Callable[[FloatArray], tuple[FloatArray, float]]
# Takes an extrapolated state and an allowed one close by; returns an allowed state.
Allow = Callable[[FloatArray, FloatArray], FloatArray]

TOLERANCE = 1e-10  # largest gain in merit of a converged step
MOVEMENT = 1e-8  # largest change of any number of the state in a converged step
MAX_STEPS = 1000
PLAIN = 20  # first steps, without extrapolation, so that the climb stays near its start
ROUNDING = 4 * np.finfo(np.float64).eps  # of a merit, relative to its size


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """State at the end of the steps.

    Attributes
    ----------
    state : ndarray of float
        The state after the last step.
    n_steps : int
        Steps computed, those after rejected extrapolations included.
    converged : bool
        Whether a plain step changed merit and state by at most the tolerances.
    """

    state: FloatArray
    n_steps: int
    converged: bool


def climb(
    step: Step,
    start: FloatArray,
    *,
    allow: Allow,
    weights: FloatArray | None = None,
    tolerance: float = TOLERANCE,
    max_steps: int = MAX_STEPS,
) -> FixedPoint:
    r"""Repeat `step` until it converges, with an extrapolation after every two (SQUAREM).

    Parameters
    ----------
    step : callable
        Takes a state; returns the next state and the merit of the given one: a
        log-likelihood, a posterior density or a variational bound, which no plain step lowers.
    start : ndarray of float
        Any shape.
    allow : callable
        Turns an extrapolated state into an allowed one, given an allowed state near it.
    weights : ndarray of float, optional
        How often each entry of the last axis counts in lengths, if it stands for several.
    tolerance : float, default 1e-10
        Largest gain in merit of a converged step. Rounding of the merit is allowed for.
    max_steps : int, default 1000
        At least 1.

    Notes
    -----
    With :math:`r=F(x)-x` and :math:`v=F(F(x))-F(x)-r` the extrapolation is
    :math:`x+2ar+a^2v` with :math:`a=\|r\|/\|v\|`, followed by one plain step. One that lowers the
    merit is dropped, so the merit never falls. Twenty plain steps come first, and :math:`a`
    is at most 1, then 4, then 16 and so on: without that, 1 of 60 simulated studies of 240 items
    ended at another, higher maximum than plain steps.

    References
    ----------
    .. [1] R. Varadhan and C. Roland, "Simple and Globally Convergent Methods for Accelerating
       the Convergence of Any EM Algorithm", Scandinavian Journal of Statistics 35, 2008.
    """
    state, n_steps, reach = start, min(PLAIN, max_steps), 1.0
    for _ in range(n_steps):
        state, _ = step(state)
    while n_steps < max_steps:
        first, merit = step(state)
        n_steps += 1
        if n_steps == max_steps:
            return FixedPoint(first, n_steps, False)
        second, next_merit = step(first)
        n_steps += 1
        gain = next_merit - merit
        moved = float(np.abs(second - first).max(initial=0.0))
        if moved <= MOVEMENT and gain <= max(tolerance, ROUNDING * abs(merit)):
            return FixedPoint(second, n_steps, True)
        rise = first - state
        bend = second - first - rise
        length = _length(bend, weights)
        ahead = min(_length(rise, weights) / length, reach) if length > 0 else 1.0
        reach = reach * 4 if ahead == reach else reach
        guess = allow(state + 2 * ahead * rise + ahead**2 * bend, second)
        state = second
        if ahead > 1 and n_steps < max_steps:
            stepped, reached = step(guess)
            n_steps += 1
            if reached >= next_merit:
                state = stepped
    return FixedPoint(state, n_steps, False)


def _length(change: FloatArray, weights: FloatArray | None) -> float:
    if weights is None:
        return float(np.linalg.norm(change))
    return float(np.sqrt((change**2 @ weights).sum()))
