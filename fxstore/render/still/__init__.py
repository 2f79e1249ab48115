"""Still pictures of a page's model: SVG, PNG and PDF of our own layout, and DOT for graphviz."""
