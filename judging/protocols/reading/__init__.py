"""Reading a reply: the verdict in brackets first, then statements in other forms."""

# Raised by one whenever a reply can be read otherwise than before: answers that were read by
# another version are not mixed with new ones.
READING_VERSION = 3
# What the codes of lenient reading mean, in words for pages.
READ_AS = {
    "json": "a JSON object",
    "tag": "a tag or a box",
    "brackets": "other brackets",
    "label": "a label, such as “Answer:”",
    "first_line": "the first line",
    "final_line": "the last line",
    "words": "a sentence that chooses",
    "certainty": "the certainty in another form",
}
