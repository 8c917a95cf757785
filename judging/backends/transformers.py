"""A model in this process, on its GPU or on the CPU, by torch and transformers.

Questions that arrive together are answered together: one thread owns the model (`model_thread`),
takes the oldest question and those nearest to it in length, and runs them as one left-padded batch.
Replies end at different lengths; a finished reply leaves the batch, so that no computation is
wasted while the longest one continues. Each question draws with its own generator, so its reply
does not depend on the rest of the batch.

torch is imported with the first question, and never for other backends.
"""

import copy
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from judging.backends.backend import (
    INSTEAD_OF_REPLY,
    WITH_REPLY,
    BackendKind,
    Capabilities,
    JudgeSettings,
)
from judging.backends.completions import storable
from judging.backends.model_thread import LOAD_SECONDS, ModelThread
from judging.backends.parameters import SEED
from judging.engine.interface import (
    Backend,
    JudgeQuestion,
    Misconfigured,
    Parameters,
    Reply,
    Side,
    Usage,
)
from judging.engine.messages import Messages, as_text, chat
from judging.errors import ConflictingValue, Reason

_NO_PACKAGES = Reason(
    "no_packages",
    "{field} transformers needs torch and transformers in this environment: “.venv/bin/pip install "
    "-r requirements-gpu.txt”. Or serve the model with “vllm serve MODEL” and add it with {field} "
    "openai and {names[base_url]} http://HOST:8000/v1.",
)


@dataclass(frozen=True)
class TransformersSettings:
    """Settings of a local model; `model` is a folder or a name, with an optional `@revision`.

    `scores` asks for the options' probabilities next to the reply, `only_scores` instead of it.
    """

    model: str
    temperature: float
    top_p: float
    max_tokens: int
    batch_size: int
    scores: bool = False
    only_scores: bool = False


def intended_parameters(settings: TransformersSettings) -> Parameters:
    return Parameters(
        {
            "model": settings.model,
            "temperature": settings.temperature,
            "top_p": settings.top_p,
            "max_tokens": settings.max_tokens,
            "seed": SEED,
            "scores": "only" if settings.only_scores else settings.scores,
        }
    )


class TransformersBackend:
    """Answers by a model that is loaded with the first question, in a thread of its own."""

    step_seconds = LOAD_SECONDS

    def __init__(self, settings: TransformersSettings) -> None:
        self._thread = ModelThread(lambda: LocalModel(settings), batch_size=settings.batch_size)
        self._parameters = intended_parameters(settings)

    @property
    def moved_at(self) -> float:
        """When the model last made a step, by the monotonic clock."""
        return self._thread.moved_at

    def parameters(self) -> Parameters:
        return self._parameters

    async def ask(self, question: JudgeQuestion, *, seed: int, parameters: Parameters) -> Reply:
        return await self._thread.ask(question, seed=seed)

    async def close(self) -> None:
        await self._thread.close()


class TransformersKind(BackendKind):
    name = "transformers"
    label = "in-process transformers"
    capabilities = Capabilities(
        is_local=True, probabilities=frozenset({WITH_REPLY, INSTEAD_OF_REPLY})
    )

    def check(self, judge: JudgeSettings) -> None:
        """Look for the packages without importing them: that would take seconds and memory."""
        if not all(importlib.util.find_spec(name) for name in ("torch", "transformers")):
            raise ConflictingValue("backend", _NO_PACKAGES)

    def connect(self, judge: JudgeSettings) -> Callable[[], Backend]:
        self.check(judge)
        settings = _settings(judge)
        return lambda: TransformersBackend(settings)

    def intended_parameters(self, judge: JudgeSettings) -> Parameters:
        return intended_parameters(_settings(judge))


def _settings(judge: JudgeSettings) -> TransformersSettings:
    return TransformersSettings(
        model=judge.model,
        temperature=judge.temperature,
        top_p=judge.top_p,
        max_tokens=judge.max_tokens,
        # Half of the questions in hand: the next batch fills while one is computed.
        batch_size=max(1, judge.concurrency // 2),
        scores=judge.probabilities == WITH_REPLY,
        only_scores=judge.probabilities == INSTEAD_OF_REPLY,
    )


class LocalModel:
    """Weights and tokenizer on one device. Loading raises `Misconfigured` with the reason."""

    def __init__(self, settings: TransformersSettings) -> None:
        try:
            import torch
            import transformers
        except ImportError as error:
            raise Misconfigured(f"torch and transformers are not installed ({error})") from error
        self._torch: Any = torch
        self._settings = settings
        self.out_of_memory: tuple[type[Exception], ...] = (torch.OutOfMemoryError,)
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        # Half the memory and several times the speed; CPUs are seldom faster with it.
        dtype = torch.bfloat16 if self._device.type == "cuda" else torch.float32
        name, _, revision = settings.model.partition("@")
        options = {"revision": revision} if revision else {}
        try:
            self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(name, **options)
            model: Any = transformers.AutoModelForCausalLM.from_pretrained(
                name, dtype=dtype, **options
            )
            self._model = model.to(self._device).eval()
        except Exception as error:
            # A model can bring its own code, which can raise any exception.
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            raise Misconfigured(
                f"The model “{settings.model}” cannot be loaded: {reason}"
            ) from error
        self._ends = self._end_tokens()
        commit = getattr(self._model.config, "_commit_hash", None) or revision
        self._name = f"{name}@{commit}" if commit else name
        where = torch.cuda.get_device_name() if self._device.type == "cuda" else "CPU"
        self._fingerprint = (
            f"{str(dtype).removeprefix('torch.')} on {where}, torch {torch.__version__}, "
            f"transformers {transformers.__version__}"
        )

    def _end_tokens(self) -> frozenset[int]:
        ends = self._model.generation_config.eos_token_id
        ends = [ends] if isinstance(ends, int) else list(ends or [])
        if self._tokenizer.eos_token_id is not None:
            ends.append(self._tokenizer.eos_token_id)
        return frozenset(ends)

    def free_memory(self) -> None:
        if self._device.type == "cuda":
            self._torch.cuda.empty_cache()

    def answer(
        self,
        questions: Sequence[JudgeQuestion],
        seeds: Sequence[int],
        moved: Callable[[], None] = lambda: None,
    ) -> list[Reply]:
        """Answer one batch: generate, score the options, or both from one reading of the prompt.

        `moved` is called after every step.
        """
        with self._torch.inference_mode():
            rows = [self._tokens(question.asking) for question in questions]
            ids, mask = self._left_padded(rows)
            out = self._model(
                input_ids=ids,
                attention_mask=mask,
                position_ids=(mask.cumsum(1) - 1).clamp(min=0),
                use_cache=True,
                logits_to_keep=1,
            )
            cache, logits = out.past_key_values, out.logits[:, -1].float()
            moved()
            settings = self._settings
            scored: list[dict[Side, float]] = [{} for _ in questions]
            if settings.scores or settings.only_scores:
                spare = cache if settings.only_scores else copy.deepcopy(cache)
                scored = self._score(questions, logits, spare, mask)
            if settings.only_scores:
                written = [(f"[[{max(p, key=lambda side: p[side])}]]", 0, False) for p in scored]
            else:
                written = self._write(logits, cache, mask, seeds, moved)
        return [
            Reply(
                text=storable(text),
                truncated=truncated,
                usage=Usage(len(row), count),
                model=self._name[:200],
                fingerprint=self._fingerprint[:200],
                probabilities=probabilities or None,
            )
            for row, (text, count, truncated), probabilities in zip(
                rows, written, scored, strict=True
            )
        ]

    def _tokens(self, messages: Messages) -> list[int]:
        if self._tokenizer.chat_template is None:
            return list(self._tokenizer(as_text(messages))["input_ids"])
        text = self._tokenizer.apply_chat_template(
            chat(messages), add_generation_prompt=True, tokenize=False
        )
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _left_padded(self, rows: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        """Token ids and mask, shape (rows, longest row); all prompts end in the last column."""
        width = max(len(row) for row in rows)
        ids = [[0] * (width - len(row)) + list(row) for row in rows]
        mask = [[0] * (width - len(row)) + [1] * len(row) for row in rows]
        tensor = self._torch.tensor
        return tensor(ids, device=self._device), tensor(mask, device=self._device)

    def _score(
        self, questions: Sequence[JudgeQuestion], logits: Any, cache: Any, mask: Any
    ) -> list[dict[Side, float]]:
        """The probability of each option as the reply, over all options, for every question."""
        torch = self._torch
        sides: list[Side] = ["A", "B", "C"]
        # A chat model writes the whole verdict; a plain model continues the prompt's open brackets.
        opening = "" if self._tokenizer.chat_template is None else "[["
        options = [
            self._tokenizer(f"{opening}{side}]]", add_special_tokens=False)["input_ids"]
            for side in sides
        ]
        width, count = max(map(len, options)), len(options)
        ids = torch.tensor([o + [0] * (width - len(o)) for o in options], device=self._device)
        real = torch.tensor(
            [[1] * len(o) + [0] * (width - len(o)) for o in options], device=self._device
        )
        ids, real = ids.repeat(len(questions), 1), real.repeat(len(questions), 1)
        before = mask.repeat_interleave(count, 0)
        cache.batch_repeat_interleave(count)
        out = self._model(
            input_ids=ids,
            attention_mask=torch.cat([before, real], 1),
            position_ids=before.sum(1, keepdim=True) + torch.arange(width, device=self._device),
            past_key_values=cache,
            use_cache=True,
        )
        # The prompt's last logits predict the first token, each token's logits the next one.
        first = logits.repeat_interleave(count, 0)[:, None]
        steps = torch.cat([first, out.logits[:, :-1].float()], 1).log_softmax(-1)
        gathered = steps.gather(2, ids[:, :, None])[:, :, 0]
        sums = torch.where(real.bool(), gathered, 0.0).sum(1).view(len(questions), count)
        scored = []
        for question, row in zip(questions, sums, strict=True):
            offered = sides if question.protocol.offers_tie else sides[:2]
            shares = row[: len(offered)].softmax(0).tolist()
            scored.append(dict(zip(offered, shares, strict=True)))
        return scored

    def _write(
        self, logits: Any, cache: Any, mask: Any, seeds: Sequence[int], moved: Callable[[], None]
    ) -> list[tuple[str, int, bool]]:
        """Write every reply: its text, its tokens, and whether the limit cut it off."""
        torch = self._torch
        generators = [torch.Generator(self._device).manual_seed(seed) for seed in seeds]
        written: list[list[int]] = [[] for _ in seeds]
        alive = list(range(len(seeds)))
        cut = set(alive)
        for step in range(self._settings.max_tokens):
            drawn = self._draw(logits, [generators[row] for row in alive])
            going = []
            for place, (row, token) in enumerate(zip(alive, drawn.tolist(), strict=True)):
                written[row].append(token)
                if token in self._ends:
                    cut.discard(row)
                else:
                    going.append(place)
            if not going or step + 1 == self._settings.max_tokens:
                break
            if len(going) < len(alive):
                kept = torch.tensor(going, device=self._device)
                cache.batch_select_indices(kept)
                mask, drawn = mask[kept], drawn[kept]
                alive = [alive[place] for place in going]
            mask = torch.cat([mask, mask.new_ones(len(alive), 1)], 1)
            out = self._model(
                input_ids=drawn[:, None],
                attention_mask=mask,
                position_ids=mask.sum(1, keepdim=True) - 1,
                past_key_values=cache,
                use_cache=True,
            )
            logits = out.logits[:, -1].float()
            moved()
        texts = self._tokenizer.batch_decode(written, skip_special_tokens=True)
        return [
            (text, len(tokens), row in cut)
            for row, (text, tokens) in enumerate(zip(texts, written, strict=True))
        ]

    def _draw(self, logits: Any, generators: Sequence[Any]) -> Any:
        """Draw one token per row by temperature and top p; the likeliest at temperature 0."""
        torch, settings = self._torch, self._settings
        if settings.temperature == 0:
            return logits.argmax(-1)
        shares = (logits / settings.temperature).softmax(-1)
        if settings.top_p < 1:
            ordered, places = shares.sort(-1, descending=True)
            # The token that crosses the threshold still belongs to the nucleus.
            outside = ordered.cumsum(-1) - ordered > settings.top_p
            shares = shares.scatter(-1, places, ordered.masked_fill(outside, 0.0))
        # Dividing by exponential noise and taking the largest draws in proportion to the shares.
        noise = torch.stack(
            [torch.empty_like(shares[0]).exponential_(generator=each) for each in generators]
        )
        return (shares / noise).argmax(-1)
