"""Exports of other programs as table rows:

one module each, and a registry. A reader recognises its documents and turns them into rows with
columns. What it cannot know, such as which field has the persona, is guessed later or named by an
option.
"""
