"""The models that a server offers, listed and chosen on the page that adds a judge."""
