"""The protocol that asks which of two responses is better for the persona, or neither."""

from judging.protocols.protocol import JudgingProtocol


class Tie(JudgingProtocol):
    name = "tie"
    description = "Tie: choice of a response or a tie"
    family = ""
    offers_tie = True
