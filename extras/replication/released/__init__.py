"""The paper's released result files, counted again and compared with its published tables."""
