"""The client against a Prolific that misbehaves in every documented way, over real HTTP."""

import logging

import pytest

from annotation.prolific.api.client import ProlificClient
from annotation.prolific.api.transport import (
    NotConfigured,
    NotFound,
    OutcomeUnknown,
    ProlificRateLimited,
    ProlificRejected,
    ProlificUnreachable,
    Unauthorized,
    api_base,
    describe,
)
from annotation.prolific.api.types import TIMED_OUT, RemoteSubmission, status_name
from demo.prolific.server import TOKEN
from tests.annotation.prolific.payloads import study_payload


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("http://127.0.0.1:9", "http://127.0.0.1:9/api/v1/"),
        ("http://127.0.0.1:9/", "http://127.0.0.1:9/api/v1/"),
        ("https://api.prolific.com/api/v1", "https://api.prolific.com/api/v1/"),
        ("https://proxy.example.org/prolific/v1/", "https://proxy.example.org/prolific/v1/"),
    ],
)
def test_an_empty_path_means_version_one_and_any_other_is_kept(given, used):
    assert api_base(given) == used


def test_without_a_token_the_client_says_where_to_get_one():
    with pytest.raises(NotConfigured, match="PROLIFIC_API_TOKEN"):
        ProlificClient(base_url="http://127.0.0.1:9", token="")


@pytest.mark.parametrize("token", ["to ken", "tok\nen", "tökén"])
def test_a_token_that_no_header_can_carry_is_refused_without_showing_it(token):
    with pytest.raises(NotConfigured) as refused:
        ProlificClient(base_url="http://127.0.0.1:9", token=token)

    assert token not in str(refused.value)


def test_the_token_travels_in_the_header_alone_and_shows_only_its_end(client_of, caplog):
    caplog.set_level(logging.DEBUG)
    client = client_of()

    assert client.me()["email"] == "simulated@example.org"
    assert TOKEN not in caplog.text + repr(client)
    assert client.token_fragment == "…0000"


def test_a_short_token_shows_nothing_of_itself():
    assert ProlificClient(base_url="http://127.0.0.1:9", token="abcd").token_fragment == "…"


def test_a_netrc_file_does_not_replace_the_token(client_of, monkeypatch, tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password else\n")
    monkeypatch.setenv("NETRC", str(netrc))

    assert client_of().me()["email"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"title": "Bad", "detail": {"reward": ["Too low."]}}}, "Bad: reward: Too low."),
        ({"title": "Bad", "detail": ["One.", "Two."]}, "Bad: One.; Two."),
        ({"message": "Bad", "detail": "One."}, "Bad: One."),
        ({"detail": "Only this."}, "Only this."),
        ({"error": "text"}, "text"),
        (["no", "object"], ""),
        ({}, ""),
    ],
)
def test_every_shape_of_an_error_is_read(body, words):
    assert describe(body) == words


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("429", ProlificRateLimited),
        ("429_wait", ProlificRateLimited),
        ("500", OutcomeUnknown),
        ("502_html", OutcomeUnknown),
        ("401", Unauthorized),
        ("404", NotFound),
        ("dropped_before", OutcomeUnknown),
        ("dropped_after", OutcomeUnknown),
        ("malformed", OutcomeUnknown),
        ("empty", OutcomeUnknown),
    ],
)
def test_unsafe_requests_are_sent_once_whatever_happens(fault, error, client_of, prolific, waits):
    prolific.fault("POST", "studies/", fault)

    with pytest.raises(error):
        client_of().create_study(study_payload())

    assert prolific.requests == ["POST studies/"]
    assert waits == []


@pytest.mark.parametrize(
    "fault", ["429", "429_wait", "500", "502_html", "dropped_before", "dropped_after"]
)
def test_reading_continues_after_a_temporary_fault(fault, client_of, prolific, waits):
    prolific.fault("GET", "users/me/", fault, times=2, seconds=3)

    assert client_of().me()["id"]
    assert len(prolific.requests) == 3
    assert len(waits) == 2
    if fault == "429_wait":
        assert waits == [3.0, 3.0]
    else:
        assert all(0.25 < wait <= 8 for wait in waits)


def test_a_wait_longer_than_the_patience_is_raised_instead_of_slept(client_of, prolific, waits):
    prolific.fault("GET", "users/me/", "429_wait", seconds=3600)

    with pytest.raises(ProlificRateLimited) as told:
        client_of().me()

    assert (told.value.retry_after, waits) == (3600.0, [])


@pytest.mark.parametrize("fault", ["401", "404"])
def test_errors_that_a_repeat_cannot_fix_are_not_repeated(fault, client_of, prolific):
    prolific.fault("GET", "users/me/", fault)

    with pytest.raises((Unauthorized, NotFound)):
        client_of().me()

    assert len(prolific.requests) == 1


def test_a_slow_answer_is_an_unknown_outcome(client_of, prolific):
    prolific.fault("POST", "studies/", "slow", seconds=1)

    with pytest.raises(OutcomeUnknown, match="in time"):
        client_of(timeout=0.1).create_study(study_payload())


def test_a_refused_connection_means_that_nothing_was_sent(client_of, waits):
    client = client_of(base_url="http://127.0.0.1:9")

    with pytest.raises(ProlificUnreachable) as told:
        client.create_study(study_payload())

    assert not told.value.outcome_unknown


def test_a_redirect_is_not_followed(client_of, httpserver):
    httpserver.expect_request("/api/v1/users/me/").respond_with_data(
        status=301, headers={"Location": "/elsewhere/"}
    )

    with pytest.raises(ProlificRejected, match="PROLIFIC_BASE_URL"):
        client_of(base_url=httpserver.url_for("/")).me()


def test_a_list_is_read_to_its_last_page(client_of, prolific):
    client = client_of()
    study = client.create_study(study_payload(total_available_places=250))
    client.transition_study(study.id, "PUBLISH")
    arrived = {prolific.world.arrive(study.id)["submission"] for _ in range(230)}

    assert {s.id for s in client.submissions(study.id)} == arrived


def test_a_missing_list_is_an_error_not_an_empty_list(client_of):
    with pytest.raises(NotFound):
        list(client_of().submissions("f" * 24))


def test_submissions_are_never_listed_without_their_study(client_of, prolific):
    with pytest.raises(ValueError, match="study id"):
        list(client_of().submissions(""))

    assert prolific.requests == []


@pytest.mark.parametrize("name", ["TIMED-OUT", "TIMED_OUT", "timed out"])
def test_a_time_out_has_one_name(name):
    assert status_name(name) == TIMED_OUT


def test_list_and_single_answer_mean_the_same_submission(client_of, prolific):
    client = client_of()
    study = client.create_study(study_payload())
    client.transition_study(study.id, "PUBLISH")
    arrived = prolific.world.arrive(study.id)
    prolific.world.finish(arrived["submission"], "DONE1234")

    (listed,) = client.submissions(study.id)
    single = client.submission(arrived["submission"])

    def seen(s: RemoteSubmission):
        return (s.id, s.participant, s.status, s.study_id, s.code, s.started_at, s.completed_at)

    assert seen(listed) == seen(single)
    assert listed.code == "DONE1234"


def test_a_page_past_the_end_ends_the_list(client_of, httpserver):
    full = {"results": [{"id": "1", "status": "ACTIVE"}], "_links": {"next": {"href": "?page=2"}}}
    httpserver.expect_request(
        "/api/v1/studies/", query_string={"page": "1", "page_size": "100"}
    ).respond_with_json(full)
    httpserver.expect_request(
        "/api/v1/studies/", query_string={"page": "2", "page_size": "100"}
    ).respond_with_json({"detail": "Invalid page."}, status=404)

    assert [s.id for s in client_of(base_url=httpserver.url_for("/")).studies()] == ["1"]


STUDY = {"id": "s1", "status": "ACTIVE", "total_available_places": 6, "reward": 450}
SUBMISSION = {"id": "u1", "participant_id": "p1", "status": "ACTIVE", "bonus_payments": [450]}


@pytest.mark.parametrize("amount", ["12,50", "x", "NaN", float("inf"), 1e300, 10**30, [450], True])
def test_money_that_is_no_amount_makes_an_answer_unreadable(client_of, httpserver, amount):
    httpserver.expect_request("/api/v1/studies/s1/").respond_with_json(STUDY | {"reward": amount})
    httpserver.expect_request("/api/v1/submissions/u1/").respond_with_json(
        SUBMISSION | {"bonus_payments": [amount]}
    )
    client = client_of(base_url=httpserver.url_for("/"))

    for read in (lambda: client.study("s1"), lambda: client.submission("u1")):
        with pytest.raises(OutcomeUnknown, match="incomplete"):
            read()


@pytest.mark.parametrize(
    "changed",
    [
        {"total_available_places": -1},
        {"places_taken": 2**40},
        {"reward": -450},
        {"id": {"$oid": "s1"}},
        {"id": "s" * 500},
    ],
)
def test_a_study_that_cannot_be_stored_makes_an_answer_unreadable(client_of, httpserver, changed):
    httpserver.expect_request("/api/v1/studies/s1/").respond_with_json(STUDY | changed)

    with pytest.raises(OutcomeUnknown, match="incomplete"):
        client_of(base_url=httpserver.url_for("/")).study("s1")


def test_what_no_page_or_database_can_hold_is_left_out_of_answers(client_of, httpserver):
    body = {"entered_code": "A\x00\ud800", "started_at": "9999-12-31T23:59:59-12:00"}
    httpserver.expect_request("/api/v1/submissions/u1/").respond_with_json(SUBMISSION | body)

    submission = client_of(base_url=httpserver.url_for("/")).submission("u1")

    assert (submission.code, submission.started_at) == ("A\ufffd", None)
    assert submission.payload["entered_code"] == "A\ufffd"


def test_rows_that_are_no_objects_make_a_list_unreadable(client_of, httpserver):
    httpserver.expect_request("/api/v1/workspaces/w1/projects/").respond_with_json([["id", "p1"]])

    with pytest.raises(OutcomeUnknown, match="incomplete"):
        client_of(base_url=httpserver.url_for("/")).projects("w1", title="x")
