"""How carefully annotators worked: flags and agreement."""
