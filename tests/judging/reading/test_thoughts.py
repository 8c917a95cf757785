"""Thoughts are found by the structure of their marks, whatever the marks are called."""

from itertools import product

import pytest

from judging.engine.interface import Reply
from judging.engine.messages import split_thoughts, without_thoughts
from judging.protocols.parsing import parse_reply

# Tags as models write them; the last ones are in no list of the program.
NAMES = """
think thinking thought thoughts reasoning reflection scratchpad analysis mm:think seed:think
longcat_think ant_thinking antThinking inner_monologue seed:cot thought_process deep-think
Reasoning_Process mulling first_draft notes plan weighing seed:deliberation 思考 response_analysis
""".split()
TAGS = [("<{}>", "</{}>"), ("<{} >", "</{} >"), ("< {}>", "< /{}>"), ('<{} depth="2">', "</{}>")]
TAGS += [("<|{}|>", "<|/{}|>"), ("<|begin_of_{}|>", "<|end_of_{}|>"), ("<｜{}｜>", "<｜/{}｜>")]
TAGS += [("<|START_{}|>", "<|END_{}|>"), ("<{}_start>", "<{}_end>"), ("<|{}>", "<{}|>")]
TAGS += [("◁{}▷", "◁/{}▷"), ("&lt;{}&gt;", "&lt;/{}&gt;"), ("<begin▁of▁{}>", "<end▁of▁{}>")]
PAIRS = [
    (opens.format(name), closes.format(name)) for name, (opens, closes) in product(NAMES, TAGS)
]
PAIRS += [("<|channel>thought", "<channel|>"), ("<unused94>thought", "<unused95>")]
PAIRS += [("[THINK]", "[/THINK]"), ("[reasoning]", "[/reasoning]")]
PAIRS += [("<|channel|>analysis<|message|>", "<|channel|>final<|message|>")]
PAIRS += [('<details type="reasoning" done="true">', "</details>"), ("<THINK>", "</Think>")]
DRAFTS = [
    "First I wrote [[A]] [[80]]. Hm, they are ill.",
    "The person prefers response A.",
    "[[A]]",
]
VERDICTS = ["[[B]] [[70]]", "The person prefers response B. Certainty: 70"]


def read(reply):
    verdict = parse_reply(reply, offers_tie=False, asks_certainty=True, is_lenient=True)
    return verdict.side, verdict.certainty


WRAPPERS = ["{}", "<answer>{}</answer>", "<|begin_of_solution|>\n{}\n<|end_of_solution|>"]
WRAPPERS += ["<|START_RESPONSE|>{}<|END_RESPONSE|>", "\n\n{}</s>", "{}<|im_end|>"]


@pytest.mark.sampled(keep=20)
@pytest.mark.parametrize(("opens", "closes"), PAIRS, ids=map("".join, PAIRS))
def test_no_verdict_is_read_in_a_thought_and_each_one_behind_it(opens, closes):
    nests = "channel" not in opens and "unused" not in opens
    for draft, verdict in product(DRAFTS, VERDICTS):
        thoughts = [
            f"{opens}{draft}{closes}",
            f"<|im_start|>{opens}\n\n{draft}\n\n{closes}",
            f"{draft}\n{closes}",  # the chat template has opened it
            f"{opens}{draft}{closes}\n{opens}{draft}{closes}",
            f"{opens}{draft}<answer>A</answer> {draft}{closes}",
        ]
        if nests:
            thoughts.append(f"{opens}{opens}{draft}{closes}{draft}{closes}")
        replies = [f"{thought}{verdict}" for thought in thoughts]
        replies += [f"{thoughts[0]}{each.format(verdict)}" for each in WRAPPERS]
        unclosed = [f"{opens}{draft}", f"{opens}\n{draft}\n{verdict}"]
        if nests:
            unclosed.append(f"{opens}{opens}{draft}{closes}{verdict}. But they are")

        assert [each for each in replies if read(each) != ("B", 70)] == []
        assert [each for each in (*thoughts, *unclosed) if read(each) != (None, None)] == []


ANSWERS = """
<answer>A</answer>
<verdict>A</verdict>
<choice>A</choice>
<decision>[[A]]</decision>
<final_answer>[[A]]</final_answer>
<finalAnswer>[[A]]</finalAnswer>
<response>[[A]]</response>
<result>[[A]]</result>
<preferred_response>[[A]]</preferred_response>
<solution>[[A]]</solution>
<|begin_of_box|>A<|end_of_box|>
<|begin_of_solution|>[[A]]<|end_of_solution|>
<|START_RESPONSE|>The person prefers response A.<|END_RESPONSE|>
<b>[[A]]</b>
<p><strong>[[A]]</strong></p>
<|im_start|>assistant|[[A]]<|im_end|>
<s>[[A]]</s>
[[A]]<|eot_id|>
[[A]]<|end_of_text|>
[[A]]<end_of_turn>
[[A]] since 3 <b>apples</b> are more than 2
[[A]] because 1 < x and y > 2
[[A]] <notes>x</notes>
A</answer>
""".strip().splitlines()


@pytest.mark.parametrize("reply", ANSWERS)
def test_marks_of_answers_and_formats_hide_no_verdict(reply):
    assert read(reply.replace("assistant|", "assistant\n"))[0] == "A"


def test_thoughts_and_reply_are_shown_apart_without_their_marks():
    assert split_thoughts("<seed:think>One <b>day</b>.</seed:think>\nTwo") == (
        "One <b>day</b>.",
        "Two",
    )
    assert split_thoughts("One.</think>Two<think>Three") == ("One.\n\nThree", "Two")


@pytest.mark.parametrize("thoughts", ["I open <think>, then", "one</think> two", "<|end_think|>"])
def test_marks_in_thoughts_that_arrive_apart_do_not_reach_the_reply(thoughts):
    stored = Reply("[[B]] [[70]]", thoughts=thoughts).stored

    assert without_thoughts(stored).strip() == "[[B]] [[70]]"
