"""The in-process backend with a tiny model that is built here; nothing is fetched.

Needs torch and transformers (requirements-gpu.txt), but no GPU.
"""

import asyncio
import gc
import re
import shutil
import subprocess
import sys
import weakref
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from extras.local_models.kind import (
    ModelOptions,
    TransformersBackend,
    TransformersSettings,
    content_hash,
)
from extras.local_models.loading import Chat
from extras.local_models.model import LocalModel
from judging.engine.interface import JudgeQuestion, Misconfigured, Reply
from judging.engine.messages import from_user
from judging.protocols.protocol import Standard, Tie
from tests.extras.local_models.tiny_model import build_tiny_model
from tests.factories import make_item, make_study
from tests.judging.conftest import make_judge
from tests.judging.run_helpers import judge_all

pytestmark = [
    pytest.mark.gpu,
    # torch and transformers warn about their own insides.
    pytest.mark.filterwarnings("default"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Iterator[Path]:
    patch = pytest.MonkeyPatch()
    patch.setenv("HF_HUB_OFFLINE", "1")
    yield build_tiny_model(tmp_path_factory.mktemp("tiny"))
    patch.undo()


# In bfloat16, which a GPU has by default, a reply depends on the rest of its batch.
EXACT = ModelOptions(dtype="float32")


def settings(folder, **overrides):
    defaults = {
        "model": str(folder),
        "temperature": 0.7,
        "top_p": 0.95,
        "max_tokens": 12,
        "batch_size": 4,
        "options": EXACT,
    }
    return TransformersSettings(**defaults | overrides)


def tokens(model, prompt):
    return model._chat.tokens(from_user(prompt))


def question(number, prompt, *, offers_tie=False):
    protocol = Tie() if offers_tie else Standard()
    return JudgeQuestion(number, from_user(prompt), protocol=protocol, seed=number)


def _ask(backend, number, prompt):
    return backend.ask(question(number, prompt), seed=number, parameters=backend.parameters())


PROMPTS = ["Short [[", "A prompt of middling length, which ends in [[", "word " * 60 + "[["]


def alone(model, number):
    (reply,) = model.answer([question(number, PROMPTS[number])], [number])
    return reply


def test_a_batch_of_unequal_prompts_answers_as_each_prompt_alone(folder):
    model = LocalModel(settings(folder, scores=True))
    singles = [alone(model, number) for number in range(3)]

    batch = model.answer([question(n, prompt) for n, prompt in enumerate(PROMPTS)], [0, 1, 2])

    for single, batched in zip(singles, batch, strict=True):
        assert (batched.text, batched.usage) == (single.text, single.usage)
        assert batched.probabilities == pytest.approx(single.probabilities, abs=1e-4)
    assert len({reply.text for reply in batch}) == 3


def test_greedy_writing_equals_the_generate_of_transformers(folder):
    import torch

    model = LocalModel(settings(folder, temperature=0.0, max_tokens=20))
    written = [alone(model, number).text for number in range(3)]

    expected = []
    for prompt in PROMPTS:
        ids = torch.tensor([tokens(model, prompt)], device=model._device)
        out = model._model.generate(ids, max_new_tokens=20, do_sample=False)
        expected.append(model._tokenizer.decode(out[0, ids.shape[1] :], skip_special_tokens=True))
    assert written == expected


def test_scores_are_the_models_probabilities_of_the_whole_reply(folder):
    import torch

    model = LocalModel(settings(folder, only_scores=True))

    reply = model.answer([question(0, PROMPTS[0], offers_tie=True)], [0])[0]

    logs = []
    for side in "ABC":
        before = tokens(model, PROMPTS[0])
        option = model._tokenizer(f"[[{side}]]", add_special_tokens=False)["input_ids"]
        ids = torch.tensor([before + option], device=model._device)
        with torch.inference_mode():
            steps = model._model(ids).logits[0].float().log_softmax(-1)
        places = range(len(before) - 1, ids.shape[1] - 1)
        logs.append(sum(steps[p, t].item() for p, t in zip(places, option, strict=True)))
    expected = torch.tensor(logs).softmax(0).tolist()
    assert list(reply.probabilities) == ["A", "B", "C"]
    assert list(reply.probabilities.values()) == pytest.approx(expected, abs=1e-4)
    assert reply.text == f"[[{'ABC'[expected.index(max(expected))]}]]"
    assert reply.usage.completion_tokens == 0


def test_a_tie_is_scored_only_where_it_is_offered(folder):
    model = LocalModel(settings(folder, only_scores=True))

    reply = model.answer([question(0, PROMPTS[0])], [0])[0]

    assert set(reply.probabilities) == {"A", "B"}
    assert sum(reply.probabilities.values()) == pytest.approx(1)


def test_a_seed_repeats_a_reply_and_another_seed_draws_another(folder):
    model = LocalModel(settings(folder, temperature=1.5, top_p=1.0))
    asked = [question(0, PROMPTS[0])] * 3

    first, same, other = (reply.text for reply in model.answer(asked, [5, 5, 6]))

    assert first == same != other


def test_drawing_follows_temperature_and_top_p(folder):
    import torch

    model = LocalModel(settings(folder, temperature=0.5, top_p=0.8))
    shares = torch.tensor([0.6, 0.3, 0.1])
    logits = (shares.log() * 0.5).repeat(4000, 1).to(model._device)  # at 0.5 these are the shares
    generators = [torch.Generator(model._device).manual_seed(n) for n in range(4000)]

    drawn = Counter(model._draw(logits, generators).tolist())

    # The nucleus of 0.8 is the first two: 2 to 1.
    assert set(drawn) == {0, 1}
    assert drawn[0] / 4000 == pytest.approx(2 / 3, abs=0.03)


def test_a_reply_that_the_limit_cuts_says_so(folder):
    model = LocalModel(settings(folder, max_tokens=1, temperature=0.0))

    reply = alone(model, 0)

    assert (reply.truncated, reply.usage.completion_tokens) == (True, 1)


def test_questions_that_come_together_share_batches(folder, monkeypatch):
    backend = TransformersBackend(settings(folder))
    sizes = []

    async def ask_nine():
        replies = asyncio.gather(*(_ask(backend, n, PROMPTS[n % 3]) for n in range(9)))
        answered = await replies
        await backend.close()
        return answered

    original = LocalModel.answer

    def answer(self, questions, seeds, moved):
        sizes.append(len(questions))
        return original(self, questions, seeds, moved)

    monkeypatch.setattr(LocalModel, "answer", answer)
    replies = asyncio.run(ask_nine())

    assert (len(replies), sum(sizes), max(sizes)) == (9, 9, 4)


def test_a_model_that_is_not_there_is_named(tmp_path):
    with pytest.raises(Misconfigured, match="cannot be loaded"):
        LocalModel(settings(tmp_path / "nothing"))


def test_a_run_by_a_local_model_is_a_run_like_any_other(folder, engine):
    judge = make_judge(
        name="local", backend="transformers", model=str(folder), probabilities="only"
    )
    study = make_study()
    for _ in range(6):
        make_item(study=study)

    run = judge_all(study, judge, orders="both")

    assert (run.state, run.sentence) == ("done", "12 of 12 answered.")
    for judgment in run.judgments.all():
        assert sum(judgment.probabilities.values()) == pytest.approx(1)
        likeliest = max(judgment.probabilities, key=judgment.probabilities.get)
        assert judgment.choice == likeliest
        assert judgment.model_snapshot == f"{folder}@{content_hash(folder)}"[:200]
        assert "torch" in judgment.fingerprint
    assert run.tokens > 0


def test_a_run_whose_folder_changed_after_the_judge_was_added_stops(tmp_path, folder, engine):
    copied = shutil.copytree(folder, tmp_path / "model")
    judge = make_judge(name="local", backend="transformers", model=str(copied))
    assert judge.model_options == {"revision": content_hash(copied)}
    (copied / "config.json").write_text((copied / "config.json").read_text() + " ")
    study = make_study()
    make_item(study=study)

    run = judge_all(study, judge)

    assert run.state == "stopped_outage"
    assert "another content than when the judge was added" in run.sentence


def rows_like(count):
    """Prompts of items in both orders: each pair begins alike."""
    about = [f"Persona {n}: " + "word " * (20 + 7 * n) for n in range(count)]
    return [f"{text} First {a}, then {b} [[" for text in about for a, b in ("XY", "YX")]


def test_a_beginning_that_is_computed_once_changes_no_reply(folder, monkeypatch):
    """Both orders and two samples of each item, in float32."""
    prompts = [prompt for prompt in rows_like(3) for _ in range(2)]
    asked = [question(n, prompt) for n, prompt in enumerate(prompts)]
    seeds = list(range(len(asked)))
    model = LocalModel(settings(folder, scores=True))
    read: list[tuple[int, ...]] = []
    forward = model._forward

    def counted(ids, *rest):
        read.append(tuple(ids.shape))
        return forward(ids, *rest)

    monkeypatch.setattr(model, "_forward", counted)

    shared = model.answer(asked, seeds)
    count = len(read)
    model.shares_prefixes = False
    plain = model.answer(asked, seeds)

    assert [reply.text for reply in shared] == [reply.text for reply in plain]
    assert [reply.usage for reply in shared] == [reply.usage for reply in plain]
    for one, other in zip(shared, plain, strict=True):
        assert one.probabilities == pytest.approx(other.probabilities, abs=1e-5)
    (beginnings, rests), whole = read[:2], read[count]
    assert (beginnings[0], rests[0], whole[0]) == (3, 12, 12)
    assert 3 * beginnings[1] + 12 * rests[1] < 12 * whole[1] / 2


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_weights_are_loaded_in_the_precision_that_was_asked_for(folder, dtype):
    import torch

    model = LocalModel(settings(folder, options=ModelOptions(dtype=dtype, attention="eager")))

    assert {p.dtype for p in model._model.parameters()} == {getattr(torch, dtype)}
    reply = alone(model, 0)
    assert reply.fingerprint.startswith(f"{dtype} on")
    assert "attention eager" in reply.fingerprint


def test_switches_reach_the_chat_template_and_its_hash_is_recorded(folder):
    template = (
        "{% for m in messages %}<|user|>{{ m['content'] }}{% endfor %}"
        "{{ '' if enable_thinking is not defined else 'think' if enable_thinking else 'quiet' }}"
        "{{ tone }}"
    )
    hashes = set()
    for thinking, expected in (("on", "Hithink!"), ("off", "Hiquiet!"), ("auto", "Hi!")):
        options = ModelOptions(thinking=thinking, template=(("tone", "!"),))
        model = LocalModel(settings(folder, options=options))
        model._tokenizer.chat_template = template
        chat = Chat(model._tokenizer, options)
        assert model._tokenizer.decode(chat.tokens(from_user("Hi"))) == f"<|user|>{expected}"
        hashes.add(chat.template_hash)
        assert f"template {model._chat.template_hash}" in alone(model, 0).fingerprint
    assert len(hashes) == 1
    assert hashes != {model._chat.template_hash}


def test_a_model_can_be_asked_without_its_chat_template(folder):
    model = LocalModel(settings(folder, options=ModelOptions(chat_template="none")))

    assert model._tokenizer.decode(tokens(model, "Hi")) == "Hi"
    assert "template none" in alone(model, 0).fingerprint


def test_a_template_that_refuses_the_messages_is_quoted(folder):
    model = LocalModel(settings(folder))
    model._tokenizer.chat_template = "{{ raise_exception('Only user turns, please') }}"
    model._chat = Chat(model._tokenizer, ModelOptions())

    with pytest.raises(Misconfigured, match="refuses the messages: Only user turns, please"):
        alone(model, 0)


def test_the_weights_leave_the_memory_before_the_next_model_is_loaded(folder, monkeypatch):
    loaded: list[object] = []
    alive: list[object] = []
    original = LocalModel.__init__

    def init(self, settings):
        gc.collect()
        alive.append(sum(each() is not None for each in loaded))
        original(self, settings)
        loaded.append(weakref.ref(self._model))

    monkeypatch.setattr(LocalModel, "__init__", init)
    backends = [TransformersBackend(settings(folder, max_tokens=n)) for n in (2, 3)]

    async def ask_both():
        for backend in (*backends, backends[0]):
            await _ask(backend, 1, PROMPTS[0])
        for backend in backends:
            await backend.close()

    asyncio.run(ask_both())

    assert alive == [0, 0, 0]
    gc.collect()
    assert [each() for each in loaded] == [None] * 3


@pytest.mark.parametrize(("bits", "layer"), [("8bit", "Linear8bitLt"), ("4bit", "Linear4bit")])
def test_quantised_weights_answer_and_say_so(folder, bits, layer):
    pytest.importorskip("bitsandbytes")
    model = LocalModel(settings(folder, options=ModelOptions(quantisation=bits)))

    reply = alone(model, 0)

    assert layer in {type(module).__name__ for module in model._model.modules()}
    assert reply.fingerprint.startswith(f"{bits} and ")


def test_questions_that_enter_a_running_batch_are_answered_as_alone(folder, monkeypatch):
    """With seeds of their own, in float32, and in fewer steps than batch after batch."""
    prompts = [f"{PROMPTS[n % 3]}{n}" for n in range(14)]
    asked = [question(n, prompt) for n, prompt in enumerate(prompts)]
    # On a GPU a sum depends on the size of the batch, in bfloat16 also what is drawn from it.
    options = ModelOptions(device_map="cpu", dtype="float32")
    model = LocalModel(settings(folder, scores=True, max_tokens=20, options=options))
    singles = [model.answer([each], [n])[0] for n, each in enumerate(asked)]
    waiting, steps, free_rows = list(range(4, 14)), [], []
    replies: dict[int, Reply] = {}
    forward = model._forward

    def counted(ids, *rest):
        steps.append(tuple(ids.shape))
        return forward(ids, *rest)

    def more(free):
        free_rows.append(free)
        taken = [waiting.pop(0) for _ in range(min(free, len(waiting)))]
        return [(asked[n], n) for n in taken]

    monkeypatch.setattr(model, "_forward", counted)

    model.answer_running(asked[:4], [0, 1, 2, 3], lambda: None, more=more, done=replies.__setitem__)

    assert sorted(replies) == list(range(14))
    for n, single in enumerate(singles):
        assert (replies[n].text, replies[n].usage) == (single.text, single.usage), n
        assert replies[n].truncated == single.truncated
        assert replies[n].probabilities == pytest.approx(single.probabilities, abs=1e-4)
    lengths = [single.usage.completion_tokens for single in singles]
    assert len(set(lengths)) > 2
    decoding = [shape for shape in steps if shape[1] == 1]
    by_batches = sum(max(lengths[n : n + 4]) - 1 for n in range(0, 14, 4))
    assert len(decoding) < by_batches
    assert min(free_rows) >= 1
    assert max(shape[0] for shape in decoding) <= 4


def test_a_judge_with_refill_answers_every_question_by_one_loaded_model(folder, monkeypatch):
    plain = TransformersBackend(settings(folder))
    refilled = TransformersBackend(settings(folder, options=replace(EXACT, refill="on")))
    calls = []
    original = LocalModel.answer_running

    def answer_running(self, questions, *rest, **options):
        calls.append(len(questions))
        return original(self, questions, *rest, **options)

    monkeypatch.setattr(LocalModel, "answer_running", answer_running)

    async def ask_all(backend):
        replies = await asyncio.gather(*(_ask(backend, n, PROMPTS[n % 3]) for n in range(12)))
        await backend.close()
        return [reply.text for reply in replies]

    expected = asyncio.run(ask_all(plain))
    assert calls == []
    assert asyncio.run(ask_all(refilled)) == expected
    assert len(calls) < 3
    assert ModelOptions(refill="on").stored() == {"refill": "on"}


def test_the_benchmark_of_a_gpu_runs_on_a_cpu_too():
    options = "--shape tiny --questions 4 --words 5 --batch 2 --max-tokens 4 --at-once 2"

    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks.gpu", *options.split()],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )

    assert ended.returncode == 0, ended.stderr
    measured = re.findall(r"^(\S.*?)  +[\d.]+ judgments/s", ended.stdout, re.MULTILINE)
    assert measured[:3] == [
        "generate of transformers",
        "in process",
        "in process, options scored",
    ]
    assert re.search("^(chat |By a server: not measured)", ended.stdout, re.MULTILINE)
