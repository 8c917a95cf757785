"""Who may open the pages that edit items."""

NEEDS_DATA = "item_editing:persona"
