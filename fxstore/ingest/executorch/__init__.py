"""ExecuTorch: ETRecords, programs, delegate payloads, and what a runtime logged."""
