"""Who may open the pages: everybody."""

OPEN = {"docs/", "llms.txt", "llms-full.txt"}
