"""Whether answers get slower with the number of requests at once.

The mean of a round of answers is compared with the usual time, which is that of quick rounds. A
round is as long as there are slots, so that it shows what the present number of slots does; single
answers differ too much, because replies differ in length. Slow rounds change the usual time only
with the fewest slots: with more, they may be slow because there are so many.
"""

from enum import Enum

SHORTEST_ROUND = 32  # answers
_SLACK = 0.02  # seconds: a local server's times are all noise below that
_STEADY, _SLOWER = 1.25, 1.5  # of the usual time
_LEARNING = 0.5  # of the difference to a round: the quickest of many is quick by chance


class Trend(Enum):
    STEADY = "steady"  # more slots cost nothing
    UNCLEAR = "unclear"
    SLOWER = "slower"  # requests wait for each other


class ResponseTimes:
    def __init__(self) -> None:
        self._usual: float | None = None
        self._sum, self._count, self._round = 0.0, 0, SHORTEST_ROUND
        self.trend = Trend.STEADY

    def add(self, seconds: float, slots: int, *, is_fewest: bool) -> bool:
        """Add an answer; return whether it ended a round, so that `trend` is new."""
        if not self._count:
            self._round = max(SHORTEST_ROUND, slots)
        self._sum += seconds
        self._count += 1
        if self._count < self._round:
            return False
        mean, self._sum, self._count = self._sum / self._count, 0.0, 0
        if self._usual is None:
            self._usual = mean
        elif is_fewest or mean < self._usual:
            self._usual += _LEARNING * (mean - self._usual)
        if mean <= self._usual * _STEADY + _SLACK:
            self.trend = Trend.STEADY
        else:
            is_slower = mean > self._usual * _SLOWER + _SLACK
            self.trend = Trend.SLOWER if is_slower else Trend.UNCLEAR
        return True

    def start_round(self) -> None:
        """Leave out what was answered so far: other slots apply from now on."""
        self._sum, self._count = 0.0, 0
