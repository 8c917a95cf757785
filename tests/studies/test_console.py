"""What commands write to terminals, pipes and files that cannot take it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
BEGIN = "import sys\nfrom studies.console import console\nwith console():\n    "


def run(body, **options):
    """What a small command does that writes through `console`."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | options.pop("env", {})
    return subprocess.run(
        [sys.executable, "-c", BEGIN + body],
        env=environment,
        stderr=subprocess.PIPE,
        check=False,
        **options,
    )


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_a_sign_shows_its_code(encoding):
    done = run(
        "print('✔ café')", stdout=subprocess.PIPE, env={"PYTHONIOENCODING": f"{encoding}:strict"}
    )

    assert done.returncode == 0
    assert done.stdout.decode(encoding).startswith("\\u2714 caf")


@pytest.mark.parametrize("lines", [1, 100_000])
def test_nothing_is_said_when_nobody_reads_on(lines):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = run(f"print('line\\n' * {lines})", stdout=writer)
    finally:
        os.close(writer)

    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="there is no /dev/full")
def test_output_without_space_is_a_sentence():
    with Path("/dev/full").open("wb") as full:
        done = run("print('line')", stdout=full)

    assert done.returncode == 1
    assert done.stderr.startswith(b"No space is left where the output goes")
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        ("input('Type yes: ')", 1, b"there is no terminal to type it in"),
        ("raise KeyboardInterrupt", 130, b"Stopped. What was stored until now is kept."),
    ],
)
def test_nobody_who_types_and_a_stop_are_sentences(body, code, words):
    done = run(body, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)

    assert done.returncode == code
    assert words in done.stderr
    assert b"Traceback" not in done.stderr


def test_closed_streams_are_like_empty_ones():
    def close():
        os.close(0)
        os.close(1)

    done = run("print('line'); assert not sys.stdin.isatty()", preexec_fn=close)

    assert (done.returncode, done.stderr) == (0, b"")
