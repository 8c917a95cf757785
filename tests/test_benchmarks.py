"""Benchmarks run within their time, and their output reaches the page."""

import re

from benchmarks import __main__ as benchmarks


def test_all_benchmarks_take_less_than_fifteen_minutes():
    planned = [benchmarks.SHORT.get(name, benchmarks.OTHERS) for name in benchmarks.available()]

    assert benchmarks.available()[0] == "peers"
    assert sum(short.seconds for short in planned) < 1000  # They are ended after 14.5 minutes.


def test_every_benchmark_has_its_part_of_the_page():
    text = "".join(page.read_text("utf-8") for page in benchmarks.PAGES)
    marked = re.findall(r"<!-- (\w+) -->", text)

    assert sorted(marked) == sorted(benchmarks.available())


def test_the_output_replaces_the_earlier_one():
    page = "before\n<!-- peers -->\nold\n<!-- end of peers -->\nafter\n"

    text = benchmarks.written(page, "peers", "Measured today.", "1.5 answers\n")
    table = benchmarks.written(text, "peers", "Measured now.", "| a |\n| --- |\n| 1 |\n")

    assert text == (
        "before\n<!-- peers -->\nMeasured today.\n\n```\n1.5 answers\n```\n\n"
        "<!-- end of peers -->\nafter\n"
    )
    assert table == (
        "before\n<!-- peers -->\nMeasured now.\n\n| a |\n| --- |\n| 1 |\n\n"
        "<!-- end of peers -->\nafter\n"
    )
    assert benchmarks.written(page, "exports", "", "") == page
