"""Signed links: only what Prolific signed for this site, these ids and this moment."""

import base64
import shutil
import subprocess
import time

import pytest
import requests
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from annotation.models import Annotator
from annotation.prolific.api.signed_url import BadToken, check
from demo.prolific.links import LinkKeys, encode
from tests.annotation.prolific.life import make_recruiting, published

IDS = {"PROLIFIC_PID": "a" * 24, "STUDY_ID": "b" * 24, "SESSION_ID": "c" * 24}
URL = "http://localhost:8000/s/one/"


@pytest.fixture(autouse=True)
def _no_keys_from_before():
    cache.clear()


@pytest.fixture
def keys(prolific) -> LinkKeys:
    return prolific.world.keys


def token(keys: LinkKeys, **changes) -> str:
    return keys.token(URL, IDS["SESSION_ID"], IDS, **changes)


def test_what_prolific_signed_is_taken(keys):
    check(token(keys), query=IDS)


def test_the_signature_is_one_that_openssl_accepts(keys, tmp_path):
    """Signer and verifier here could share a mistake; a third program knows neither."""
    openssl = shutil.which("openssl")
    assert openssl, "install openssl"
    signed, _, signature = token(keys).rpartition(".")
    p, q = keys._primes
    config = f"asn1=SEQUENCE:key\n[key]\nn=INTEGER:{p * q}\ne=INTEGER:65537\n"
    (tmp_path / "key.cnf").write_text(config)
    (tmp_path / "signed").write_text(signed)
    padded = signature + "=" * (-len(signature) % 4)
    (tmp_path / "signature").write_bytes(base64.urlsafe_b64decode(padded))

    def run(*args: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([openssl, *args], cwd=tmp_path, capture_output=True, check=False)

    assert run("asn1parse", "-genconf", "key.cnf", "-noout", "-out", "key.der").returncode == 0
    assert run(
        "rsa", "-RSAPublicKey_in", "-inform", "DER", "-in", "key.der", "-pubout", "-out", "key.pem"
    ).returncode == 0  # fmt: skip
    verified = run("dgst", "-sha256", "-verify", "key.pem", "-signature", "signature", "signed")
    assert verified.stdout.strip() == b"Verified OK"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"exp": int(time.time()) - 3600}, "too old"),
        ({"exp": None}, "too old"),
        ({"iss": "https://elsewhere.example"}, "not from Prolific"),
        ({"aud": "https://elsewhere.example/s/one/"}, "another site"),
        ({"sub": "d" * 24}, "another session"),
        ({"prolific": {}}, "PROLIFIC_PID"),
        ({"prolific": None}, "PROLIFIC_PID"),
    ],
)
def test_a_token_for_something_else_is_refused(keys, changes, words):
    with pytest.raises(BadToken, match=words):
        check(token(keys, **changes), query=IDS)


@pytest.mark.parametrize("name", list(IDS))
def test_an_id_that_was_not_signed_is_refused(keys, name):
    with pytest.raises(BadToken):
        check(token(keys), query=IDS | {name: "e" * 24})


def test_another_key_or_algorithm_is_refused(keys):
    other = LinkKeys()
    other.kid = keys.kid
    claims = {"iss": "https://www.prolific.com"}
    unsigned = ".".join([encode(b'{"alg": "none"}'), encode(b"{}"), ""])

    for forged in (
        token(other),
        keys.sign({"alg": "HS256", "kid": keys.kid}, claims),
        keys.sign({"alg": "RS256", "kid": "unknown"}, claims),
        unsigned,
    ):
        with pytest.raises(BadToken):
            check(forged, query=IDS)


@pytest.mark.parametrize("text", ["", "a.b", "a.b.c", "....", "é.é.é", "W10.W10.W10", "x" * 9000])
def test_what_is_no_token_is_refused(keys, text):
    with pytest.raises(BadToken):
        check(text, query=IDS)


def test_a_changed_byte_is_refused(keys):
    good = token(keys)
    place = good.index(".") + 10
    changed = good[:place] + ("A" if good[place] != "A" else "B") + good[place + 1 :]

    with pytest.raises(BadToken):
        check(changed, query=IDS)


def test_keys_are_read_once_and_again_for_a_new_one(keys, prolific):
    check(token(keys), query=IDS)
    check(token(keys), query=IDS)
    keys.kid = "rotated"
    check(token(keys), query=IDS)


def test_keys_that_cannot_be_read_are_told(keys, settings):
    settings.PROLIFIC_BASE_URL = "http://127.0.0.1:9"

    with pytest.raises(requests.RequestException):
        check(token(keys), query=IDS)


@pytest.mark.django_db
def test_a_signed_link_lets_in_without_a_question_and_a_forged_one_does_not(prolific):
    study = make_recruiting()
    row = published(study)
    prolific.world.studies[row.prolific_id]["is_external_study_url_secure"] = True
    good, forged = (prolific.world.arrive(row.prolific_id)["url"] for _ in range(2))
    path = reverse("annotation:entry", args=[study.slug])
    prolific.requests.clear()

    let_in = Client().get(f"{path}?{good.partition('?')[2]}")
    refused = Client().get(f"{path}?{forged.partition('?')[2][:-8]}AAAAAAAA")

    assert (let_in.status_code, refused.status_code) == (302, 400)
    assert Annotator.objects.count() == 1
    assert prolific.requests == []
