"""The chapter on position, length and ties."""
