"""Analysis plans that are frozen with a seal before the data, and deviations from them."""
