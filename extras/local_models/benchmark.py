"""Judgments and tokens per second of a local model, compared with plain `generate` and with vLLM.

    CUDA_VISIBLE_DEVICES=0 python -m extras.local_models.benchmark --model Qwen/Qwen2.5-7B-Instruct
    python -m extras.local_models.benchmark --model tiny --questions 32 --batch 8 --words 20

Needs requirements-gpu.txt and a model: a folder, a name that is downloaded, or `tiny`, which is
built here and shows that the script runs. Each item is asked in both orders with two samples, like
a run. The same prompts with the same sampling go through transformers' `generate` on left-padded
batches in their order, through the in-process backend with and without computing the common
beginning of prompts once, through its option scoring, and, if the command `vllm` is there, through
`vllm bench throughput` with made-up prompts of the same number, mean length and shared beginnings,
each of which gets a reply of the greatest length. Each has the device to itself; all but vLLM are
warmed up with one batch. The first line names the machine.
"""

import argparse
import asyncio
import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

from extras.local_models.kind import TransformersBackend, TransformersSettings
from extras.local_models.loading import load
from extras.local_models.model import LocalModel
from judging.engine.interface import JudgeQuestion, Reply
from judging.engine.messages import from_user
from judging.protocols.registry import Standard

# Answers questions and returns the number of tokens read and written.
BenchmarkWork = Callable[[list[JudgeQuestion]], int]
Way = Callable[[TransformersSettings], AbstractContextManager[BenchmarkWork]]


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
def through_backend(settings: TransformersSettings) -> Iterator[BenchmarkWork]:
    """Ask through the product's backend."""
    backend = TransformersBackend(settings)

    async def ask_all(questions: list[JudgeQuestion]) -> list[Reply]:
        return list(
            await asyncio.gather(
                *(backend.ask(q, seed=q.seed, parameters=backend.parameters()) for q in questions)
            )
        )

    def work(questions: list[JudgeQuestion]) -> int:
        replies = asyncio.run(ask_all(questions))
        usages = [reply.usage for reply in replies if reply.usage]
        return sum(usage.prompt_tokens + usage.completion_tokens for usage in usages)

    try:
        yield work
    finally:
        asyncio.run(backend.close())


@contextmanager
def through_whole_prompts(settings: TransformersSettings) -> Iterator[BenchmarkWork]:
    """Ask through the backend, with every prompt read whole."""
    original = LocalModel.__init__

    def init(self: LocalModel, settings: TransformersSettings) -> None:
        original(self, settings)
        self.shares_prefixes = False

    LocalModel.__init__ = init  # type: ignore[method-assign]
    try:
        with through_backend(settings) as work:
            yield work
    finally:
        LocalModel.__init__ = original  # type: ignore[method-assign]


@contextmanager
def through_generate(settings: TransformersSettings) -> Iterator[BenchmarkWork]:
    """Ask through `generate`, on left-padded batches in the order of the questions."""
    local = LocalModel(settings)
    pad = local._tokenizer.eos_token_id

    def work(questions: list[JudgeQuestion]) -> int:
        tokens = 0
        for start in range(0, len(questions), settings.batch_size):
            rows = [
                local._chat.tokens(q.asking) for q in questions[start : start + settings.batch_size]
            ]
            ids, mask = local._left_padded(rows)
            out = local._model.generate(
                input_ids=ids,
                attention_mask=mask,
                do_sample=True,
                pad_token_id=pad,
                temperature=settings.temperature,
                top_p=settings.top_p,
                max_new_tokens=settings.max_tokens,
            )
            written = int((out[:, ids.shape[1] :] != pad).sum())
            tokens += sum(map(len, rows)) + written
        return tokens

    yield work


def measure(
    name: str, through: Way, settings: TransformersSettings, asked: list[JudgeQuestion]
) -> None:
    with through(settings) as work:
        work(asked[: settings.batch_size])
        before = time.perf_counter()
        tokens = work(asked)
        seconds = time.perf_counter() - before
    report(name, len(asked) / seconds, tokens / seconds)


def measure_vllm(settings: TransformersSettings, asked: list[JudgeQuestion]) -> None:
    """As many prompts of the same shape through `vllm bench throughput`, in its own process."""
    if shutil.which("vllm") is None:
        sys.stdout.write("vLLM: not measured, the command vllm is not installed\n")
        return
    chat = load(settings).chat
    lengths = [len(chat.tokens(question.asking)) for question in asked]
    mean, rest = sum(lengths) // len(lengths), 20  # tokens after the persona
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        command = ["vllm", "bench", "throughput", "--model", settings.model]
        command += ["--num-prompts", str(len(asked)), "--dataset-name", "prefix_repetition"]
        command += ["--prefix-repetition-num-prefixes", str(max(1, len(asked) // 4))]
        command += ["--prefix-repetition-prefix-len", str(max(1, mean - rest))]
        command += ["--prefix-repetition-suffix-len", str(rest)]
        command += ["--prefix-repetition-output-len", str(settings.max_tokens)]
        command += ["--output-json", str(result)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if ended.returncode or not result.exists():
            last = (ended.stderr.strip().splitlines() or ["no message"])[-1]
            sys.stdout.write(f"vLLM: failed, {last[:200]}\n")
            return
        found = json.loads(result.read_text("utf-8"))
    report("vLLM", found["requests_per_second"], found["tokens_per_second"])


def report(name: str, judgments: float, tokens: float) -> None:
    sys.stdout.write(f"{name:14} {judgments:8.1f} judgments/s {tokens:10.0f} tokens/s\n")
    sys.stdout.flush()


def machine() -> str:
    """The device and the packages that were measured."""
    import torch
    import transformers

    if torch.cuda.is_available():
        device = f"{torch.cuda.device_count()} x {torch.cuda.get_device_name()}"
    else:
        device = f"CPU, {torch.get_num_threads()} threads; says nothing about a GPU"
    return f"{device}; torch {torch.__version__}, transformers {transformers.__version__}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="a folder, a name (with @revision if meant), or tiny")
    parser.add_argument("--questions", type=int, default=256)
    parser.add_argument("--words", type=int, default=200, help="of the shortest prompt")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--max-tokens", type=int, default=64)
    options = parser.parse_args()
    if not options.model or not importlib.util.find_spec("torch"):
        sys.stdout.write("Not measured: needs --model and requirements-gpu.txt.\n")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        if options.model == "tiny":
            from tests.extras.local_models.tiny_model import build_tiny_model

            options.model = str(build_tiny_model(Path(folder)))
        settings = TransformersSettings(
            model=options.model,
            temperature=0.7,
            top_p=0.95,
            max_tokens=options.max_tokens,
            batch_size=options.batch,
        )
        asked = make_questions(options.questions, options.words)
        sys.stdout.write(f"{machine()}\n{options.questions} questions, model {options.model}\n")
        measure("generate", through_generate, settings, asked)
        measure("whole prompts", through_whole_prompts, settings, asked)
        measure("in process", through_backend, settings, asked)
        measure("scores only", through_backend, replace(settings, only_scores=True), asked)
        measure_vllm(settings, asked)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
