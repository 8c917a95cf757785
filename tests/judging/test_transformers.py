"""The in-process backend with a tiny model that is built here; nothing is fetched.

Needs torch and transformers (requirements-gpu.txt), but no GPU.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from judging.backends.transformers import LocalModel, TransformersBackend, TransformersSettings
from judging.engine.interface import JudgeQuestion, Misconfigured
from judging.engine.messages import from_user
from judging.protocols.standard import Standard
from judging.protocols.tie import Tie
from tests.factories import make_item, make_study
from tests.judging.conftest import make_judge
from tests.judging.run_helpers import judge_all
from tests.judging.tiny_model import build_tiny_model

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


def settings(folder, **overrides):
    defaults = {
        "model": str(folder),
        "temperature": 0.7,
        "top_p": 0.95,
        "max_tokens": 12,
        "batch_size": 4,
    }
    return TransformersSettings(**defaults | overrides)


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
        ids = torch.tensor([model._tokens(prompt)], device=model._device)
        out = model._model.generate(ids, max_new_tokens=20, do_sample=False)
        expected.append(model._tokenizer.decode(out[0, ids.shape[1] :], skip_special_tokens=True))
    assert written == expected


def test_scores_are_the_models_probabilities_of_the_whole_reply(folder):
    import torch

    model = LocalModel(settings(folder, only_scores=True))

    reply = model.answer([question(0, PROMPTS[0], offers_tie=True)], [0])[0]

    logs = []
    for side in "ABC":
        before = model._tokens(PROMPTS[0])
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


def test_a_batch_too_large_for_the_device_is_halved(folder, monkeypatch):
    backend = TransformersBackend(settings(folder))
    original, sizes = LocalModel.answer, []

    def answer(self, questions, seeds, moved):
        sizes.append(len(questions))
        if len(questions) > 1:
            raise self.out_of_memory[0]("no memory")
        return original(self, questions, seeds, moved)

    monkeypatch.setattr(LocalModel, "answer", answer)

    async def ask_four():
        asked = (_ask(backend, n, PROMPTS[0]) for n in range(4))
        answered = await asyncio.gather(*asked)
        await backend.close()
        return answered

    assert len(asyncio.run(ask_four())) == 4
    assert sizes == [4, 2, 1, 1, 2, 1, 1]


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
        assert judgment.model_snapshot == str(folder)[:200]
        assert "torch" in judgment.fingerprint
    assert run.tokens > 0


def test_a_run_whose_model_is_missing_stops_with_a_sentence(tmp_path, engine):
    judge = make_judge(name="gone", backend="transformers", model=str(tmp_path / "nothing"))
    study = make_study()
    make_item(study=study)

    run = judge_all(study, judge)

    assert run.state == "stopped_outage"
    assert "cannot be loaded" in run.sentence
