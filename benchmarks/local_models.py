"""Judgments and tokens a second of a local model, against plain `generate` of transformers.

    CUDA_VISIBLE_DEVICES=0 python -m benchmarks.local_models --model Qwen/Qwen2.5-7B-Instruct

Needs requirements-gpu.txt and a model: a folder, or a name that is fetched. The same prompts with
the same sampling go through the in-process backend, through its option scoring, and through
`generate` on left-padded batches in the order they come. Every way is warmed up with one batch.
"""

import argparse
import asyncio
import importlib.util
import sys
import time
from collections.abc import Callable
from dataclasses import replace

from judging.engine.protocol import Question, Reply
from judging.engine.transformers import LocalModel, TransformersBackend, TransformersSettings


def make_questions(count: int) -> list[Question]:
    """Prompts of 200 to 1,400 words, as long and short personas make them."""
    return [
        Question(
            n, f"Question {n}. " + "plain words of a persona " * (40 + 60 * (n % 5)) + "[[",
            offers_tie=False, asks_certainty=False, seed=n,
        )
        for n in range(count)
    ]  # fmt: skip


# Answers questions and says how many tokens were read and written.
Way = Callable[[list[Question]], int]


def through_backend(settings: TransformersSettings) -> Way:
    """The product's way."""
    backend = TransformersBackend(settings)

    async def ask_all(questions: list[Question]) -> list[Reply]:
        return list(await asyncio.gather(*(backend.ask(q, seed=q.seed) for q in questions)))

    def work(questions: list[Question]) -> int:
        replies = asyncio.run(ask_all(questions))
        usages = [reply.usage for reply in replies if reply.usage]
        return sum(usage.prompt_tokens + usage.completion_tokens for usage in usages)

    return work


def through_generate(settings: TransformersSettings) -> Way:
    """Left-padded batches in the order they come."""
    local = LocalModel(settings)
    tokenizer, model = local._tokenizer, local._model
    tokenizer.padding_side = "left"
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token

    def work(questions: list[Question]) -> int:
        tokens = 0
        for start in range(0, len(questions), settings.batch_size):
            prompts = [
                tokenizer.apply_chat_template(
                    [{"role": "user", "content": question.prompt}],
                    add_generation_prompt=True, tokenize=False,
                ) if tokenizer.chat_template else question.prompt
                for question in questions[start : start + settings.batch_size]
            ]  # fmt: skip
            batch = tokenizer(prompts, return_tensors="pt", padding=True).to(model.device)
            out = model.generate(
                **batch, do_sample=True, temperature=settings.temperature, top_p=settings.top_p,
                max_new_tokens=settings.max_tokens, pad_token_id=tokenizer.pad_token_id,
            )  # fmt: skip
            new = out[:, batch["input_ids"].shape[1] :]
            tokens += int(batch["attention_mask"].sum()) + int(
                (new != tokenizer.pad_token_id).sum()
            )
        return tokens

    return work


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="a folder or a name, with @revision where one is meant")
    parser.add_argument("--questions", type=int, default=256)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--max-tokens", type=int, default=64)
    options = parser.parse_args()
    if not options.model or not importlib.util.find_spec("torch"):
        sys.stdout.write("Not measured: needs --model and requirements-gpu.txt.\n")
        return 0
    settings = TransformersSettings(
        model=options.model, temperature=0.7, top_p=0.95, max_tokens=options.max_tokens,
        batch_size=options.batch,
    )  # fmt: skip
    questions = make_questions(options.questions)
    ways = {
        "generate": (through_generate, settings),
        "in process": (through_backend, settings),
        "scores only": (through_backend, replace(settings, only_scores=True)),
    }
    for name, (through, chosen) in ways.items():
        work = through(chosen)
        work(questions[: options.batch])
        before = time.perf_counter()
        tokens = work(questions)
        seconds = time.perf_counter() - before
        sys.stdout.write(
            f"{name:12} {len(questions) / seconds:8.1f} judgments/s {tokens / seconds:10.0f} "
            "tokens/s\n"
        )
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
