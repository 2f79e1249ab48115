"""What numbers look like: palettes, and scales that stand on what a metric means; on page, picture and export alike."""
