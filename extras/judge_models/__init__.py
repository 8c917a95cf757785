"""Judges that were trained to judge, each asked in its own reply format."""
