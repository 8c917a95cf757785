"""Who may open the pages that edit items."""

NEEDS_DATA = "editing:persona"
