"""Who may open the page: everybody, because nothing of this server is on it."""

OPEN = {"check/"}
