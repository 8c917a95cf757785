"""Signed links: only what Prolific signed for this site, these ids and this moment."""

import base64
import hashlib
import hmac
import json
import time

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from annotation.models import Annotator
from annotation.prolific.sync.entry import BadToken, KeysUnavailable, check_token
from demo.prolific.links import LinkKeys
from tests.annotation.prolific.life import make_recruiting, published

IDS = {"PROLIFIC_PID": "a" * 24, "STUDY_ID": "b" * 24, "SESSION_ID": "c" * 24}
URL = "http://localhost:8000/s/one/"


@pytest.fixture(autouse=True)
def _no_keys_from_before():
    cache.clear()


@pytest.fixture(scope="module")
def private() -> rsa.RSAPrivateKey:
    """Made once: it takes longer than a test."""
    return LinkKeys().private


@pytest.fixture
def keys(prolific, private) -> LinkKeys:
    prolific.world.keys.private = private
    return prolific.world.keys


def claims(keys: LinkKeys, **changes) -> dict:
    """The claims of a good link with some changed, or left out where the change is None."""
    changed = keys.claims(URL, IDS["SESSION_ID"], IDS) | changes
    return {name: value for name, value in changed.items() if value is not None}


def encode(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()


def forge(header: dict, body: dict, sign=lambda signed: b"") -> str:
    """A token put together by hand: no library signs with a key of the wrong kind."""
    signed = ".".join(encode(json.dumps(part).encode()) for part in (header, body))
    return f"{signed}.{encode(sign(signed.encode()))}"


def test_what_prolific_signed_is_accepted(keys):
    check_token(keys.sign(claims(keys)), query=IDS)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"exp": int(time.time()) - 3600}, "has expired"),
        ({"exp": None}, "does not state “exp”"),
        ({"exp": "soon"}, "cannot be read"),
        ({"iss": "https://elsewhere.example"}, "not from Prolific"),
        ({"iss": None}, "does not state “iss”"),
        ({"aud": "https://elsewhere.example/s/one/"}, "another site"),
        ({"aud": ["https://elsewhere.example/"]}, "another site"),
        ({"aud": None}, "does not state “aud”"),
        ({"sub": "d" * 24}, "another session"),
        ({"sub": None}, "does not state “sub”"),
        ({"prolific": {}}, "PROLIFIC_PID"),
        ({"prolific": None}, "PROLIFIC_PID"),
    ],
)
def test_a_token_for_something_else_is_refused(keys, changes, words):
    with pytest.raises(BadToken, match=words):
        check_token(keys.sign(claims(keys, **changes)), query=IDS)


def test_clocks_may_differ_a_little(keys):
    now = int(time.time())

    check_token(keys.sign(claims(keys, exp=now - 5)), query=IDS)
    check_token(keys.sign(claims(keys, iat=now + 300, exp=now + 400)), query=IDS)


def test_a_link_may_name_several_sites(keys):
    check_token(keys.sign(claims(keys, aud=["https://elsewhere.example/", URL])), query=IDS)


@pytest.mark.parametrize("name", list(IDS))
def test_an_id_that_was_not_signed_is_refused(keys, name):
    with pytest.raises(BadToken):
        check_token(keys.sign(claims(keys)), query=IDS | {name: "e" * 24})


def test_another_key_under_the_published_id_is_refused(keys):
    other = LinkKeys()
    other.kid = keys.kid

    with pytest.raises(BadToken, match="signature is not Prolific's"):
        check_token(other.sign(claims(keys)), query=IDS)


def test_an_unknown_key_id_is_refused(keys):
    token = jwt.encode(claims(keys), keys.private, algorithm="RS256", headers={"kid": "unknown"})

    with pytest.raises(BadToken, match="key id"):
        check_token(token, query=IDS)


def test_a_token_without_a_signature_is_refused(keys):
    header = {"alg": "none", "typ": "JWT", "kid": keys.kid}

    with pytest.raises(BadToken, match="algorithm is not RS256"):
        check_token(forge(header, claims(keys)), query=IDS)


def test_the_public_key_does_not_serve_as_the_secret_of_another_algorithm(keys):
    public = keys.private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    header = {"alg": "HS256", "typ": "JWT", "kid": keys.kid}
    token = forge(header, claims(keys), lambda signed: _hmac(public, signed))

    with pytest.raises(BadToken, match="algorithm is not RS256"):
        check_token(token, query=IDS)


def _hmac(secret: bytes, signed: bytes) -> bytes:
    return hmac.new(secret, signed, hashlib.sha256).digest()


def test_another_algorithm_under_the_right_key_is_refused(keys):
    token = jwt.encode(claims(keys), keys.private, algorithm="RS512", headers={"kid": keys.kid})

    with pytest.raises(BadToken, match="algorithm is not RS256"):
        check_token(token, query=IDS)


def test_a_published_secret_or_short_key_is_not_used(keys, monkeypatch):
    secret = {"kty": "oct", "kid": keys.kid, "k": encode(b"s" * 64)}
    short = LinkKeys()
    short.kid = keys.kid
    short.private = rsa.generate_private_key(public_exponent=65537, key_size=1024)
    signed_with_secret = jwt.encode(
        claims(keys), b"s" * 64, algorithm="HS256", headers={"kid": keys.kid}
    )
    with pytest.warns(jwt.InsecureKeyLengthWarning):
        signed_with_short = short.sign(claims(keys))

    for published_key, token in (
        (secret, signed_with_secret),
        (short.public(), signed_with_short),
    ):
        cache.clear()
        monkeypatch.setattr(keys, "public", lambda key=published_key: key)
        with pytest.raises(BadToken):
            check_token(token, query=IDS)


@pytest.mark.parametrize("text", ["", "a.b", "a.b.c", "....", "é.é.é", "W10.W10.W10", "x" * 9000])
def test_text_that_is_not_a_token_is_refused(keys, text):
    with pytest.raises(BadToken):
        check_token(text, query=IDS)


def test_a_token_longer_than_any_of_prolifics_is_refused_unread(keys):
    with pytest.raises(BadToken, match="too long"):
        check_token(keys.sign(claims(keys, padding="x" * 8000)), query=IDS)


@pytest.mark.parametrize("part", [0, 1, 2])
def test_a_changed_byte_is_refused(keys, part):
    parts = keys.sign(claims(keys)).split(".")
    text = parts[part]
    parts[part] = text[:10] + ("A" if text[10] != "A" else "B") + text[11:]

    with pytest.raises(BadToken):
        check_token(".".join(parts), query=IDS)


def watch_reads(keys, monkeypatch):
    """The list to which each reading of the public keys adds the key id of that moment."""
    reads, public = [], keys.public

    def read():
        reads.append(keys.kid)
        return public()

    monkeypatch.setattr(keys, "public", read)
    return reads


def test_keys_are_read_once_and_again_for_a_new_one(keys, prolific, monkeypatch):
    reads = watch_reads(keys, monkeypatch)
    first = keys.kid

    check_token(keys.sign(claims(keys)), query=IDS)
    check_token(keys.sign(claims(keys)), query=IDS)
    keys.kid = "rotated"
    check_token(keys.sign(claims(keys)), query=IDS)

    assert reads == [first, "rotated"]


def test_unknown_key_ids_do_not_make_us_read_the_keys_each_time(keys, monkeypatch):
    reads = watch_reads(keys, monkeypatch)
    check_token(keys.sign(claims(keys)), query=IDS)

    for number in range(5):
        with pytest.raises(BadToken):
            check_token(forge({"alg": "RS256", "kid": f"invented-{number}"}, {}), query=IDS)

    assert len(reads) == 2


def test_keys_that_cannot_be_reached_are_reported(keys, settings):
    settings.PROLIFIC_BASE_URL = "http://127.0.0.1:9"

    with pytest.raises(KeysUnavailable, match=r"jwks\.json cannot be read"):
        check_token(keys.sign(claims(keys)), query=IDS)


@pytest.mark.parametrize("rows", ["none", ["a"], 3])
def test_an_invalid_list_of_keys_is_reported(keys, httpserver, settings, rows):
    httpserver.expect_request("/.well-known/study/jwks.json").respond_with_json({"keys": rows})
    settings.PROLIFIC_BASE_URL = httpserver.url_for("/")

    with pytest.raises(KeysUnavailable, match="has no list of keys"):
        check_token(keys.sign(claims(keys)), query=IDS)


@pytest.mark.django_db
def test_a_signed_link_needs_no_lookup_and_a_forged_one_is_refused(prolific):
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
