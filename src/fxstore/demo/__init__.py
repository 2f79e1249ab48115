"""The demo: a small quantised network, compiled and run for real."""
