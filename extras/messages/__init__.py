"""Messages to participants through Prolific: drafted, previewed, sent by a press, once."""
