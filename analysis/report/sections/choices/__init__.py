"""The chapter on other choices: the headline under every specification."""
