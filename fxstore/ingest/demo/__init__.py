"""What the demo compiles, and how: a small network through every stage of a real compile."""
