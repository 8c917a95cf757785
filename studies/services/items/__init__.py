"""The items of a study as annotators get them: samples, draws, hash, expected time, preview."""
