"""Servers that compress what they send although they were asked not to."""

import gzip
import sys
import types
import zlib

import pytest

from judging.backends import compression
from judging.backends.compression import unpacked
from judging.engine.interface import Garbage, Misconfigured
from tests.judging.llm_server import Answer, completion, error
from tests.judging.run_helpers import judge_all, states, study_of

PLAIN = completion("[[A]]").body
RAW_DEFLATE = zlib.compressobj(wbits=-15)
RAW = RAW_DEFLATE.compress(PLAIN) + RAW_DEFLATE.flush()
PACKED = [
    ("gzip", gzip.compress(PLAIN)),
    ("GZIP", gzip.compress(PLAIN)),
    ("x-gzip", gzip.compress(PLAIN)),
    ("gzip", gzip.compress(PLAIN[:20]) + gzip.compress(PLAIN[20:])),
    ("deflate", zlib.compress(PLAIN)),
    ("deflate", RAW),
    ("deflate, gzip", gzip.compress(zlib.compress(PLAIN))),
    ("identity", PLAIN),
    ("", PLAIN),
]


@pytest.mark.parametrize(("encoding", "content"), PACKED, ids=range(len(PACKED)))
def test_a_reply_that_is_compressed_is_unpacked(encoding, content):
    assert unpacked(content, encoding, status=200) == PLAIN


def test_a_server_that_compresses_is_read(judge, llm):
    study = study_of(2)
    content, encoding = gzip.compress(PLAIN), {"Content-Encoding": "gzip"}
    llm.answer = lambda body, n: Answer(body=content, headers=encoding)

    run = judge_all(study, judge)

    assert (run.state, states(run), len(llm.requests)) == ("done", {"done": 2}, 2)


def test_an_error_that_is_compressed_is_told_in_the_words_of_the_server(judge, llm):
    study = study_of(1)
    packed = gzip.compress(error(401, "no such key").body)
    llm.answer = lambda body, n: Answer(401, packed, {"Content-Encoding": "gzip"})

    run = judge_all(study, judge)

    assert "refuses the key (HTTP 401: no such key)" in run.sentence


def test_a_compression_that_cannot_be_read_stops_the_run_at_once_and_says_so(
    judge, llm, monkeypatch
):
    monkeypatch.setitem(sys.modules, "brotli", None)
    monkeypatch.setitem(sys.modules, "brotlicffi", None)
    study = study_of(40)
    llm.answer = lambda body, n: Answer(body=b"\x8b", headers={"Content-Encoding": "br"})

    run = judge_all(study, judge)

    assert "compresses its answers as br" in run.sentence
    assert "install the package brotli" in run.sentence
    assert len(llm.requests) <= judge.slots


def test_brotli_is_unpacked_where_its_package_is_installed(monkeypatch):
    unpacker = types.SimpleNamespace(process=lambda content: content[::-1])
    package = types.SimpleNamespace(Decompressor=lambda: unpacker)
    monkeypatch.setitem(sys.modules, "brotli", package)

    assert unpacked(b"cba", "br", status=200) == b"abc"


@pytest.mark.parametrize("encoding", ["br", "zstd"])
def test_a_package_unpacks_no_more_than_an_answer_may_have(monkeypatch, encoding):
    taken = []

    def process(content):
        taken.append(content)
        return bytes(400)

    unpacker = types.SimpleNamespace(process=process, read=bytes)
    package = types.SimpleNamespace(Decompressor=lambda: unpacker)
    if encoding == "zstd":
        package.ZstdDecompressor = lambda: types.SimpleNamespace(
            stream_reader=lambda content: unpacker
        )
    monkeypatch.setitem(sys.modules, {"br": "brotli", "zstd": "zstandard"}[encoding], package)
    monkeypatch.setattr(compression, "MOST_BYTES", 1000)

    with pytest.raises(Garbage, match="more than 1,000 bytes"):
        unpacked(bytes(10_000), encoding, status=200)
    assert len(taken) <= 3


@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        ("gzip", b"no gzip"),
        ("gzip", gzip.compress(PLAIN)[:-10]),
        ("deflate", b"\x00\x01no"),
        ("gzip", gzip.compress(b"0" * 2000)),
    ],
    ids=["no gzip", "cut off", "no deflate", "too large"],
)
def test_what_cannot_be_unpacked_is_no_answer(monkeypatch, encoding, content):
    monkeypatch.setattr(compression, "MOST_BYTES", 1000)

    with pytest.raises(Garbage, match="cannot be unpacked") as caught:
        unpacked(content, encoding, status=200)
    assert "Error -" not in str(caught.value)


def test_an_encoding_that_nobody_knows_is_named():
    with pytest.raises(Misconfigured, match="as snappy"):
        unpacked(b"x", "snappy", status=200)
