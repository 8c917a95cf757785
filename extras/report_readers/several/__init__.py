"""A report about several studies by button: side by side, pooled, and as the article's tables."""
