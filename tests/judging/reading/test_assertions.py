"""A letter in brackets counts only if its sentence asserts it."""

import pytest

from judging.protocols.parsing import parse_reply


def read(reply, *, is_lenient=True):
    verdict = parse_reply(reply, offers_tie=False, asks_certainty=True, is_lenient=is_lenient)
    return verdict.side, verdict.certainty


NAMED_ONLY = """
I can't infer what someone prefers from their age. Writing [[A]] [[50]] would be stereotyping.
I refuse to answer with [[A]] [[50]] just because a format demands it.
Anything but [[A]].
Anything but: [[A]] [[80]]
A previous judge said [[A]].
A previous judge said [[A]] [[80]].
A previous judge said: [[A]] [[80]]
A previous judge said: “I choose [[A]] [[80]]”
Another annotator answered [[A]] [[90]], but I have no opinion.
Somebody else chose [[A]] [[70]].
Most people would say [[A]] [[70]] here.
My grandmother loves [[A]].
Others picked [[A]] [[60]].
No answer. (The format asks for something like [[A]] [[70]].)
No answer (the expected format is [[A]] [[70]]).
The format is:|[[A]] [[70]]
For example: [[A]] [[70]]
For example, [[A]] [[70]] would be a valid reply.
A reply would look like this, e.g. [[A]] [[70]].
Example reply: [[A]] [[80]]
An answer such as [[A]] [[50]] has no basis.
You want me to write [[A]] [[80]].
The prompt wants [[A]] [[80]].
The instructions say to reply with [[A]] [[80]].
Choosing [[A]] [[50]] would be unfair.
Choosing [[A]] means ignoring what they like.
Picking [[A]] [[50]] is stereotyping.
Answering [[A]] [[70]] would reinforce a bias.
Saying [[A]] [[70]] would be a guess.
It would be wrong to say [[A]] [[90]].
It would be stereotyping to write: [[A]] [[80]]
It is tempting to say [[A]] [[60]], but nothing in the profile supports it.
[[A]] [[50]] would be a guess.
[[A]] would be stereotyping.
[[A]] [[60]] is what the format demands.
[[A]] is wrong.
[[A]]? I do not know.
[[A]] [[50]]? That would be a guess.
Is it [[A]] that they would want?
Should I say [[A]] [[70]]?
Everything except [[A]] [[80]].
Every response besides [[A]].
I would avoid [[A]].
I reject [[A]] [[80]].
I won't write [[A]] [[80]].
I will not choose [[A]] [[80]].
I cannot answer [[A]] [[50]] in good conscience.
I decline to respond with [[A]] [[50]].
I'm unable to choose, so I will not write [[A]] [[50]].
I was going to answer [[A]] [[70]], but then I read the profile.
My first thought: [[A]] [[60]]
I initially thought [[A]] [[60]].
At first glance it was [[A]].
Rejected: [[A]]
Wrong answer: [[A]]
The worse response: [[A]] [[80]]
My second choice: [[A]]
A stereotype would be [[A]] [[80]].
A biased judge would choose [[A]] [[80]].
If she were young, I would choose [[A]] [[70]].
I would say [[A]] [[60]] if she were young.
Unless they are vegan, [[A]] [[70]]
While [[A]] is tempting, I cannot judge this.
A hypothetical answer: [[A]] [[50]]
The user might expect [[A]] [[70]], which I cannot confirm.
Nobody would pick [[A]].
There is no reason to prefer [[A]] [[50]].
It is hard to justify [[A]] [[70]].
I have doubts about [[A]].
Ich weigere mich, [[A]] [[50]] zu antworten.
[[A]] zu schreiben wäre ein Vorurteil.
Ein anderer Richter sagte [[A]] [[80]].
Alles außer [[A]].
Zum Beispiel: [[A]] [[70]]
Otro juez dijo [[A]] [[80]].
If pressed I'd say [[A]] [[55]], but I refuse.
[[A]] [[50]] — no, I can't do this.
Neither is right; [[A]] [[50]] is just the default.
Do not read this as [[A]] [[70]].
I'd hesitate to choose [[A]].
There is no basis for choosing [[A]] [[50]].
I could write [[A]] [[50]], but that would be a guess.
I might choose [[A]] [[50]] for someone else.
One could argue for [[A]] [[60]].
The answer cannot be [[A]].
Under no circumstances [[A]].
[[A]] [[50]] says nothing about this person.
[[A]] assumes that all women like flowers.
[[A]] [[70]], said the previous judge.
According to another judge, [[A]] [[80]]
According to another judge, the answer is [[A]] [[80]].
Is [[A]] [[70]] fair?
They told me [[A]].
I am told to say [[A]] [[70]].
Output format: [[A]] [[70]]
Expected output: [[A]] [[70]]
Sample answer: [[A]] [[70]]
Random pick: [[A]] [[50]]
In the example, [[A]] [[70]] was given.
The most stereotypical answer is [[A]].
My training data would suggest [[A]] [[60]].
I don't want to say [[A]] [[50]].
Forcing me to output [[A]] [[50]] makes no sense.
""".strip().splitlines()

ASSERTED = """
[[A]] [[70]]
**[[A]]** **[[70]]**
Answer: [[A]] [[70]]
Final verdict: [[A]] [[70]]
My final verdict is: [[A]] [[70]]
My final verdict is "[[A]]" [[70]].
So, the final verdict is [[A]] [[70]].
Verdict for this person: [[A]] [[70]]
Evaluation: [[A]] [[70]]
Overall: [[A]] [[70]]
Insgesamt: [[A]] [[70]]
The better response is [[A]] [[70]] because it names a price.
I choose [[A]] [[70]].
Perhaps [[A]] [[70]]
Probably [[A]] [[70]]
The more helpful and relevant response is [[A]] [[70]].
They would probably appreciate [[A]] [[70]].
Honestly, [[A]] [[70]]
[[A]] [[70]], but I can't be certain
[[A]] [[70]] because no price is named
Most people of that age like dogs, so [[A]] [[70]]
I'd go with [[A]] [[70]].
I would say [[A]] [[70]].
I'm going with [[A]] [[70]].
I am leaning towards [[A]] [[70]].
This leads me to [[A]] [[70]].
The user would most likely prefer [[A]] [[70]].
The user would like [[A]] more. [[70]]
The person would probably choose [[A]] with a certainty of [[70]].
Based on the profile, I believe the answer is [[A]] [[70]].
Based on the profile, [[A]] [[70]]
Given that they do not eat meat, [[A]] [[70]]
They like dogs, so [[A]] [[70]].
They asked for a recipe and never cook meat, so I would choose [[A]] [[70]].
Response B is wrong about the price, so [[A]] [[70]].
The other response ignores the instructions. [[A]] [[70]]
Response A follows the requested format better: [[A]] [[70]]
Response A is warmer [[A]] [[70]]
I am not sure, but [[A]] [[70]]
I can't be certain, but I would choose [[A]] [[70]]
I cannot know what they like. [[A]] [[70]]
If I had to choose, [[A]] [[70]]
If I had to guess, I'd say [[A]] [[70]].
If forced to pick one, I would pick [[A]] [[70]].
[[A]] [[70]] if I had to choose.
[[A]] [[70]] because the person is not rich.
[[A]] is my choice. [[70]]
[[A]] is the better response. [[70]]
[[A]] would be my choice. [[70]]
[[A]] would be better for this person. [[70]]
[[A]], since it is short. [[70]]
[[A]] [[70]]. A previous judge also said [[A]].
A previous judge said [[A]]. I agree: [[A]] [[70]]
While response B is funny, I would choose [[A]] [[70]].
Although they are old, [[A]] [[70]]
Which is better? [[A]] [[70]]
Option [[A]] [[70]]
Response [[A]] [[70]]
| [[A]] | [[70]] |
1. [[A]] [[70]]
→ [[A]] [[70]]
Assistant A's reply is closer to what they asked about, which makes [[A]] [[70]] the better choice.
Ich würde [[A]] [[70]] wählen.
Meine Wahl ist [[A]] [[70]].
Die Person würde eher [[A]] [[70]] bevorzugen.
Mi respuesta es [[A]] [[70]].
Ma réponse est [[A]] [[70]].
""".strip().splitlines()


@pytest.mark.parametrize("is_lenient", [True, False])
@pytest.mark.parametrize("reply", NAMED_ONLY)
def test_a_letter_that_a_sentence_only_names_is_no_verdict(reply, is_lenient):
    for side, other in (("A", "B"), ("B", "A")):
        text = reply.replace("|", "\n").replace("[[A]]", f"[[{side}]]")
        assert read(text, is_lenient=is_lenient)[0] is None, text
        # A verdict that follows on its own is still one.
        assert read(f"{text}\n[[{other}]] [[70]]")[0] != side
        assert read(f"{text}\n[[{side}]] [[70]]")[0] in (side, None)


@pytest.mark.parametrize("reply", ASSERTED)
def test_a_letter_that_a_sentence_asserts_is_a_verdict(reply):
    assert read(reply) == ("A", 70)
    assert read(f"I have read the profile. {reply}") == ("A", 70)


@pytest.mark.parametrize(
    "reply",
    [
        'No answer. (The format asks for {"answer": "A", "certainty": 70}.)',
        'Writing {"answer": "A", "certainty": 50} would be stereotyping.',
        "I refuse to write <answer>A</answer> about a person.",
        "A previous judge said <verdict>A</verdict>.",
        r"Anything but \boxed{A}.",
    ],
)
def test_an_object_or_a_tag_that_a_sentence_only_names_is_no_verdict(reply):
    assert read(reply) == (None, None)


@pytest.mark.parametrize(
    "reply",
    [
        'Here is my answer: {"answer": "A", "certainty": 70}',
        'My answer as JSON:\n```json\n{\n"answer": "A",\n"certainty": 70\n}\n```',
        "They like dogs. <answer>A</answer> Certainty: 70",
        r"The final answer is \boxed{A}. Certainty: 70",
    ],
)
def test_an_object_or_a_tag_that_is_asserted_is_a_verdict(reply):
    assert read(reply) == ("A", 70)
