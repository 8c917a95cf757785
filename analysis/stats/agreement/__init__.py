"""How far annotators agree, and how each of them works."""
