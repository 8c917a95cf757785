"""Documents about a report: two pages for a paper, the article's tables, and pictures as files."""
