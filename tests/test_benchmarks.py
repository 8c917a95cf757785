"""Benchmarks run within their time, and what they print is kept."""

from benchmarks import __main__ as benchmarks


def test_all_benchmarks_take_less_than_fifteen_minutes():
    planned = [benchmarks.SHORT.get(name, benchmarks.OTHERS) for name in benchmarks.available()]

    assert benchmarks.available()[0] == "peers"
    assert sum(short.seconds for short in planned) < 1000  # They are ended after 14.5 minutes.


def test_text_is_fenced_and_a_table_is_not():
    assert benchmarks.page("Today.", "1.5 answers\n") == "Today.\n\n```\n1.5 answers\n```\n"
    assert benchmarks.page("Now.", "| a |\n| --- |\n| 1 |\n") == "Now.\n\n| a |\n| --- |\n| 1 |\n"
