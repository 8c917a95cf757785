"""Packs on two web servers and two workers that share a database, Redis and a bucket, no folder."""

import io
import json
import zipfile

import pytest

from tests.e2e.test_several_machines import (  # noqa: F401
    HOME,
    ITEMS,
    STUDY,
    Machines,
    Researcher,
    import_items,
    machines,
)

# With --all: two servers and two workers of their own.
pytestmark = [pytest.mark.e2e, pytest.mark.postgres, pytest.mark.nightly]


def replies_to(pack: bytes) -> bytes:
    """What another program would answer to the requests of a pack."""
    with zipfile.ZipFile(io.BytesIO(pack)) as bundle:
        (name,) = (name for name in bundle.namelist() if name.endswith("requests.jsonl"))
        asked = [json.loads(line) for line in bundle.read(name).splitlines()]
    assert len(asked) == ITEMS
    message = {"role": "assistant", "content": "Answer: A"}
    body = {
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2},
    }
    rows = [
        {"custom_id": one["custom_id"], "response": {"status_code": 200, "body": body}}
        for one in asked
    ]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


@pytest.mark.parametrize("machines", ["s3://research"], indirect=True)
def test_a_pack_is_written_and_read_on_any_machine(machines: Machines) -> None:  # noqa: F811
    """A pack of a run is written by a worker and read from both; its replies go to the other."""
    machines.manage(
        ["createsuperuser", "--noinput", "--username", "ada", "--email", "a@example.org"],
        ["create_study", STUDY, "--title", "Far apart", "--owner", "ada"],
    )
    machines.start()
    ada = Researcher(*(f"http://127.0.0.1:{machines.port + number}" for number in range(2)))
    import_items(machines, ada)
    judge = ["--backend", "openai", "--model", "m", "--base-url", "http://127.0.0.1:9/v1"]
    pack = str(machines.folder / "pack")
    machines.manage(
        ["add_judge", "far", *judge],
        ["judge", STUDY, "--judge", "far", "--setting", "standard", "--pack", pack],
    )
    ((run,),) = machines.query("SELECT public_id FROM judging_judgerun")
    page = f"{HOME}judges/{run}/"

    job = ada.post(ada.second, f"{page}pack/")
    assert ada.wait(ada.first, f"{job}status/") == f"The pack holds {ITEMS} requests."
    replies = {"replies": ("replies.jsonl", replies_to(ada.from_both(f"{job}file/")))}
    job = ada.post(ada.first, f"{page}replies/", replies)

    assert f"Read {ITEMS} new replies" in ada.wait(ada.second, f"{job}status/")
