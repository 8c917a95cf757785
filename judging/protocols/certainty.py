"""The protocol that asks which response is better for the persona, with a certainty."""

from judging.protocols.protocol import JudgingProtocol


class Certainty(JudgingProtocol):
    name = "certainty"
    description = "Certainty: choice of a response and a certainty from 1 to 100"
    family = ""
    asks_certainty = True
    reply_tokens = 16
