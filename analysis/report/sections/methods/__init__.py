"""The chapter on methods: every rule, run and number with its source."""
