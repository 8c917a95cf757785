"""Heat maps of accuracy by topic and by features of personas."""
