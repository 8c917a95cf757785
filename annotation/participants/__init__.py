"""What an annotator's browser sees."""
