"""What the codes of lenient reading mean, in words for pages."""

READ_AS = {
    "json": "a JSON object",
    "tag": "a tag or a box",
    "brackets": "other brackets",
    "label": "a label, such as “Answer:”",
    "table": "a table",
    "list": "a numbered list",
    "first_line": "the first line",
    "final_line": "the last line",
    "words": "a sentence that chooses",
    "numbered": "a number instead of a letter",
    "tie_words": "a sentence that sees no difference",
    "certainty": "the certainty in another form",
}
