"""CPU of a decision, and decisions a second, with a server that answers at once.

    python -m benchmarks.decisions --decisions 4000 --slots 64 --rounds 3

In each round, one process asks the same prompts of about 2 kB in three ways: OpenAI's own client,
which stores nothing; the product's backend alone, which writes the request, sends it and reads the
distribution; and a whole run with its prompts built and every attempt and answer committed to the
database that DATABASE_URL names (a fresh SQLite file without it). The server is a process of its
own on the same machine. CPU is that of the process that asks.
"""

import argparse
import asyncio
import os
import statistics
import sys
from collections.abc import Awaitable, Callable, Sequence

from benchmarks.judging import (
    SLUG,
    Result,
    build_study,
    in_words,
    measure,
    mock_server,
    prompts_of,
    run_inline,
    set_up,
)

ASK = "Which response would this person prefer?"
CHOICE = {
    "type": "choice",
    "name": "choice",
    "instructions": ASK,
    "choices": [{"value": "A"}, {"value": "B"}],
}


async def at_once(
    ask: Callable[[str], Awaitable[None]], prompts: Sequence[str], slots: int
) -> None:
    """Ask about every prompt, with so many requests under way."""
    left = iter(prompts)

    async def some() -> None:
        for prompt in left:
            await ask(prompt)

    await asyncio.gather(*(some() for _ in range(slots)))


def run_client(url: str, prompts: list[str], slots: int) -> Result:
    import openai

    async def ask_all(prompts: Sequence[str]) -> None:
        async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:

            async def ask(prompt: str) -> None:
                given = await client.decisions.create(
                    model="mock",
                    input=prompt,
                    questions=[CHOICE],  # type: ignore[list-item]
                )
                if given.answers[0].type != "choice":
                    raise RuntimeError("wrong answer")

            await at_once(ask, prompts, slots)

    asyncio.run(ask_all(prompts[:1]))  # loads what the client needs for its first request
    return measure(lambda: asyncio.run(ask_all(prompts)), len(prompts), _cpu)


def run_backend(url: str, prompts: list[str], slots: int) -> Result:
    from extras.judge_models.decisions import DecisionsKind
    from judging.backends.backend import JudgeSettings
    from judging.engine.interface import ClosedQuestion, JudgeQuestion
    from judging.engine.messages import from_user
    from judging.protocols.protocol import Standard

    options = (("wire", "openai"),)
    settings = JudgeSettings(name="mock", model="mock", base_url=url, model_options=options)
    make = DecisionsKind().connect(settings)
    closed, protocol = ClosedQuestion(ASK), Standard()

    async def ask_all(prompts: Sequence[str]) -> None:
        backend = make()

        async def ask(prompt: str) -> None:
            question = JudgeQuestion(1, from_user(prompt), protocol, seed=0, closed=closed)
            reply = await backend.ask(question, seed=0, parameters=backend.parameters())
            if reply.probabilities != {"A": 0.73, "B": 0.27}:
                raise RuntimeError("wrong answer")

        await at_once(ask, prompts, slots)
        await backend.close()

    asyncio.run(ask_all(prompts[:1]))
    return measure(lambda: asyncio.run(ask_all(prompts)), len(prompts), _cpu)


def _cpu() -> float:
    return sum(os.times()[:2])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--decisions", type=int, default=2000)
    parser.add_argument("--slots", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    set_up()
    from django.db import connection

    build_study(SLUG, options.decisions)
    prompts = prompts_of(SLUG)
    size = sum(map(len, prompts)) // len(prompts)
    sys.stdout.write(
        f"{options.decisions} decisions, {options.slots} slots, prompts of {size} characters, "
        f"{connection.display_name}\n"
    )
    found: dict[str, list[Result]] = {}
    for number in range(1, options.rounds + 1):
        with mock_server(0) as (url, _):
            asked = {
                "OpenAI's client": run_client(url, prompts, options.slots),
                "backend": run_backend(url, prompts, options.slots),
                "whole run": run_inline(
                    url,
                    len(prompts),
                    options.slots,
                    f"decisions, round {number}",
                    setting="standard",
                    backend="decisions",
                    wire="openai",
                ),
            }
        load = os.getloadavg()[0]
        for way, result in asked.items():
            found.setdefault(way, []).append(result)
            sys.stdout.write(f"{way:16} {in_words(result)}, load {load:.1f}\n")
            sys.stdout.flush()
    for way, results in found.items():
        rate = statistics.median(result.per_second for result in results)
        cpu = statistics.median(result.cpu_ms for result in results)
        line = in_words(Result(rate, cpu))
        sys.stdout.write(f"{way:16} median of {options.rounds}: {line}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
