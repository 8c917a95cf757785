"""The protocol that asks which of two responses is better for the persona."""

from judging.protocols.protocol import JudgingProtocol


class Standard(JudgingProtocol):
    name = "standard"
    description = "Standard: choice of a response"
    family = ""
