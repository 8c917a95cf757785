"""The files of `docs/` as pages of the site, with a search, for people and for programs."""
