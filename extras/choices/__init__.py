"""Whether a finding depends on choices: the words of the question, and the analysis."""
