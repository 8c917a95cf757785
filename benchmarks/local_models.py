"""Judgments and tokens per second of a local model, compared with plain `generate`.

    CUDA_VISIBLE_DEVICES=0 python -m benchmarks.local_models --model Qwen/Qwen2.5-7B-Instruct
    python -m benchmarks.local_models --model tiny --questions 32 --batch 8 --words 20

Needs requirements-gpu.txt and a model: a folder, a name that is downloaded, or `tiny`, which is
built here and shows that the script runs. The same prompts with the same sampling go through
transformers' `generate` on left-padded batches in their order, through the in-process backend, and
through its option scoring. Each has the device to itself and is warmed up with one batch.
"""

import argparse
import asyncio
import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

from judging.backends.local.kind import TransformersBackend, TransformersSettings
from judging.backends.local.model import LocalModel
from judging.engine.interface import JudgeQuestion, Reply
from judging.engine.messages import from_user
from judging.protocols.standard import Standard

# Answers questions and returns the number of tokens read and written.
Work = Callable[[list[JudgeQuestion]], int]
Way = Callable[[TransformersSettings], AbstractContextManager[Work]]


def make_questions(count: int, words: int) -> list[JudgeQuestion]:
    """Prompts of one to seven times `words` words, like prompts with short and long personas."""
    return [
        JudgeQuestion(
            n,
            from_user(f"Question {n}. " + "word " * (words * (2 + 3 * (n % 5)) // 2) + "[["),
            protocol=Standard(),
            seed=n,
        )
        for n in range(count)
    ]


@contextmanager
def through_backend(settings: TransformersSettings) -> Iterator[Work]:
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
def through_generate(settings: TransformersSettings) -> Iterator[Work]:
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
    sys.stdout.write(
        f"{name:12} {len(asked) / seconds:8.1f} judgments/s {tokens / seconds:10.0f} tokens/s\n"
    )
    sys.stdout.flush()


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
            from tests.judging.tiny_model import build_tiny_model

            options.model = str(build_tiny_model(Path(folder)))
        settings = TransformersSettings(
            model=options.model,
            temperature=0.7,
            top_p=0.95,
            max_tokens=options.max_tokens,
            batch_size=options.batch,
        )
        asked = make_questions(options.questions, options.words)
        measure("generate", through_generate, settings, asked)
        measure("in process", through_backend, settings, asked)
        measure("scores only", through_backend, replace(settings, only_scores=True), asked)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
