"""Claude and Gemini models as judges, through the libraries of Anthropic and Google."""
