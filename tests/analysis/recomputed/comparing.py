"""Numbers of a report beside the same by plain Python."""

import math


def same(ours, theirs):
    if ours is None or theirs is None:
        return ours is theirs
    return math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-12)


def pair(cell):
    return cell["n"], cell["correct"]


def close(found, expected):
    return all(math.isclose(*pair, abs_tol=1e-6) for pair in zip(found, expected, strict=True))
