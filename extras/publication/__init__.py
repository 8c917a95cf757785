"""Publishing a study's bundle or sealed plan, as a private copy at a public archive."""
