"""Progress is shown to people at a terminal and to nobody else."""

import io

from studies.management.terminal import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def draw(stream: io.StringIO) -> str:
    with progress_bar(stream, total=3, label="items.csv") as bar:
        bar.update()
        bar.refresh()
        shown = stream.getvalue()
    return shown


def test_a_pipe_gets_no_bar():
    stream = io.StringIO()

    draw(stream)

    assert stream.getvalue() == ""


def test_a_terminal_gets_a_bar_and_a_clean_line_after_it():
    stream = Terminal()

    shown = draw(stream)

    assert "items.csv" in shown
    assert "1/3" in shown
    assert stream.getvalue().split("\r")[-2].strip() == stream.getvalue().split("\r")[-1] == ""
