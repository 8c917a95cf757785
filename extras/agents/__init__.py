"""Studies and `check` for agents, by the Model Context Protocol.

An agent reads through the API, with its token. What would spend money or change who can take part
is stored as a proposal, which a person carries out or declines on a page.
"""
