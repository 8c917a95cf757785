"""A model in this process, on its GPU or on the CPU, by torch and transformers.

Questions that arrive together are answered together: one thread owns the model (`thread`), takes
the oldest question and those most like it, and runs them as one left-padded batch. What prompts of
a batch share at their beginning, such as the two orders and the samples of an item, is computed
once. Replies end at different lengths; a finished reply leaves the batch, so that no computation is
wasted while the longest one continues. Each question draws with its own generator, so its reply
does not depend on the rest of the batch, up to rounding.
"""

import copy
import gc
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from extras.local_models.kind import TransformersSettings
from extras.local_models.loading import load
from judging.backends.completions import storable
from judging.engine.interface import JudgeQuestion, Options, Reply, Usage


@dataclass
class Writing:
    """A question whose reply is being written; `place` is its place among all of a call."""

    question: JudgeQuestion
    place: int
    prompt: int  # tokens
    generator: Any
    scored: dict[str, float]
    written: list[int]


@dataclass
class Running:
    """The cache of all rows, the logits of their next token, and their mask."""

    cache: Any
    logits: Any
    mask: Any

    def keep(self, places: Any) -> None:
        """Let all other rows leave; `logits` are those of the step before."""
        self.cache.reorder_cache(places)
        self.mask = self.mask[places]


def joined(torch: Any, one: Running, other: Running) -> Running:
    """Both as one batch, without columns in which every row is padding."""
    width = max(one.mask.shape[1], other.mask.shape[1])
    mask = torch.cat([_padded(torch, part.mask, 1, width) for part in (one, other)])
    first = int(mask.any(0).int().argmax())
    for mine, theirs in zip(one.cache.layers, other.cache.layers, strict=True):
        for name in ("keys", "values"):
            both = [_padded(torch, getattr(part, name), -2, width) for part in (mine, theirs)]
            setattr(mine, name, torch.cat(both)[..., first:, :])
    return Running(one.cache, torch.cat([one.logits, other.logits]), mask[:, first:])


def _padded(torch: Any, values: Any, axis: int, width: int) -> Any:
    """The values with zeros before them along an axis."""
    shape = list(values.shape)
    shape[axis] = width - shape[axis]
    return torch.cat([values.new_zeros(shape), values], axis)


Tokens = Sequence[int]


@dataclass(frozen=True)
class SharedBeginning:
    """Prompts split into beginnings and rests: prompt `n` is `beginnings[of[n]]` + `rests[n]`."""

    beginnings: list[Tokens]
    of: list[int]
    rests: list[Tokens]


def share(prompts: Sequence[Tokens]) -> SharedBeginning | None:
    """Split prompts at the beginnings that they share; None if that computes no less.

    Every rest has at least one token, because the last token's output begins the reply. Both
    stages are padded to their longest row, and so is a batch that shares nothing.
    """
    groups = _groups(prompts)
    beginnings: list[Tokens] = []
    of, rests = [0] * len(prompts), list(prompts)
    for members in groups:
        length = _common([prompts[n] for n in members])
        for n in members:
            of[n], rests[n] = len(beginnings), prompts[n][length:]
        beginnings.append(prompts[members[0]][:length])
    plain = len(prompts) * max(map(len, prompts))
    shared = len(beginnings) * max(map(len, beginnings)) + len(rests) * max(map(len, rests))
    return SharedBeginning(beginnings, of, rests) if shared < plain and all(beginnings) else None


def _groups(prompts: Sequence[Tokens]) -> list[list[int]]:
    """Prompts in groups whose members share at least half of the shorter one."""
    groups: list[list[int]] = []
    for n in sorted(range(len(prompts)), key=lambda n: tuple(prompts[n])):
        last = groups[-1] if groups else None
        if last is not None and _are_alike(prompts[last[0]], prompts[n]):
            last.append(n)
        else:
            groups.append([n])
    return groups


def _are_alike(one: Tokens, other: Tokens) -> bool:
    half = min(len(one), len(other)) // 2
    return one[:half] == other[:half]


def _common(prompts: Sequence[Tokens]) -> int:
    """The length of the beginning that all share, which leaves each a token."""
    shortest = min(map(len, prompts)) - 1
    # Sorted prompts differ most between the first and the last.
    first, last = min(prompts, key=tuple), max(prompts, key=tuple)
    return min(shortest, _same(first, last))


def _same(one: Tokens, other: Tokens) -> int:
    """The number of first tokens that are equal."""
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return place
    return min(len(one), len(other))


Moved = Callable[[], None]


class LocalModel:
    """Weights and tokenizer on one device. Loading raises `Misconfigured` with the reason."""

    def __init__(self, settings: TransformersSettings) -> None:
        loaded = load(settings)
        import torch
        from torch.nn.attention import SDPBackend, sdpa_kernel

        self._torch: Any = torch
        others = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
        self._without_plans = partial(sdpa_kernel, others)
        self._settings = settings
        self.out_of_memory: tuple[type[Exception], ...] = (torch.OutOfMemoryError,)
        self._model, self._chat, self._device = loaded.model, loaded.chat, loaded.device
        self._tokenizer = loaded.chat.tokenizer
        self._name, self._fingerprint = loaded.name[:200], loaded.fingerprint[:200]
        self._ends = self._end_tokens()
        # Beginnings are shared where every layer keeps all tokens, as in most models.
        self.shares_prefixes = True

    def _end_tokens(self) -> frozenset[int]:
        ends = self._model.generation_config.eos_token_id
        ends = [ends] if isinstance(ends, int) else list(ends or [])
        if self._tokenizer.eos_token_id is not None:
            ends.append(self._tokenizer.eos_token_id)
        return frozenset(ends)

    def free_memory(self) -> None:
        if self._torch.cuda.is_available():
            self._torch.cuda.empty_cache()

    def unload(self) -> None:
        """Let go of the weights; the model answers nothing more."""
        self._model = None
        gc.collect()  # models refer to themselves
        self.free_memory()

    def answer(
        self,
        questions: Sequence[JudgeQuestion],
        seeds: Sequence[int],
        moved: Moved = lambda: None,
    ) -> list[Reply]:
        """Answer one batch: generate, score the options, or both from one reading of the prompt.

        `moved` is called after every step.
        """
        with self._torch.inference_mode():
            rows, scored, (cache, logits, mask) = self._begin(questions, moved)
            if self._settings.only_scores:
                written = [(f"[[{max(p, key=lambda side: p[side])}]]", 0, False) for p in scored]
            else:
                written = self._write(logits, cache, mask, seeds, moved)
        return [
            self._reply(question, text, (len(row), count), probabilities, truncated=truncated)
            for question, row, (text, count, truncated), probabilities in zip(
                questions, rows, written, scored, strict=True
            )
        ]

    def answer_running(
        self,
        questions: Sequence[JudgeQuestion],
        seeds: Sequence[int],
        moved: Moved,
        *,
        more: Callable[[int], Sequence[tuple[JudgeQuestion, int]]],
        done: Callable[[int, Reply], None],
    ) -> None:
        """Answer questions, and those that `more` brings in place of rows that have ended.

        `more` gets the number of free rows and returns questions with their seeds; `done` gets each
        reply, with the place of its question among all. New questions enter when a quarter of
        the batch is free, so that reading prompts does not stop the others at every reply.
        """
        torch, size = self._torch, self._settings.batch_size
        new: Sequence[tuple[JudgeQuestion, int]] = list(zip(questions, seeds, strict=True))
        rows: list[Writing] = []
        running: Running | None = None
        count = 0
        with torch.inference_mode():
            while rows or new:
                if new:
                    begun, added = self._enter(new, count, moved)
                    count += len(new)
                    rows += begun
                    running = joined(torch, running, added) if running else added
                assert running is not None  # noqa: S101 - there are rows
                drawn = self._draw(running.logits, [row.generator for row in rows])
                going = self._going(rows, drawn.tolist(), done)
                if len(going) < len(rows):
                    kept = torch.tensor(going, dtype=torch.long, device=self._device)
                    running.keep(kept)
                    drawn, rows = drawn[kept], [rows[place] for place in going]
                if rows:
                    running.mask = torch.cat([running.mask, running.mask.new_ones(len(rows), 1)], 1)
                    places = running.mask.sum(1, keepdim=True) - 1
                    out = self._forward(drawn[:, None], running.mask, places, running.cache)
                    running = Running(out.past_key_values, self._last(out), running.mask)
                    moved()
                free = size - len(rows)
                may_join = not rows or (free * 4 >= size and self._keeps_all(running.cache))
                new = more(free) if may_join else []
                if not rows:
                    running = None

    def _enter(
        self, new: Sequence[tuple[JudgeQuestion, int]], count: int, moved: Moved
    ) -> tuple[list[Writing], Running]:
        """Read the prompts of new questions; `count` others were there before."""
        questions = [question for question, _ in new]
        prompts, scored, (cache, logits, mask) = self._begin(questions, moved)
        rows = [
            Writing(
                question,
                place=count + number,
                prompt=len(prompts[number]),
                generator=self._torch.Generator(self._device).manual_seed(seed),
                scored=scored[number],
                written=[],
            )
            for number, (question, seed) in enumerate(new)
        ]
        return rows, Running(cache, logits, mask)

    def _going(
        self, rows: Sequence[Writing], drawn: Sequence[int], done: Callable[[int, Reply], None]
    ) -> list[int]:
        """Add a token to every row; the places of those that go on. The others are `done`."""
        going = []
        for place, (row, token) in enumerate(zip(rows, drawn, strict=True)):
            row.written.append(token)
            ends = token in self._ends
            if not ends and len(row.written) < self._settings.max_tokens:
                going.append(place)
                continue
            text = self._tokenizer.decode(row.written, skip_special_tokens=True)
            counts = row.prompt, len(row.written)
            reply = self._reply(row.question, text, counts, row.scored, truncated=not ends)
            done(row.place, reply)
        return going

    def _reply(
        self,
        question: JudgeQuestion,
        text: str,
        counts: tuple[int, int],
        scored: dict[str, float],
        *,
        truncated: bool,
    ) -> Reply:
        """`counts` are the tokens of the prompt and of the reply.

        Options are scored at the beginning of a reply, so they count only if its verdict is there.
        """
        without = ""
        if scored and not self._settings.only_scores:
            if not begins_with_verdict(question, text, is_cut=truncated):
                scored, without = {}, "The reply does not begin with its verdict."
        return Reply(
            text=storable(text),
            truncated=truncated,
            usage=Usage(*counts),
            model=self._name,
            fingerprint=self._fingerprint,
            probabilities=scored or None,
            no_probabilities=without,
        )

    def _begin(
        self, questions: Sequence[JudgeQuestion], moved: Moved
    ) -> tuple[list[Any], list[dict[str, float]], tuple[Any, Any, Any]]:
        """Prompts as tokens, the options' probabilities if asked for, and what was read."""
        rows = [self._chat.tokens(question.asking) for question in questions]
        cache, logits, mask = self._read(rows, moved)
        settings = self._settings
        scored: list[dict[str, float]] = [{} for _ in questions]
        if settings.scores or settings.only_scores:
            spare = cache if settings.only_scores else copy.deepcopy(cache)
            scored = self._score(questions, logits, spare, mask)
        return rows, scored, (cache, logits, mask)

    def _read(self, rows: Sequence[Sequence[int]], moved: Moved) -> tuple[Any, Any, Any]:
        """Read prompts: the cache, the logits of the first token of the reply, and the mask."""
        split = share(rows) if self.shares_prefixes else None
        if split is not None:
            ids, mask = self._left_padded(split.beginnings)
            cache = self._forward(ids, mask, (mask.cumsum(1) - 1).clamp(min=0)).past_key_values
            moved()
            if self._keeps_all(cache):
                chosen = self._torch.tensor(split.of, device=self._device)
                cache.reorder_cache(chosen)
                before, (ids, rest) = mask[chosen], self._left_padded(split.rests)
                places = before.sum(1, keepdim=True) + (rest.cumsum(1) - 1).clamp(min=0)
                mask = self._torch.cat([before, rest], 1)
                out = self._forward(ids, mask, places, cache)
                moved()
                return out.past_key_values, self._last(out), mask
            self.shares_prefixes = False
        ids, mask = self._left_padded(rows)
        out = self._forward(ids, mask, (mask.cumsum(1) - 1).clamp(min=0))
        moved()
        return out.past_key_values, self._last(out), mask

    def _forward(self, ids: Any, mask: Any, places: Any, cache: Any = None) -> Any:
        # cuDNN, which torch prefers on Hopper cards, plans anew for every length of the cache: that
        # takes longer than the step itself. For prompts, which are long, its plan is worth it.
        with self._without_plans() if ids.shape[1] == 1 else nullcontext():
            return self._model(
                input_ids=ids,
                attention_mask=mask,
                position_ids=places,
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=1,
            )

    def _last(self, out: Any) -> Any:
        """The logits after the last token, where prompts are."""
        return out.logits[:, -1].float().to(self._device)

    def _keeps_all(self, cache: Any) -> bool:
        """Whether the cache can be copied to more rows and read on: no windows, no states."""
        from transformers.cache_utils import DynamicLayer

        layers = list(getattr(cache, "layers", ()))
        return bool(layers) and all(type(layer) is DynamicLayer for layer in layers)

    def _left_padded(self, rows: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        """Token ids and mask, shape (rows, longest row); all prompts end in the last column."""
        width = max(len(row) for row in rows)
        ids = [[0] * (width - len(row)) + list(row) for row in rows]
        mask = [[0] * (width - len(row)) + [1] * len(row) for row in rows]
        tensor = self._torch.tensor
        return tensor(ids, device=self._device), tensor(mask, device=self._device)

    def _score(
        self, questions: Sequence[JudgeQuestion], logits: Any, cache: Any, mask: Any
    ) -> list[dict[str, float]]:
        """The probability of each option as the reply, over a question's options, for every one.

        Empty for a question whose present step has no options.
        """
        torch = self._torch
        every = [word for q in questions for of in q.options.values() for word in of]
        words = list(dict.fromkeys(every))
        if not words:
            return [{} for _ in questions]
        # A chat model writes the whole verdict; a plain model continues the prompt's open brackets.
        opening = "[[" if self._chat.has_template else ""
        options = [
            self._tokenizer(f"{opening}{word}]]", add_special_tokens=False)["input_ids"]
            for word in words
        ]
        width, count = max(map(len, options)), len(options)
        ids = torch.tensor([o + [0] * (width - len(o)) for o in options], device=self._device)
        real = torch.tensor(
            [[1] * len(o) + [0] * (width - len(o)) for o in options], device=self._device
        )
        ids, real = ids.repeat(len(questions), 1), real.repeat(len(questions), 1)
        before = mask.repeat_interleave(count, 0)
        rows = torch.arange(len(questions), device=self._device).repeat_interleave(count)
        cache.reorder_cache(rows)
        out = self._model(
            input_ids=ids,
            attention_mask=torch.cat([before, real], 1),
            position_ids=before.sum(1, keepdim=True) + torch.arange(width, device=self._device),
            past_key_values=cache,
            use_cache=True,
        )
        # The prompt's last logits predict the first token, each token's logits the next one.
        first = logits.repeat_interleave(count, 0)[:, None]
        later = out.logits[:, :-1].float().to(self._device)
        steps = torch.cat([first, later], 1).log_softmax(-1)
        gathered = steps.gather(2, ids[:, :, None])[:, :, 0]
        sums = torch.where(real.bool(), gathered, 0.0).sum(1).view(len(questions), count)
        return [_shares(q.options, words, row) for q, row in zip(questions, sums, strict=True)]

    def _write(
        self, logits: Any, cache: Any, mask: Any, seeds: Sequence[int], moved: Moved
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
                cache.reorder_cache(kept)
                mask, drawn = mask[kept], drawn[kept]
                alive = [alive[place] for place in going]
            mask = torch.cat([mask, mask.new_ones(len(alive), 1)], 1)
            out = self._forward(drawn[:, None], mask, mask.sum(1, keepdim=True) - 1, cache)
            logits = self._last(out)
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
            [
                torch.empty_like(shares[0]).exponential_(generator=generator)
                for generator in generators
            ]
        )
        return (shares / noise).argmax(-1)


def begins_with_verdict(question: JudgeQuestion, text: str, *, is_cut: bool) -> bool:
    """Whether nothing but marks is in front of the letter or word that is read as the verdict."""
    place = question.read(text, is_structured=False, is_cut=is_cut).position
    return place is not None and not text[:place].strip(" \n[(*\"'")


def _shares(options: Options, words: Sequence[str], sums: Any) -> dict[str, float]:
    """The probability of each option over all; `sums` are the logarithms of those of `words`."""
    offered = [(name, words.index(word)) for name, of in options.items() for word in of]
    shares = dict.fromkeys(options, 0.0)
    if offered:
        weights = sums[[place for _, place in offered]].softmax(0).tolist()
        for (name, _), weight in zip(offered, weights, strict=True):
            shares[name] += weight
    return shares
