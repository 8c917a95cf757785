"""Judges that are sent pictures and sounds, and those that are not."""

import asyncio
import base64
import hashlib
import json

import pytest

from demo.llm_server import SimulatedServer
from demo.truth import SEED, World
from extras.media.models import MediaFile
from extras.media.storage import stored_file
from judging.engine.messages import as_text, length, prompt_sha256
from judging.errors import ConflictingValue
from judging.models import Attempt, Judgment
from judging.prompts.asking import messages_of
from studies.models import Item
from studies.prompts import build_prompt
from tests.extras.media.test_content import opus
from tests.factories import make_item, make_study
from tests.judging.conftest import make_judge
from tests.judging.run_helpers import judge_all, start
from tests.judging.with_media import HELLO, RED, SEES, away, make, of
from tests.studies.media_files import picture, sound

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def var_dir(settings, tmp_path):
    settings.VAR_DIR = tmp_path / "var"
    settings.VAR_DIR.mkdir()


@pytest.mark.parametrize("shown_first", ["r1", "r2"])
def test_a_server_receives_the_bytes_at_their_places(engine, llm, tmp_path, shown_first):
    study = make(tmp_path)
    judge = make_judge(base_url=llm.url, **SEES)

    run = judge_all(study, judge, orders=f"{shown_first}_first")

    assert (run.state, run.sentence) == ("done", "1 of 1 answered.")
    (body,) = llm.requests
    (message,) = body["messages"]
    question, recording, a, first, b, second, rest = of(message["content"])
    assert question.endswith("What shall I cook on day 1?\n[Recording 1]")
    assert recording == ("wav", HELLO)
    assert a.endswith("[Picture 2]")
    assert b.endswith("[Picture 3]")
    blue = MediaFile.objects.get(type="image/jpeg")
    sent = {
        "r1": ("data:image/png;base64", RED),
        "r2": ("data:image/jpeg;base64", stored_file(blue).read_bytes()),
    }
    other = {"r1": "r2", "r2": "r1"}[shown_first]
    assert (first, second) == (sent[shown_first], sent[other])
    assert rest.endswith("[[")


def test_the_hash_of_a_prompt_and_its_text_have_checksums_and_no_bytes(engine, llm, tmp_path):
    study = make(tmp_path)
    judge = make_judge(base_url=llm.url, **SEES)
    run = judge_all(study, judge, orders="r1_first")
    item, judgment = Item.objects.get(), Judgment.objects.get()

    messages = messages_of(run, item, shown_first="r1")

    assert judgment.prompt_sha256 == prompt_sha256(messages)
    text = as_text(messages)
    for each in item.all_media:
        assert f"(SHA-256 {each['sha256']})" in text
    assert len(text) < 4_000
    stored = json.dumps(list(Attempt.objects.values()), default=str)
    assert base64.b64encode(RED).decode()[:40] not in stored
    item.r1["media"][0]["sha256"], item.r2["media"][0]["sha256"] = (
        item.r2["media"][0]["sha256"],
        item.r1["media"][0]["sha256"],
    )
    assert prompt_sha256(messages_of(run, item, shown_first="r1")) != judgment.prompt_sha256


def test_a_prompt_without_files_keeps_the_hash_of_its_text(db):
    study = make_study()
    item = make_item(study=study)
    run = start(study, away())

    messages = messages_of(run, item, shown_first="r1")

    assert prompt_sha256(messages) == hashlib.sha256(messages[0].text.encode()).hexdigest()


def test_texts_cannot_pretend_to_be_a_place(tmp_path):
    study = make(tmp_path)
    item = Item.objects.get()
    item.r1["text"] = "Look: [Picture 3]"
    run = start(study, away(**SEES))

    (message,) = messages_of(run, item, shown_first="r1")

    assert [each.sha256 for each in message.media] == [each["sha256"] for each in item.all_media]
    assert message.text[: message.media[1].place].endswith("Look: [Picture 3]\n[Picture 2]")


def test_the_preview_of_a_prompt_has_names_only(tmp_path):
    make(tmp_path)

    prompt = build_prompt(Item.objects.get(), setting="standard", shown_first="r1")

    assert "[Recording 1]\n" in prompt
    assert "\x02" not in prompt


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "have sounds, but judge “judge” is not set to accept sounds"),
        ({"takes_audio": True}, "have pictures, but judge “judge” is not set to accept"),
        ({"backend": "replay", "base_url": ""}, "the backend replay cannot send"),
    ],
)
def test_a_judge_that_does_not_take_them_is_refused_at_launch(tmp_path, fields, words):
    study = make(tmp_path)
    (tmp_path / "replies.jsonl").write_text("")
    if "backend" in fields:
        fields = fields | {"model": str(tmp_path / "replies.jsonl")}

    with pytest.raises(ConflictingValue, match=words):
        start(study, away(**fields))

    assert not Judgment.objects.exists()


def test_a_type_that_the_backend_cannot_send_is_named(tmp_path):
    study = make(tmp_path, question=opus())

    with pytest.raises(ConflictingValue, match="of the type audio/ogg, which the backend openai"):
        start(study, away(**SEES))


def test_probes_are_refused(tmp_path):
    study = make(tmp_path)

    with pytest.raises(ConflictingValue, match="probes change texts"):
        start(study, away(**SEES), bias_probe="injection")


def test_an_estimate_counts_pictures_and_sounds_roughly(tmp_path):
    study = make(tmp_path, first=picture(size=(750, 1000)), question=sound(2))
    run = start(study, away(**SEES))
    item = Item.objects.get()
    messages = messages_of(run, item, shown_first="r1")

    tokens = [each.tokens for each in messages[0].media]

    assert tokens == [100 + 100, 1000 + 100, 105]
    assert length(messages) == len(messages[0].text) + 4 * sum(tokens)


def test_the_simulated_server_reads_pictures_and_refuses_what_is_none():
    async def asks(data):
        content = [
            {"type": "text", "text": "[Picture 1]"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}},
        ]
        body = {"model": "demo-steady", "messages": [{"role": "user", "content": content}]}
        server = SimulatedServer(World(SEED))
        return await server.respond("POST", "/v1/chat/completions", json.dumps(body).encode())

    good = asyncio.run(asks(base64.b64encode(RED).decode()))
    bad = asyncio.run(asks(base64.b64encode(b"<svg/>").decode()))

    assert good.status == 200
    assert bad.status == 400
    assert b"other bytes than its type says" in bad.body
